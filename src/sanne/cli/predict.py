"""`sanne predict`: labels for nodes, fitted or new."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sanne.cli import options
from sanne.errors import InputError

if TYPE_CHECKING:
    from sanne.model.classifier import Classifier

_CLASSES_SHOWN = 30


def predict(
    model: options.ModelFolder,
    labels: Annotated[
        Path | None, typer.Option(help="Table with the columns id and label. Default: the saved classifier.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="predictions.parquet or .csv.")] = None,
    graph: options.CurrentGraph = None,
    node_table: options.NodeTable = None,
    text: options.KnownText = None,
    nodes: options.NodeList = None,
    label: options.LabelColumn = None,
    id: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of --labels and --nodes with ids. Default: id.")
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="Stands between the labels of a node, as in 'red;blue'.", metavar="TEXT")
    ] = None,
    save: Annotated[bool, typer.Option("--save", help="Keep the classifier in the model folder.")] = False,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Predict labels of nodes, fitted or new, from the labels of some."""
    from sanne.estimator import SANNE
    from sanne.predict import (
        check_predictions,
        learn_from_table,
        likely_separator,
        predict_nodes,
        save_classifier,
        saved_classifier,
        write_predictions,
    )
    from sanne.source import ModelSource, read_node_list

    if out is None and (not save or labels is None or graph or node_table or nodes):
        keep = "" if labels is None or save else ", or --save to keep the classifier in the model folder"
        raise InputError(f"missing --out: give --out predictions.parquet{keep}")
    if labels is None and (label is not None or separator is not None or save or (id is not None and nodes is None)):
        raise InputError("--label, --id, --separator and --save are about a table of labels: give --labels labels.csv")
    if separator == "":
        raise InputError("--separator is empty: give the text that stands between labels, as in --separator ';'")
    if out is not None:
        check_predictions(out)
    started = time.perf_counter()
    wanted = None if nodes is None else read_node_list(nodes, id)
    fitted, unknown = SANNE.load(model), list[Any]()
    asked = graph is not None or node_table is not None
    now = ModelSource.of_model(fitted.artifact_, graph, node_table, text).load() if asked else None
    if labels is None:
        classifier = saved_classifier(fitted)
    else:
        classifier, unknown = learn_from_table(fitted, labels, label=label, id=id, separator=separator, seed=seed)
    rows = None if out is None else write_predictions(out, predict_nodes(fitted, classifier, now, wanted))
    if now is not None:
        options.note_alone(now, wanted)
    if save:
        save_classifier(fitted, classifier, model)
    result: dict[str, Any] = {"predictions": None if out is None else str(out), "rows": rows}
    result |= _summary(classifier) | {"saved": str(model) if save else None, "seconds": options.seconds_since(started)}
    if as_json:
        options.show(result | {"classes": dict(_sizes(classifier)), "unknown_ids": len(unknown)}, as_json)
        return
    if unknown:
        passed = "1 id of {} is" if len(unknown) == 1 else f"{len(unknown):,} ids of {{}} are"
        shown = f"{unknown[0]!r}" if len(unknown) == 1 else f"such as {unknown[0]!r}"
        options.notes.print(f"{passed.format(labels)} not in the model, and passed over: {shown}")
    if labels is not None:
        if separator is None and (mark := likely_separator([*classifier.classes, *classifier.record["left_out"]])):
            options.notes.print(f"labels contain {mark!r}: if a node may have several, give --separator {mark!r}")
        _show_classes(classifier)
    options.show(result, as_json, f"wrote {out}" if out else None)


def _summary(classifier: "Classifier") -> dict[str, Any]:
    """What cross-validation found."""
    record = classifier.record
    measure = "accuracy" if classifier.threshold is None else "f1"
    return {
        f"cross_validated_{measure}": round(record["accuracy"], 2),
        f"{measure}_of_the_commonest_label": round(record["majority"], 2),
        "labelled_nodes": record["nodes"],
        "threshold": classifier.threshold,
        "left_out": record["left_out"] or None,
    }


def _sizes(classifier: "Classifier") -> list[tuple[str, int]]:
    """Labels and how many nodes have them, the commonest first."""
    sizes = zip(map(str, classifier.classes), classifier.record["counts"], strict=True)
    return sorted(sizes, key=lambda pair: -pair[1])


def _show_classes(classifier: "Classifier") -> None:
    from sanne.evaluate.classifier import FEW_CALIBRATED, FEW_LABELS
    from sanne.model.classifier import shown_labels

    sizes = _sizes(classifier)
    options.print_table(("label", "nodes"), [(name, f"{size:,}") for name, size in sizes[:_CLASSES_SHOWN]])
    if len(sizes) > _CLASSES_SHOWN:
        options.notes.print(f"and {len(sizes) - _CLASSES_SHOWN} more labels")
    if few := [name for name, size in sizes if size < FEW_LABELS]:
        options.notes.print(f"few labels, so expect mistakes: {shown_labels(few)} have fewer than {FEW_LABELS} nodes")
    if (count := classifier.record["nodes"]) < FEW_CALIBRATED:
        options.notes.print(
            f"probabilities are rough: {count} labelled nodes are too few to calibrate on, {FEW_CALIBRATED} are enough"
        )
    if left_out := classifier.record["left_out"]:
        options.notes.print(f"left out and never predicted: {shown_labels(left_out)} have a single node")
