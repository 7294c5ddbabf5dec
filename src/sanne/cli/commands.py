"""The command line: thin commands over the library. Results go to stdout, everything else to stderr."""

import contextlib
import logging
import os
import sys
import time
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table

from sanne.cli.fit import fit
from sanne.cli.options import (
    Directed,
    Estimated,
    Features,
    Json,
    KnownText,
    Label,
    ModelFolder,
    NodeTable,
    Seed,
    Text,
    before_the_command,
    notes,
    plain,
    print_json,
    print_pairs,
    show,
)
from sanne.cli.research import add_research
from sanne.cli.serve import serve
from sanne.errors import InputError, SanneError
from sanne.graph.folder.limits import BuildLimits
from sanne.interrupts import raise_if_interrupted, remembered_interrupts, was_interrupted

app = typer.Typer(
    help="Vectors for the nodes of a graph, and for nodes that arrive later, without training again.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
data_app = typer.Typer(help="Public datasets: list them, or get one.", no_args_is_help=True)
app.add_typer(data_app, name="data")
app.command()(fit)
app.command()(serve)
app.callback()(before_the_command)
add_research(app)

Labels = Annotated[Path | None, typer.Option(help="Table with the columns id and label.")]
Picture = Annotated[Path, typer.Option(help="map.png, .svg, .pdf, or .html for a page that shows ids.")]


@app.command()
def build(
    edges: Annotated[list[Path], typer.Argument(metavar="EDGES", help="CSV, TSV or Parquet files of edges.")],
    out: Annotated[Path, typer.Option(help="The graph folder to write.")],
    node_table: NodeTable = None,
    text: Text = None,
    features: Features = None,
    label: Label = None,
    directed: Directed = False,
    memory: Annotated[
        str, typer.Option(help="Memory to stay within, as 4GB or 1.5GiB.")
    ] = f"{BuildLimits().memory / 2**30:g}GiB",
    as_json: Json = False,
) -> None:
    """Turn edge files, however large, into a graph folder that every command reads without loading it."""
    from sanne.graph.folder.build import build_graph, parse_size

    config = BuildLimits(memory=parse_size(memory))
    started = time.perf_counter()
    graph = build_graph(
        edges, out, node_table=node_table, text=text, features=features, label=label, directed=directed, config=config
    )
    result = {
        "graph": str(out),
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "directed": graph.directed,
        "weighted": graph.weights is not None,
        "features": None if graph.features is None else graph.features.shape[1],
        "text": graph.texts is not None,
        "seconds": round(time.perf_counter() - started, 2),
    }
    show(result, as_json, f"wrote {out}")


@app.command()
def embed(
    model: ModelFolder,
    out: Annotated[
        Path | None,
        typer.Option(help="vectors.parquet, .npy, .csv, or .txt/.vec for word2vec text; ray: or a folder."),
    ] = None,
    graph: Annotated[str | None, typer.Option(help="The graph as it is now. Default: the one fit read.")] = None,
    node_table: NodeTable = None,
    text: KnownText = None,
    nodes: Annotated[
        Path | None, typer.Option(help="One node id a line, or Parquet with a column id. Default: all nodes.")
    ] = None,
    explain: Annotated[int, typer.Option(help="Name so many nodes that each vector drew on.", min=0)] = 0,
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="Here, or on the machines of a Ray cluster.")
    ] = "local",
    workers: Annotated[int, typer.Option(help="ray: processes that embed.", min=1)] = 2,
    address: Annotated[str | None, typer.Option(help="ray: the cluster; default: Ray on this machine alone.")] = None,
    estimate: Estimated = False,
    as_json: Json = False,
) -> None:
    """Vectors for nodes, seen in fit or new, read from walks over the graph as it is now."""
    import numpy as np

    from sanne.device import peak_memory
    from sanne.infer.embed import embed_parts
    from sanne.model.artifact import Artifact
    from sanne.source import ModelSource, read_node_list
    from sanne.vectors.files import VectorWriter, check_output

    if out is None and not estimate:
        raise InputError("where to? give --out vectors.parquet, or --estimate to see what it would take")
    if out is not None and engine == "ray" and not estimate:
        origin = ModelSource.remembered(Artifact.read(model)).changed(graph, node_table, text)
        show(_embed_with_ray(model, origin, nodes, out, explain, workers, address), as_json, f"wrote {out}")
        return
    if out is not None:
        check_output(out)
    fitted = Artifact.read(model)  # without the vectors of the fit, which may be many
    now = ModelSource.remembered(fitted).changed(graph, node_table, text).load()
    wanted = None if nodes is None else read_node_list(nodes)
    count = now.num_nodes if wanted is None else len(wanted)
    if out is None or estimate:
        from sanne.estimate import estimate_embedding

        show(estimate_embedding(fitted, now, count).to_dict(), as_json)
        return
    spread, known = 0.0, 0  # a vector of a single walk has none
    started = time.perf_counter()
    with VectorWriter(out, count, fitted.model.vector_dim) as writer:
        for part in embed_parts(fitted, now, wanted, explain=explain):
            writer.write(part.node_ids, part.vectors, part.spread, part.explanation)
            spread += float(np.nansum(part.spread, dtype="float64"))
            known += int(np.isfinite(part.spread).sum())
            raise_if_interrupted()
    result = {
        "vectors": str(out),
        "nodes": count,
        "dim": fitted.model.vector_dim,
        "seconds": round(time.perf_counter() - started, 2),
        "peak_bytes": peak_memory(),
        "mean_spread": round(spread / known, 5) if known else None,
    }
    show(result, as_json, f"wrote {out}")


