"""The model card: README.md in the model folder, with what the model is and how it was made."""

from typing import Any

from sanne.model.artifact import Artifact


def model_card(artifact: Artifact) -> str:
    """The card as Markdown."""
    record = artifact.record
    losses = record.get("losses", [])
    lines = [
        "# A SANNE model",
        "",
        "Node vectors from what nodes are and where random walks from them lead. It embeds nodes of its graph, and "
        "nodes that arrive later, without training again.",
        "",
        "```python",
        "from sanne import SANNE, load_graph",
        'model = SANNE.load("this/folder")',
        'vectors = model.transform(load_graph("bigger-graph.csv"), nodes=["a-new-node"])',
        "```",
        "",
        "## Data",
        *_table(record.get("data", {})),
        "",
        "## Training",
        *_table(
            {
                "recipe": record.get("recipe"),
                "seed": artifact.seed,
                "features": f"{artifact.feature_map.base_name}, {artifact.feature_map.width} columns",
                "vector size": artifact.model.vector_dim,
                "epochs": len(losses) or None,
                "loss, first and last epoch": f"{losses[0]:.4f}, {losses[-1]:.4f}" if losses else None,
                "seconds": record.get("seconds"),
            }
        ),
        *_chosen(artifact),
        "",
        "## Settings",
        *_table({k: v for section in artifact.config.to_dict().values() for k, v in section.items()}),
        *_labels(artifact),
        "",
        "## Versions",
        *_table(record.get("versions", {})),
        "",
        "## Limits",
        "Two trainings do not share one space: compare only vectors made by the same model folder. "
        "A new node needs the same kind of text or features as the nodes in training.",
        "",
    ]
    return "\n".join(lines)


def _chosen(artifact: Artifact) -> list[str]:
    """What a model of hidden words found out about the graph."""
    chosen, restarts = artifact.record.get("chosen", {}), artifact.config.objective.restarts
    if not chosen:
        return []
    curve = chosen["hidden_r2"]
    lines = ["", "## Chosen without labels"]
    if curve:
        names = [f"{restart:g}" for restart in restarts] + ["links"] * (len(curve) - len(restarts))
        shares = [f"{share:.0%}" for share in chosen["mixture"]] + [""] * (len(curve) - len(restarts))
        longest = max(max(curve), 1e-9)
        bars = ["█" * max(round(20 * r2 / longest), 0) for r2 in curve]
        lines += [
            "Half of each node's words (or columns) was hidden and predicted from the other half, as walks with each "
            "restart see it, and from its links. R² on nodes left out:",
            "",
            "| restart | R² | | in smoothed words |",
            "|---|---|---|---|",
            *(
                f"| {name} | {r2:.3f} | {bar} | {share} |"
                for name, r2, bar, share in zip(names, curve, bars, shares, strict=True)
            ),
            "",
            "Strengths of the joint ridge regressions, one a hidden half, in percent of the mean variance of what "
            f"they predict from: {_cell(chosen['strengths'])}.",
        ]
    else:
        lines += ["There were too few columns to hide any of them: own and smoothed columns stand side by side."]
    return [*lines, "", "Weights of the blocks of a vector:", *_table(chosen["weights"])]


def _labels(artifact: Artifact) -> list[str]:
    """The classifier that is kept in the folder, if there is one."""
    if artifact.classifier is None:
        return []
    record, several = artifact.classifier.record, artifact.classifier.threshold is not None
    return [
        "",
        "## Labels",
        "A classifier of the vectors: `sanne predict this/folder --out predictions.csv`.",
        *_table(
            {
                "labels": artifact.classifier.classes,
                "learnt from": f"{record.get('nodes')} nodes",
                f"cross-validated {'F1' if several else 'accuracy'}, percent": record.get("accuracy"),
                "the commonest label alone": record.get("majority"),
            }
        ),
    ]


def _table(values: dict[str, Any]) -> list[str]:
    rows = [f"| {name} | {_cell(value)} |" for name, value in values.items() if value is not None]
    return ["", "| | |", "|---|---|", *rows]


def _cell(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")
