"""The model card: README.md in the model folder, with what the model is and how it was made."""

from typing import Any

from sanne.model.artifact import Artifact

_ABOUT = """# A SANNE model

Vectors for the nodes of a graph, and for nodes that arrive later, without fitting again.

```python
from sanne import SANNE, load_graph
model = SANNE.load("this/folder")
vectors = model.transform(load_graph("bigger-graph.csv"), nodes=["a-new-node"])
```"""
_HIDDEN = """Half of each node's words (or columns) was hidden and predicted from the other half, as walks with each \
restart see it, and from its links. R² on nodes left out:

| restart | R² | | in smoothed words |
|---|---|---|---|
{rows}

Regularisation of the joint regression of each hidden half, in percent of the mean variance of what it reads: \
{strengths}."""
_NOT_HIDDEN = "There were too few columns to hide any of them: own and smoothed columns stand side by side."
_LIMITS = """## Limits
Two trainings do not share one space: compare only vectors made by the same model folder. A new node needs the same \
kind of text or features as the nodes in training."""


def model_card(artifact: Artifact) -> str:
    """The card as Markdown."""
    record = artifact.record
    losses = record.get("losses", [])
    training = {
        "recipe": record.get("recipe"),
        "seed": artifact.seed,
        "features": f"{artifact.feature_map.base_name}, {artifact.feature_map.width} columns",
        "dimensions": artifact.model.vector_dim,
        "epochs": len(losses) or None,
        "loss, first and last epoch": f"{losses[0]:.4f}, {losses[-1]:.4f}" if losses else None,
        "seconds": record.get("seconds"),
    }
    parts = [
        _ABOUT,
        "## Data" + _table(record.get("data", {})),
        "## Training" + _table(training),
        _chosen(artifact),
        "## Settings" + _table({k: v for section in artifact.config.to_dict().values() for k, v in section.items()}),
        _labels(artifact),
        "## Versions" + _table(record.get("versions", {})),
        _LIMITS,
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _chosen(artifact: Artifact) -> str:
    """What a model of hidden words found out about the graph."""
    chosen, restarts = artifact.record.get("chosen", {}), artifact.config.objective.restarts
    if not chosen:
        return ""
    text, curve = _NOT_HIDDEN, chosen["hidden_r2"]
    if curve:
        links = len(curve) - len(restarts)
        names = [f"{restart:g}" for restart in restarts] + ["links"] * links
        shares = [f"{share:.0%}" for share in chosen["mixture"]] + [""] * links
        bars = ["█" * max(round(20 * r2 / max(*curve, 1e-9)), 0) for r2 in curve]
        columns = zip(names, curve, bars, shares, strict=True)
        rows = "\n".join(f"| {name} | {r2:.3f} | {bar} | {share} |" for name, r2, bar, share in columns)
        text = _HIDDEN.format(rows=rows, strengths=_cell(chosen["strengths"]))
    alike = f"Nodes and the mean of their neighbours are alike by {chosen['likeness']:.2f} (mean cosine, both centred)."
    return (
        f"## Chosen without labels\n{text}\n\n{alike}\n\nWeights of the parts of a vector:{_table(chosen['weights'])}"
    )


def _labels(artifact: Artifact) -> str:
    """The classifier that is kept in the folder, if there is one."""
    if artifact.classifier is None:
        return ""
    record, several = artifact.classifier.record, artifact.classifier.threshold is not None
    table = {
        "labels": artifact.classifier.classes,
        "learnt from": f"{record.get('nodes')} nodes",
        f"cross-validated {'F1' if several else 'accuracy'}, percent": record.get("accuracy"),
        "the commonest label alone": record.get("majority"),
    }
    about = "A classifier of the vectors: `sanne predict this/folder --out predictions.csv`."
    return f"## Labels\n{about}{_table(table)}"


def _table(values: dict[str, Any]) -> str:
    rows = [f"| {name} | {_cell(value)} |" for name, value in values.items() if value is not None]
    return "\n".join(["\n", "| | |", "|---|---|", *rows])


def _cell(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")
