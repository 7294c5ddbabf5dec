"""`sanne compare`: systems beside each other on a graph of your own."""

import typer

from sanne.cli.evaluate import accuracy, show_splits
from sanne.cli.options import (
    Directed,
    Dst,
    Features,
    Id,
    Json,
    Kind,
    KindWeight,
    Label,
    Labels,
    LabelShare,
    NodeTable,
    Seed,
    Source,
    Src,
    Text,
    UnknownNodes,
    graph_options,
    notes,
    print_json,
    print_table,
)
from sanne.errors import InputError


def compare(
    context: typer.Context,
    source: Source,
    labels: Labels = None,
    node_table: NodeTable = None,
    text: Text = None,
    features: Features = None,
    label: Label = None,
    src: Src = None,
    dst: Dst = None,
    id: Id = None,
    kind: Kind = None,
    kind_weight: KindWeight = None,
    unknown: UnknownNodes = None,
    directed: Directed = False,
    label_share: LabelShare = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Compare features, smoothed features, DeepWalk and sanne on a graph: accuracy of classes, and seconds."""
    from sanne.graph.readers.tables import read_label_table
    from sanne.judge import NO_LABELS
    from sanne.judge import compare as compare_systems
    from sanne.source import ModelSource

    columns = graph_options(context)
    if labels:
        columns |= {"label": None, "id": id if node_table else None}
    graph = ModelSource.of(source, node_table=node_table, **columns).load()
    notes.print(f"read {graph}")
    classes = read_label_table(labels, graph.node_ids, label, id) if labels else graph.labels
    if classes is None:
        raise InputError(NO_LABELS)
    result = compare_systems(graph, classes, label_share=label_share, seed=seed, say=notes.print)
    if as_json:
        print_json(result)
        return
    rows = [
        (row["system"], accuracy(row), f"{row['seconds']:.1f}")
        if "mean" in row
        else (row["system"], row["missing"], "-")
        for row in result["systems"]
    ]
    print_table(("system", f"{result['metric']}, mean of {result['num_splits']} splits", "seconds"), rows)
    show_splits(result)
