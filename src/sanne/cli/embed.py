"""`sanne embed`: vectors for nodes, fitted or new."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sanne.cli.options import (
    CurrentGraph,
    Estimated,
    Json,
    KnownText,
    ModelFolder,
    NodeList,
    NodeTable,
    VectorType,
    require_out,
    seconds_since,
    show,
)
from sanne.errors import InputError
from sanne.interrupts import raise_if_interrupted

if TYPE_CHECKING:
    from sanne.source import ModelSource
    from sanne.vectors.vectors import Embedding


def embed(
    model: ModelFolder,
    out: Annotated[
        Path | None,
        typer.Option(help="vectors.parquet, .npy, .csv, or .txt/.vec for word2vec text; with Ray also a folder."),
    ] = None,
    graph: CurrentGraph = None,
    node_table: NodeTable = None,
    text: KnownText = None,
    nodes: NodeList = None,
    explain: Annotated[int, typer.Option(help="List N nodes that contributed to each vector.", metavar="N", min=0)] = 0,
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="Run on this machine, or on a Ray cluster.")
    ] = "local",
    workers: Annotated[int, typer.Option(help="With Ray: number of processes.", min=1)] = 2,
    address: Annotated[
        str | None, typer.Option(help="With Ray: address of the cluster. Default: start Ray on this machine.")
    ] = None,
    partitioned: Annotated[
        bool, typer.Option("--partitioned", help="With Ray: each process holds a part of the graph. For all nodes.")
    ] = False,
    dtype: VectorType = "float32",
    estimate: Estimated = False,
    as_json: Json = False,
) -> None:
    """Compute vectors for nodes, fitted or new, from walks over the graph as it is now."""
    import numpy as np

    from sanne.device import peak_memory
    from sanne.estimate import estimate_embedding
    from sanne.infer.embed import embed_parts
    from sanne.infer.partitioned import embed_partitioned
    from sanne.infer.ray import check_ray_output
    from sanne.model.artifact import Artifact
    from sanne.source import ModelSource, read_node_list
    from sanne.vectors.formats import check_output, write_parts

    if partitioned and (engine != "ray" or nodes is not None or explain):
        raise InputError("--partitioned is for all nodes with --engine ray, without --nodes and --explain")
    if not estimate:
        out = require_out(out, "vectors.parquet")
        if engine == "ray" and dtype != "float32":
            raise InputError(f"--dtype {dtype} is for --engine local: with Ray, vectors are written as float32")
        check_ray_output(out) if engine == "ray" else check_output(out, dtype=dtype)
    artifact = Artifact.read(model)  # without the vectors of the fit, which may be many
    origin = ModelSource.of_model(artifact, graph, node_table, text)
    if out is not None and not estimate and engine == "ray":
        started = time.perf_counter()
        if partitioned:
            count = embed_partitioned(model.absolute(), origin.load, out, workers=workers, address=address)
        else:
            count = _embed_with_ray(model.absolute(), origin, nodes, out, explain, workers, address)
        result = {"vectors": str(out), "nodes": count, "workers": workers, "seconds": seconds_since(started)}
        show(result, as_json, f"wrote {out}")
        return
    now = origin.load()
    wanted = None if nodes is None else read_node_list(nodes)
    count = now.num_nodes if wanted is None else len(wanted)
    if out is None or estimate:
        show(estimate_embedding(artifact, now, count).to_dict(), as_json)
        return
    started = time.perf_counter()
    uncertainties: list[Any] = []

    def watched() -> "Iterator[Embedding]":
        for part in embed_parts(artifact, now, wanted, explain=explain):
            uncertainties.append(part.uncertainty[np.isfinite(part.uncertainty)])
            yield part
            raise_if_interrupted()  # an interrupt that a library lost

    write_parts(out, watched(), count, artifact.model.vector_dim, dtype=dtype)
    known = np.concatenate(uncertainties)
    result = {
        "vectors": str(out),
        "nodes": count,
        "dim": artifact.model.vector_dim,
        "seconds": seconds_since(started),
        "peak_bytes": peak_memory(),
        "mean_uncertainty": round(float(known.mean(dtype=np.float64)), 5) if len(known) else None,
    }
    show(result, as_json, f"wrote {out}")


def _embed_with_ray(
    model: Path,
    origin: "ModelSource",
    nodes: Path | None,
    out: Path,
    explain: int,
    workers: int,
    address: str | None,
) -> int:
    """Embed on a Ray cluster and return how many; this process only reads the graph if all nodes are asked for."""
    from sanne.infer.ray import Job, as_parquet, embed_with_ray
    from sanne.source import read_node_list

    with contextlib.ExitStack() as stack:
        ids = nodes
        if nodes is None or nodes.suffix != ".parquet":
            listed = origin.load().node_ids if nodes is None else read_node_list(nodes)
            ids = stack.enter_context(as_parquet(listed, beside=out))
        assert ids is not None
        return embed_with_ray(Job(model, origin.load, ids, explain), out, workers=workers, address=address)
