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
                **record.get("scores", {}),
            }
        ),
        "",
        "## Settings",
        *_table({k: v for section in artifact.config.to_dict().values() for k, v in section.items()}),
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


def _table(values: dict[str, Any]) -> list[str]:
    rows = [f"| {name} | {_cell(value)} |" for name, value in values.items() if value is not None]
    return ["", "| | |", "|---|---|", *rows]


def _cell(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")
