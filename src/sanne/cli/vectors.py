"""`sanne embed`, `sanne similar`, `sanne explain`, `sanne export`: vectors of nodes, fitted or new."""

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sanne.cli import options
from sanne.errors import InputError
from sanne.interrupts import raise_if_interrupted

if TYPE_CHECKING:
    from sanne.infer.explain import MadeOf
    from sanne.vectors.vectors import Embedding

_SOON_READ = 100_000  # nodes; a graph this small is read just to tell whether one of them has links
_PARTS = {
    "own": "its own {}",
    "around": "{} of nodes around it",
    "links": "its links",
    "degree": "how many links it has",
    "average": "centring",
}


def embed(
    model: options.ModelFolder,
    out: Annotated[
        Path | None,
        typer.Option(help="vectors.parquet, .npy, .csv, or .txt/.vec for word2vec text; with Ray also a folder."),
    ] = None,
    graph: options.CurrentGraph = None,
    node_table: options.NodeTable = None,
    text: options.KnownText = None,
    nodes: options.NodeList = None,
    id: options.ListId = None,
    explain: Annotated[int, typer.Option(help="List N nodes that contributed to each vector.", metavar="N", min=0)] = 0,
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="Run on this machine, or on a Ray cluster.")
    ] = "local",
    workers: Annotated[int | None, typer.Option(help="With Ray: number of processes. Default: 2.", min=1)] = None,
    address: Annotated[
        str | None, typer.Option(help="With Ray: address of the cluster. Default: start Ray on this machine.")
    ] = None,
    partitioned: Annotated[
        bool, typer.Option("--partitioned", help="With Ray: split the graph between processes. Embeds all nodes.")
    ] = False,
    dtype: options.VectorType = "float32",
    memory: options.Memory = None,
    estimate: options.Estimated = False,
    as_json: options.Json = False,
) -> None:
    """Compute vectors of nodes, fitted or new, from walks over the current graph."""
    import numpy as np

    from sanne.device import peak_memory
    from sanne.estimate import estimate_embedding
    from sanne.graph.readers.delimited import ending
    from sanne.graph.readers.named import TABLES
    from sanne.infer.embed import embed_parts
    from sanne.infer.partitioned import embed_partitioned
    from sanne.infer.ray import Job, check_ray_output, embed_with_ray
    from sanne.model.artifact import Artifact
    from sanne.source import ModelSource, read_node_list
    from sanne.vectors.formats import check_output, write_parts

    if partitioned and (engine != "ray" or nodes is not None or explain):
        raise InputError("--partitioned embeds all nodes with --engine ray: leave out --nodes and --explain")
    if engine != "ray" and (workers is not None or address is not None):
        raise InputError("--workers and --address are about Ray: leave them out, or give --engine ray")
    workers = workers or 2
    if id is not None and (nodes is None or ending(nodes) not in TABLES):
        raise InputError("--id names a column of the table of nodes: give --nodes nodes.csv")
    if not estimate:
        out = options.require_out(out, "vectors.parquet")
        if engine == "ray" and dtype != "float32":
            raise InputError(f"--dtype {dtype} is for --engine local: with Ray, vectors are written as float32")
        if engine == "ray":
            check_ray_output(out)
        elif explain and "explanation" not in check_output(out, dtype=dtype).keeps:
            raise InputError(f"{out} has no place for what --explain lists: give a .parquet file")
        else:
            check_output(out, dtype=dtype)
    artifact = Artifact.read(model)  # without the vectors of the fit, which may be many
    origin = ModelSource.of_model(artifact, graph, node_table, text)
    if out is not None and not estimate and engine == "ray":
        started = time.perf_counter()
        if partitioned:
            count = embed_partitioned(model.absolute(), origin.load, out, workers=workers, address=address)
        else:
            ids: Any = nodes  # a Parquet file is read where it is used
            if nodes is None or nodes.suffix != ".parquet" or id is not None:
                ids = origin.load().node_ids if nodes is None else read_node_list(nodes, id)
            job = Job(model.absolute(), origin.load, ids, explain)
            count = embed_with_ray(job, out, workers=workers, address=address)
        result = {"vectors": str(out), "nodes": count, "workers": workers, "seconds": options.seconds_since(started)}
        options.show(result, as_json, f"wrote {out}")
        return
    now = origin.load()
    wanted = None if nodes is None else read_node_list(nodes, id)
    count = now.num_nodes if wanted is None else len(wanted)
    if out is None or estimate:
        options.logger.info("timing parts of the graph")
        starting = time.process_time()
        options.show(estimate_embedding(artifact, now, count).of_command(starting).to_dict(), as_json)
        return
    started = time.perf_counter()
    uncertainties: list[Any] = []

    def watched() -> "Iterator[Embedding]":
        for part in embed_parts(artifact, now, wanted, explain=explain):
            uncertainties.append(part.uncertainty[np.isfinite(part.uncertainty)])
            yield part
            raise_if_interrupted()  # an interrupt that a library swallowed

    with options.limited(memory, out):
        write_parts(out, watched(), count, artifact.model.vector_dim, dtype=dtype)
    known = np.concatenate(uncertainties)
    result = {
        "vectors": str(out),
        "nodes": count,
        "dim": artifact.model.vector_dim,
        "seconds": options.seconds_since(started),
        "peak_bytes": peak_memory(),
        "mean_uncertainty": round(float(known.mean(dtype=np.float64)), 5) if len(known) else None,
        "without_links": options.note_alone(now, wanted),
    }
    options.show(result, as_json, f"wrote {out}")


