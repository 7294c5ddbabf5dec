"""Small fits with text, with features and without either; as a program, fits them in a fresh process.

`python small_fits.py FOLDER NAME...` writes FOLDER/NAME.whole.npy, and FOLDER/NAME.resumed.npy from the checkpoint
FOLDER/NAME.checkpoint.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from planted import planted_graph
from sanne.estimator import SANNE
from sanne.graph.graph import Graph

SMALL: dict[str, Any] = {
    "encoder_dim": 32,
    "num_heads": 2,
    "num_layers": 1,
    "ff_dim": 64,
    "feature_dim": 24,
    "epochs": 2,
    "steps_per_epoch": 6,
    "batch_size": 256,  # enough for two threads to share
    "num_inference_walks": 16,
    "half_dim": 12,
    "link_dim": 12,
    "restart_steps": 8,
    "doc2vec_epochs": 10,
    "device": "cpu",
}
WORDS = (("graph", "walk", "node"), ("gene", "cell", "fold"), ("price", "trade", "money"))
CASES = {f"{recipe} {kind}": (recipe, kind) for recipe in ("fast", "paper") for kind in ("text", "features", "bare")}


def small_graph(kind: str, ids: str = "p") -> Graph:
    """A planted graph with text, with features, or bare; the nodes have the same order whatever they are called."""
    planted = planted_graph(size=100, ids=ids)
    stream = np.random.default_rng(0)
    texts = [
        " ".join([*stream.choice(WORDS[label], 4), *(f"w{word}" for word in stream.integers(0, 30, 4))])
        for label in planted.labels
    ]
    sources = np.repeat(np.arange(planted.num_nodes), np.diff(planted.indptr))
    once = sources < planted.indices
    return Graph.from_edges(
        sources[once],
        planted.indices[once],
        node_ids=planted.node_ids,
        texts=np.array(texts, object) if kind == "text" else None,
        features=planted.features if kind == "features" else None,
    )


def small_model(recipe: str, kind: str, threads: int = 1) -> SANNE:
    """Not fitted yet."""
    changes: dict[str, Any] = {"threads": threads}
    if recipe == "paper":  # which reads text where it is not told otherwise
        changes |= {
            "num_negatives": 64,
            "features": {"text": "doc2vec", "features": "numeric", "bare": "structure"}[kind],
        }
    return SANNE(recipe, settings=SMALL | changes, random_state=3)


def main(folder: Path, names: list[str]) -> None:
    for name in names:
        recipe, kind = CASES[name]
        graph = small_graph(kind)
        np.save(folder / f"{name}.whole.npy", small_model(recipe, kind).fit_transform(graph))
        checkpoint = folder / f"{name}.checkpoint"
        resumed = small_model(recipe, kind).fit(graph, checkpoint=checkpoint, resume=True)
        np.save(folder / f"{name}.resumed.npy", resumed.embedding_)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