@app.command()
def similar(
    model: ModelFolder,
    node_id: Annotated[str, typer.Argument(metavar="NODE_ID")],
    k: Annotated[int, typer.Option("-k", help="How many.", min=1)] = 10,
    graph: Annotated[str | None, typer.Option(help="The graph that has the node, if fit did not see it.")] = None,
    node_table: NodeTable = None,
    text: KnownText = None,
    as_json: Json = False,
) -> None:
    """The nodes of the fitted graph nearest to a node."""
    from sanne.estimator import SANNE
    from sanne.source import ModelSource

    fitted = SANNE.load(model)
    if graph is not None or node_table is not None:
        fitted.embed(ModelSource.remembered(fitted.artifact_).changed(graph, node_table, text).load(), [node_id])
    found = [{"id": plain(other), "similarity": round(score, 4)} for other, score in fitted.similar(node_id, k)]
    if as_json:
        print_json({"id": node_id, "similar": found})
        return
    table = Table("node", "similarity")
    for row in found:
        table.add_row(str(row["id"]), f"{row['similarity']:.4f}")
    Console().print(table)


@app.command()
def evaluate(
    model: ModelFolder,
    task: Annotated[Literal["classify", "links", "communities"], typer.Option(help="What to judge.")] = "classify",
    labels: Labels = None,
    fraction: Annotated[float, typer.Option(help="links: share of the edges to hide.", min=0.01, max=0.9)] = 0.1,
    communities: Annotated[int | None, typer.Option(help="communities: how many; default: the classes.", min=2)] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Judge the vectors of a model on its own graph. `links` fits again without the hidden edges."""
    from sanne.estimator import SANNE
    from sanne.judge import judge
    from sanne.source import ModelSource

    fitted = SANNE.load(model)
    origin = ModelSource.remembered(fitted.artifact_)
    result = judge(fitted, origin, task, labels, fraction=fraction, communities=communities, seed=seed)
    if as_json:
        print_json(result)
        return
    print_pairs({name: value for name, value in result.items() if name != "splits"})


@app.command()
def plot(
    model: ModelFolder,
    out: Picture,
    method: Annotated[Literal["auto", "tsne", "pca"], typer.Option(help="How to flatten the vectors.")] = "auto",
    labels: Labels = None,
    new: Annotated[Path | None, typer.Option(help="Vectors of newcomers (from sanne embed), to be marked.")] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Draw the vectors of a model as a map, coloured by class where classes are known."""
    from sanne.draw.plot import check_picture
    from sanne.estimator import SANNE
    from sanne.judge import draw_model
    from sanne.source import ModelSource

    check_picture(out)
    fitted = SANNE.load(model)
    count = draw_model(
        fitted, ModelSource.remembered(fitted.artifact_), out, labels=labels, new=new, method=method, seed=seed
    )
    show({"map": str(out), "nodes": count}, as_json, f"wrote {out}")


@app.command()
def export(
    model: ModelFolder,
    to: Annotated[Literal["parquet", "npy", "word2vec", "lancedb", "faiss"], typer.Option(help="For which tool.")],
    out: Annotated[Path, typer.Option(help="vectors.parquet, .npy, .txt/.vec, .faiss; lancedb: a folder.")],
    as_json: Json = False,
) -> None:
    """Write the fitted vectors for another tool."""
    from sanne.vectors.export import export_vectors

    started = time.perf_counter()
    count, dim = export_vectors(model, to, out)
    seconds = round(time.perf_counter() - started, 2)
    show({"vectors": str(out), "format": to, "nodes": count, "dim": dim, "seconds": seconds}, as_json, f"wrote {out}")


@data_app.command("list")
def data_list(as_json: Json = False) -> None:
    """The datasets that have a name."""
    from sanne.datasets import CATALOG

    if as_json:
        print_json({"datasets": [{"name": d.name, "description": d.description} for d in CATALOG.values()]})
        return
    table = Table("name", "what it is")
    for dataset in CATALOG.values():
        table.add_row(dataset.name, dataset.description)
    Console().print(table)


@data_app.command("get")
def data_get(name: Annotated[str, typer.Argument(metavar="NAME")], as_json: Json = False) -> None:
    """Find or fetch a dataset, verify it, and say where it is."""
    from sanne.datasets import fetch_dataset, load_dataset

    place = fetch_dataset(name)
    graph = load_dataset(name)
    show({"name": name, "folder": str(place), "nodes": graph.num_nodes, "edges": graph.num_edges}, as_json)


@app.command()
def demo(
    out: Picture = Path("map.png"),
    recipe: Annotated[str, typer.Option(help="best, fast or paper.")] = "fast",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Fit Cora without 1000 of its papers, let them arrive, judge the vectors, draw the map."""
    from sanne.demo import run_demo
    from sanne.draw.plot import check_picture

    check_picture(out)
    result = run_demo(recipe=recipe, seed=seed, out=out, say=notes.print)
    if as_json:
        print_json(result)
        return
    console = Console(highlight=False)
    table = Table("accuracy, %", "present papers", "newcomers")
    table.add_row("sanne", f"{result['present_accuracy']:.1f}", f"{result['new_accuracy']:.1f}")
    table.add_row(
        "untrained walk mean", f"{result['walk_mean_present_accuracy']:.1f}", f"{result['walk_mean_accuracy']:.1f}"
    )
    console.print(table)
    table = Table("step", "seconds")
    for step in ("load", "fit", "embed", "evaluate", "plot"):
        table.add_row(step, f"{result[f'{step}_seconds']:.1f}")
    console.print(table)
    table = Table(f"papers like {result['example']} ({result['example_class']}), a newcomer", "class", "similarity")
    for row in result["similar"]:
        table.add_row(str(row["id"]), row["class"], f"{row['similarity']:.3f}")
    console.print(table)
    console.print(f"the map is in {result['map']}")


def _embed_with_ray(
    model: Path, origin: Any, nodes: Path | None, out: Path, explain: int, workers: int, address: str | None
) -> dict[str, Any]:
    """Embed on a Ray cluster; only where all nodes are asked for does this process read the graph."""
    from sanne.infer.ray import Job, as_parquet, check_ray_output, embed_with_ray
    from sanne.source import read_node_list

    check_ray_output(out)
    started = time.perf_counter()
    with contextlib.ExitStack() as stack:
        if nodes is None:
            ids = stack.enter_context(as_parquet(origin.load().node_ids, beside=out))
        elif nodes.suffix == ".parquet":
            ids = nodes
        else:
            ids = stack.enter_context(as_parquet(read_node_list(nodes), beside=out))
        job = Job(model.absolute(), origin.load, ids, explain)
        count = embed_with_ray(job, out, workers=workers, address=address)
    seconds = round(time.perf_counter() - started, 2)
    return {"vectors": str(out), "nodes": count, "workers": workers, "seconds": seconds}


def main() -> None:
    """Run a command; a user's mistake ends in one line on stderr and exit code 2."""
    # Before torch is imported: threads that wait by sleeping, not by spinning, are up to 7 times faster on busy cores.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    with remembered_interrupts():
        try:
            app()
        except Exception as error:
            if was_interrupted():  # whatever a library made of it
                sys.exit(130)
            if not isinstance(error, SanneError | OSError):
                raise
            notes.quiet = False
            notes.print(f"error: {error}", style="red", markup=False)
            sys.exit(1 if isinstance(error, OSError) else 2)