def similar(
    model: options.ModelFolder,
    node_id: Annotated[str, typer.Argument(metavar="NODE_ID", help="Id of a node.")],
    k: Annotated[int, typer.Option("-k", help="How many nodes to list.", min=1)] = 10,
    detail: Annotated[
        float, typer.Option(help="From 0 (nodes of the same kind) to 1 (nodes that share details).", min=0, max=1)
    ] = 0.0,
    vectors: Annotated[Path | None, typer.Option(help="For a new node: what sanne embed wrote.")] = None,
    graph: Annotated[str | None, typer.Option(help="For a new node: the graph that contains it.")] = None,
    node_table: options.NodeTable = None,
    text: options.KnownText = None,
    as_json: options.Json = False,
) -> None:
    """List the nodes of the fitted graph that are nearest to a node."""
    from sanne.estimator import SANNE
    from sanne.predict import fitted_rows
    from sanne.source import ModelSource
    from sanne.vectors.formats import read_vectors

    fitted, now, has_links = SANNE.load(model), None, None
    origin = ModelSource.of_model(fitted.artifact_, graph, node_table, text)
    if vectors is not None:
        fitted.know(read_vectors(vectors))
    elif graph is not None or node_table is not None:
        fitted.embed(now := origin.load(), [node_id])
    found = fitted.similar(node_id, k, detail=detail)
    if not fitted.vector(node_id).any():
        options.notes.print(f"nothing is known about {node_id}: its vector is zero, and the nodes listed are arbitrary")
    if now is not None or fitted.artifact_.num_nodes <= _SOON_READ:
        with suppress(InputError):  # the graph may have moved, or lack a node that only --vectors knows
            has_links = not options.note_alone(now or origin.load(), [node_id])
    own = float(fitted.artifact_.model.uncertainty(fitted.vector(node_id)[None])[0])
    unsure = fitted.uncertainty_[fitted_rows(fitted, [other for other, _ in found])].tolist()
    listed = [
        {"id": other, "similarity": round(score, 4), "uncertainty": round(doubt, 4)}
        for (other, score), doubt in zip(found, unsure, strict=True)
    ]
    if as_json:
        about = {"id": node_id, "uncertainty": round(own, 4), "has_links": has_links}
        options.print_json(about | {"similar": listed})
        return
    options.notes.print(f"uncertainty of {node_id}: {own:.2f}")
    shown = [(str(row["id"]), f"{row['similarity']:.4f}", f"{row['uncertainty']:.2f}") for row in listed]
    options.print_table(("node", "similarity", "uncertainty"), shown)


def explain(
    model: options.ModelFolder,
    node_ids: Annotated[list[str], typer.Argument(metavar="NODE_ID", help="Ids of one or more nodes.")],
    graph: options.CurrentGraph = None,
    node_table: options.NodeTable = None,
    text: options.KnownText = None,
    k: Annotated[int, typer.Option("-k", help="How many words, links and nodes to list.", min=1)] = 10,
    as_json: options.Json = False,
) -> None:
    """Show which words, links and nodes contributed to a vector."""
    from sanne.infer.explain import made_of
    from sanne.model.artifact import Artifact
    from sanne.source import ModelSource

    artifact = Artifact.read(model)
    now = ModelSource.of_model(artifact, graph, node_table, text).load()
    found = made_of(artifact, now, node_ids, k)
    if as_json:
        options.print_json({"explained": [_as_dict(one) for one in found]})
        return
    for one in found:
        _print(one)


def _as_dict(one: "MadeOf") -> dict[str, object]:
    return {
        "id": one.node_id,
        "uncertainty": round(one.uncertainty, 4),
        "has_links": one.has_links,
        "parts": {name: round(share, 4) for name, share in one.parts.items()},
        "words": [{"word": w.word, "share": round(w.share, 4), "own": round(w.own, 4)} for w in one.words],
        "links": [{"id": other, "share": round(share, 4)} for other, share in one.links],
        "nodes": [{"id": other, "share": round(share, 4)} for other, share in one.nodes],
    }


def _print(one: "MadeOf") -> None:
    alone = "" if one.has_links else "; it has no links, so its vector is made of its own text or numbers, if any"
    options.notes.print(f"node {one.node_id}: uncertainty {one.uncertainty:.2f}{alone}")
    if one.parts:
        names = _PARTS | ({"links": "where short walks lead"} if one.reads == "links" else {})
        options.print_table(
            (f"node {one.node_id}", "share"),
            [(names[part].format(one.reads), _percent(share)) for part, share in one.parts.items()],
        )
    if one.words:
        rows = [(word.word, _percent(word.share), _percent(word.own)) for word in one.words]
        text = one.reads == "words"
        options.print_table((one.reads[:-1], "share", f"by its own {'text' if text else 'values'}"), rows)
    for title, listed in (("link to", one.links), ("node on its walks", one.nodes)):
        if listed:
            options.print_table((title, "share"), [(str(other), _percent(share)) for other, share in listed])


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def export(
    model: options.ModelFolder,
    to: Annotated[str, typer.Option(metavar="FORMAT", help="The format: parquet, npy, csv, word2vec or faiss.")],
    out: Annotated[Path, typer.Option(help="vectors.parquet, .npy, .csv, .txt/.vec or .faiss.")],
    dtype: options.VectorType = "float32",
    as_json: options.Json = False,
) -> None:
    """Write the fitted vectors for another tool."""
    from sanne.vectors.formats import export_vectors

    started = time.perf_counter()
    count, dim = export_vectors(model, to, out, dtype)
    result = {"vectors": str(out), "format": to, "nodes": count, "dim": dim, "seconds": options.seconds_since(started)}
    options.show(result, as_json, f"wrote {out}")
