"""The systems that can be put in a table, by name."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sanne.baselines.ddrw import DDRW
from sanne.baselines.deepwalk import DeepWalk
from sanne.baselines.deepwalk_bow import DeepWalkBow
from sanne.baselines.doc2vec import Doc2Vec
from sanne.baselines.ep_b import EPB
from sanne.baselines.interface import Classifier, Snapshot, System
from sanne.baselines.line import Line
from sanne.baselines.node2vec import Node2Vec
from sanne.baselines.sdne import SDNE
from sanne.baselines.smoothed import Smoothed
from sanne.baselines.walk_mean import WalkMean
from sanne.config import RECIPES, Config, recipe_config
from sanne.errors import InputError
from sanne.graph.csr import FloatArray, Graph, IntArray
from sanne.infer.embed import embed, embed_present
from sanne.model.artifact import Artifact
from sanne.train.fit import fit_model
from sanne.train.loop import Run

_BASELINES: dict[str, Callable[[], System | Classifier]] = {
    "ddrw": DDRW,
    "deepwalk": DeepWalk,
    "deepwalk-bow": DeepWalkBow,
    "doc2vec": Doc2Vec,
    "ep-b": EPB,
    "line": Line,
    "node2vec": Node2Vec,
    "sdne": SDNE,
    "smoothed": Smoothed,
    "walk-mean": WalkMean,
}


class SanneSystem:
    """SANNE under a recipe.

    With the paper's objective every epoch is a candidate and validation chooses, as in the paper. The `distil`
    objective does not overfit, so its last epoch is the only one.
    """

    def __init__(self, recipe: str, config: Config, *, progress: bool | None = None) -> None:
        self.name = f"sanne-{recipe}"
        self._config = config
        self._progress = progress

    def settings(self) -> dict[str, Any]:
        """All settings, by group; threads and device do not belong to them."""
        settings = self._config.to_dict()
        for name in ("device", "threads"):
            del settings["train"][name]
        return settings

    def fit(self, graph: Graph, seed: int, features_from: Graph | None, consider: Callable[[Snapshot], None]) -> float:
        """Train; hand over the epochs that validation may choose from."""
        every_epoch = self._config.objective.objective == "neighbours"

        def on_epoch(artifact: Artifact, epoch: int) -> None:
            if every_epoch or epoch == self._config.train.epochs:
                consider(_snapshot(artifact, graph, epoch))

        artifact = fit_model(
            graph,
            self._config,
            seed,
            on_epoch=on_epoch,
            features_from=features_from,
            run=Run(progress=self._progress),
        )
        return float(artifact.record["seconds"])


def _snapshot(artifact: Artifact, graph: Graph, epoch: int) -> Snapshot:
    def new(larger: Graph, nodes: IntArray) -> FloatArray:
        return embed(artifact, larger, larger.node_ids[np.asarray(nodes)], progress=False).vectors

    return Snapshot(epoch, present=lambda: embed_present(artifact, graph, progress=False).vectors, new=new)


def system_names() -> list[str]:
    """Every name that `make_system` knows."""
    return [*(f"sanne-{recipe}" for recipe in RECIPES), *_BASELINES]


def make_system(
    name: str, settings: dict[str, Any] | None = None, *, progress: bool | None = None
) -> System | Classifier:
    """A system by its name; `settings` change those of a SANNE recipe."""
    if name in _BASELINES:
        return _BASELINES[name]()
    recipe = name.removeprefix("sanne-")
    if not name.startswith("sanne-") or recipe not in RECIPES:
        raise InputError(f"unknown system {name!r}: choose from {', '.join(system_names())}")
    return SanneSystem(recipe, recipe_config(recipe).replace(**(settings or {})), progress=progress)
