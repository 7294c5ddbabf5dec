"""`sanne evaluate`, scores of a model on its own graph, and `sanne compare`, systems beside each other on a graph."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from sanne.cli import options
from sanne.errors import InputError

_CLASSES_SHOWN = 30


def evaluate(
    model: options.ModelFolder,
    task: Annotated[Literal["classify", "links", "communities"], typer.Option(help="What to evaluate.")] = "classify",
    labels: options.Labels = None,
    label: options.LabelColumn = None,
    id: options.LabelId = None,
    label_share: options.LabelShare = None,
    newcomers: Annotated[
        bool, typer.Option("--newcomers", help="classify: fit again without a tenth of the nodes, and test on those.")
    ] = False,
    confusion: Annotated[
        Path | None, typer.Option("--plot", help="classify: draw which classes are mistaken, as .png, .svg or .pdf.")
    ] = None,
    graph: options.CurrentGraph = None,
    node_table: options.NodeTable = None,
    fraction: Annotated[
        float | None, typer.Option(help="links: fraction of edges to hide. Default: 0.1.", min=0.01, max=0.9)
    ] = None,
    communities: Annotated[
        int | None, typer.Option(help="communities: how many. Default: as many as there are classes.", min=2)
    ] = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Evaluate the vectors of a model on its own graph. `links` fits again without the hidden edges."""
    from sanne.draw.image import check_picture, plot_confusion
    from sanne.estimator import SANNE
    from sanne.judge import judge
    from sanne.source import ModelSource

    if task != "classify" and (label_share or newcomers or confusion):
        raise InputError(f"--label-share, --newcomers and --plot are about classes: leave them or --task {task} out")
    if (fraction and task != "links") or (communities and task != "communities"):
        raise InputError("--fraction is for --task links, and --communities for --task communities")
    options.require_labels(labels, label, id)
    if confusion is not None:
        check_picture(confusion)
    fitted = SANNE.load(model)
    origin = ModelSource.of_model(fitted.artifact_, graph, node_table)
    result = judge(
        *(fitted, origin, task, labels),
        label=label,
        id=id,
        fraction=fraction or 0.1,
        communities=communities,
        label_share=label_share,
        newcomers=newcomers,
        seed=seed,
    )
    if confusion is not None:
        plot_confusion(result["confusion"]["counts"], result["confusion"]["labels"], confusion)
        options.notes.print(f"wrote {confusion}")
    if as_json:
        options.print_json(result)
    elif task == "classify":
        _show_classes(result)
    else:
        _show_scores(result)


def _show_classes(result: dict[str, Any]) -> None:
    systems = {"sanne": result, **result["baselines"]}
    scores = [(name, accuracy(score)) for name, score in systems.items()]
    if len(scores) == 2:
        options.notes.print("the graph is not known, so features are not compared: name it with --graph")
    options.print_table((f"{result['metric']}, {result['nodes']}", f"mean of {result['num_splits']} splits"), scores)
    show_splits(result)
    shown = result["classes"][:_CLASSES_SHOWN]
    classes = [
        (str(row["label"]), f"{row['nodes']:,}", _share(row["precision"]), _share(row["recall"])) for row in shown
    ]
    options.print_table(("class", "nodes", "precision, %", "recall, %"), classes)
    if (more := len(result["classes"]) - len(shown)) > 0:
        options.notes.print(f"and {more} more classes (--json has all)")


def _show_scores(result: dict[str, Any]) -> None:
    """A row per score, sanne and baselines beside each other."""
    baselines = result.pop("baselines")
    scores = [name for name in next(iter(baselines.values())) if isinstance(result[name], float)]
    rows = [[name.replace("_", " "), *(f"{of[name]:.3f}" for of in (result, *baselines.values()))] for name in scores]
    about = ", ".join(f"{name.replace('_', ' ')}: {value}" for name, value in result.items() if name not in scores)
    options.print_table((about, "sanne", *baselines), rows)


def _share(percent: float | None) -> str:
    return "-" if percent is None else f"{percent:.1f}"


def accuracy(score: dict[str, Any]) -> str:
    return f"{score['mean']:.1f} ± {score['std']:.1f}"


def show_splits(result: dict[str, Any]) -> None:
    """What was trained and tested on."""
    options.notes.print(
        f"{result['num_classes']} classes; a split has {result['train']:,} labelled nodes to train on, "
        f"{result['val']:,} to choose the classifier's C, {result['test']:,} to test on"
    )
    if result["left_out"]:
        from sanne.model.classifier import shown_labels

        options.notes.print(f"not learnt, since a single node has them: {shown_labels(result['left_out'])}")


@options.reads_graph
def compare(
    *,
    source: options.Source,
    labels: options.Labels = None,
    columns: options.Columns,
    label_share: options.LabelShare = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Compare features, smoothed features, DeepWalk and sanne on a graph: accuracy of classes, and seconds."""
    from sanne.graph.readers.tables import read_label_table
    from sanne.judge import NO_LABELS
    from sanne.judge import compare as compare_systems
    from sanne.source import ModelSource

    label, id = columns["label"], columns["id"]
    if labels:
        columns |= {"label": None, "id": id if columns["node_table"] else None}
    graph = ModelSource.of(source, **columns).load()
    options.notes.print(f"read {graph}")
    classes = read_label_table(labels, graph.node_ids, label, id) if labels else graph.labels
    if classes is None:
        raise InputError(f"{NO_LABELS}, or name a column of the node table with --label")
    result = compare_systems(graph, classes, label_share=label_share, seed=seed, say=options.notes.print)
    if as_json:
        options.print_json(result)
        return
    rows = [
        (row["system"], accuracy(row), f"{row['seconds']:.1f}")
        if "mean" in row
        else (row["system"], row["missing"], "-")
        for row in result["systems"]
    ]
    options.print_table(("system", f"{result['metric']}, mean of {result['num_splits']} splits", "seconds"), rows)
    show_splits(result)
