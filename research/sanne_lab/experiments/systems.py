"""The systems that can be put in a table, by name."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from sanne.config import RECIPES, Config
from sanne.errors import InputError
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.infer.embed import embed, embed_present
from sanne.model.artifact import Artifact, model_kind
from sanne.model.fit import fit_model
from sanne.model.hidden import HiddenModel
from sanne.model.model import Run
from sanne_lab.baselines.cca_ssg import CCASSG
from sanne_lab.baselines.ddrw import DDRW
from sanne_lab.baselines.deepwalk import DeepWalk
from sanne_lab.baselines.deepwalk_bow import DeepWalkBow
from sanne_lab.baselines.dgi import DGI
from sanne_lab.baselines.doc2vec import Doc2Vec
from sanne_lab.baselines.ep_b import EPB
from sanne_lab.baselines.gat import GAT
from sanne_lab.baselines.gcn import GCN
from sanne_lab.baselines.graphmae import GraphMAE
from sanne_lab.baselines.graphsage import GraphSAGE
from sanne_lab.baselines.interface import Classifier, Snapshot, System
from sanne_lab.baselines.line import Line
from sanne_lab.baselines.node2vec import Node2Vec
from sanne_lab.baselines.planetoid import Planetoid
from sanne_lab.baselines.sdne import SDNE
from sanne_lab.baselines.skip_gram import SkipGram
from sanne_lab.baselines.smoothed import Smoothed
from sanne_lab.baselines.walk_mean import WalkMean
from sanne_lab.experiments.gone import is_gone


class _Baseline(Protocol):
    """A class of systems without settings from outside."""

    def grid(self) -> Sequence[System | Classifier]:
        """Candidates that validation chooses from, the most promising first."""
        ...


_BASELINES: dict[str, _Baseline] = {
    "cca-ssg": CCASSG,
    "ddrw": DDRW,
    "deepwalk": DeepWalk,
    "deepwalk-bow": DeepWalkBow,
    "dgi": DGI,
    "doc2vec": Doc2Vec,
    "ep-b": EPB,
    "gat": GAT,
    "gcn": GCN,
    "graphmae": GraphMAE,
    "graphsage": GraphSAGE,
    "line": Line,
    "node2vec": Node2Vec,
    "planetoid": Planetoid,
    "sdne": SDNE,
    "smoothed": Smoothed,
    "walk-mean": WalkMean,
}

# Where links are all there is, skip-gram needs as many walks as its papers drew: with ten from each node, which do for
# the graphs of papers, DeepWalk is 13 points behind on BlogCatalog (validation, half of the labels: 29.2 and 42.4).
_WITHOUT_ATTRIBUTES: dict[str, list[System]] = {
    "deepwalk": [DeepWalk(SkipGram(num_walks=80))],
    "node2vec": [Node2Vec(SkipGram(p=0.25, q=0.25, num_walks=80))],
}


class SanneSystem:
    """SANNE under a recipe.

    If it is trained on walks, every epoch is a candidate and validation chooses, as in the paper. A model in closed
    form is the only candidate of its settings.
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
        """Fit; hand over what validation may choose from."""

        def on_epoch(artifact: Artifact, epoch: int) -> None:
            consider(_snapshot(artifact, graph, epoch))

        artifact = fit_model(
            graph,
            self._config,
            seed,
            on_epoch=on_epoch if is_trained(self._config) else None,
            features_from=features_from,
            run=Run(progress=self._progress),
        )
        if not is_trained(self._config):
            consider(_snapshot(artifact, graph, 0))
        return float(artifact.record["seconds"])


def _snapshot(artifact: Artifact, graph: Graph, epoch: int) -> Snapshot:
    def read(larger: Graph, nodes: IntArray) -> FloatArray:
        return embed(artifact, larger, larger.node_ids[np.asarray(nodes)], progress=False).vectors

    def unsure(larger: Graph, nodes: IntArray) -> dict[str, FloatArray]:
        uncertainty = artifact.model.uncertainty(read(larger, nodes))
        return {"uncertainty": uncertainty} if np.isfinite(uncertainty).all() else {}

    return Snapshot(
        epoch,
        present=lambda: embed_present(artifact, graph, progress=False).vectors,
        new=read,
        unsure=unsure,
        some_present=(lambda nodes: read(graph, nodes)) if artifact.model.present_vectors() is None else None,
    )


def is_trained(config: Config) -> bool:
    """Whether a model is trained on walks; the others are in closed form."""
    return model_kind(config) is not HiddenModel


def system_names() -> list[str]:
    """Every name that `make_grid` knows."""
    return [*(f"sanne-{recipe}" for recipe in RECIPES), *_BASELINES]


def make_grid(
    name: str, settings: dict[str, Any] | None = None, *, progress: bool | None = None, attributes: bool = True
) -> Sequence[System | Classifier]:
    """The candidates of a system by its name, the first one first; `settings` change those of a SANNE recipe.

    For graphs without `attributes` others may come first.
    """
    if name in _BASELINES:
        grid = _BASELINES[name].grid()
        return grid if attributes else [*_WITHOUT_ATTRIBUTES.get(name, []), *grid]
    if is_gone(name):
        raise InputError(f"{name} is no longer in the code: its records are kept, but it cannot be run again")
    recipe = name.removeprefix("sanne-")
    if not name.startswith("sanne-") or recipe not in RECIPES:
        raise InputError(f"unknown system {name!r}: choose from {', '.join(system_names())}")
    return [SanneSystem(recipe, RECIPES[recipe].replace(**(settings or {})), progress=progress)]


def make_system(
    name: str, settings: dict[str, Any] | None = None, *, progress: bool | None = None
) -> System | Classifier:
    """A system by its name, with its first settings."""
    return make_grid(name, settings, progress=progress)[0]
