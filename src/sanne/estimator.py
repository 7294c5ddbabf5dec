"""SANNE: the model as a scikit-learn estimator. fit, transform, save, load, similar."""

import contextlib
import logging
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, Self, overload

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from sanne.config import DEFAULT_RECIPE, RECIPES, Config, recipe_config
from sanne.errors import InputError, ModelFolderError, UnknownNodeError
from sanne.files.atomic import check_target, claimed, read_unreplaced, replaced_folder
from sanne.graph.graph import FloatArray, Graph
from sanne.graph.ids import did_you_mean, match_ids
from sanne.graph.load import load_graph
from sanne.infer.embed import embed, embed_present
from sanne.infer.explain import MadeOf, made_of
from sanne.model.artifact import GRAPH, VECTORS, Artifact, check_model_target
from sanne.model.card import model_card
from sanne.model.fit import EpochHook, fit_model
from sanne.model.model import Run
from sanne.seeds import fresh_seed
from sanne.vectors.formats import Dtype, read_vectors, write_vectors
from sanne.vectors.search import most_similar
from sanne.vectors.vectors import Embedding

logger = logging.getLogger(__name__)

_NO_NODES: tuple[Any, FloatArray] = np.empty(0, object), np.empty((0, 0), np.float32)


class SANNE(BaseEstimator):  # type: ignore[misc]
    """Vectors for the nodes of a graph, and for nodes that arrive later.

    `recipe` names a set of settings (`best`, `fast`, `paper`); `settings` changes some of them by name, as in
    `SANNE(settings={"dim": 128, "restart_steps": 16})`; `progress` shows a bar (None: only on a terminal).
    `random_state` is a whole number; None draws a fresh one at every fit, kept in the model as `artifact_.seed`.

    `embedding_`, `uncertainty_` and `node_ids_` are read-only; `fit_transform` and `transform` give copies.

    >>> model = SANNE(random_state=0).fit("cora")
    >>> model.embedding_.shape
    """

    _new_nodes = _NO_NODES  # ids and vectors of the last `transform`, for `similar`

    def __init__(
        self,
        recipe: str = DEFAULT_RECIPE,
        *,
        settings: dict[str, Any] | None = None,
        random_state: int | None = 0,
        progress: bool | None = None,
    ) -> None:
        self.recipe = recipe
        self.settings = settings
        self.random_state = random_state
        self.progress = progress

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        given = super().__repr__(N_CHAR_MAX)
        if not hasattr(self, "embedding_"):
            return str(given)
        return "<{}, fitted: {:,} nodes, {} dimensions>".format(given, *self.embedding_.shape)

    def fit(
        self,
        graph: Any,
        y: Any = None,
        *,
        on_epoch: EpochHook | None = None,
        features_from: Graph | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
    ) -> Self:
        """Fit to a graph, or to anything that `load_graph` reads; `y` may be the node table of an edge table.

        Anything else in `y`, such as class labels passed by a pipeline, is ignored.
        `on_epoch(artifact, epochs_done)` is called after every epoch; if it returns a validation score, the best epoch
        is kept. `checkpoint` is a file that is saved after every epoch, and continued from with
        `resume=True`. `features_from` is a larger graph to fit the feature map on.
        """
        nodes = y if hasattr(y, "columns") else None
        graph = graph if isinstance(graph, Graph) else load_graph(graph, node_table=nodes)
        config, seed, record = self._config(), _checked_seed(self.random_state), {"recipe": self.recipe}
        run = Run(None if checkpoint is None else Path(checkpoint), resume, self.progress)
        with contextlib.nullcontext() if run.checkpoint is None else claimed(check_target(run.checkpoint)):
            self.artifact_ = fit_model(
                graph, config, seed, on_epoch=on_epoch, features_from=features_from, run=run, record=record
            )
        present = embed_present(self.artifact_, graph, progress=self.progress)
        self._set_vectors(present.node_ids, present.vectors, present.uncertainty)
        return self

    @overload
    def transform(
        self, graph: Any, nodes: Iterable[Any] | None = None, *, explain: Literal[False, 0] = False
    ) -> FloatArray: ...

    @overload
    def transform(self, graph: Any, nodes: Iterable[Any] | None = None, *, explain: int) -> Embedding: ...

    def transform(
        self, graph: Any, nodes: Iterable[Any] | None = None, *, explain: int = False
    ) -> FloatArray | Embedding:
        """Vectors (count, dim) of nodes of a graph, seen in fit or not, computed from walks over this graph.

        With `explain=True` (or a number of nodes to list), an `Embedding` with uncertainty and explanation instead.

        >>> model.transform(bigger_graph, nodes=["paper-9001"])
        """
        found = self.embed(graph, nodes, explain=explain)
        return found if explain else found.vectors

    def embed(self, graph: Any, nodes: Iterable[Any] | None = None, *, explain: int = 0) -> Embedding:
        """Like `transform`, with ids, uncertainty and the `explain` nodes that contributed most (True: ten)."""
        explain = 10 if explain is True else int(explain)
        graph = graph if isinstance(graph, Graph) else load_graph(graph)
        found = embed(self._fitted(), graph, nodes, explain=explain, progress=self.progress)
        self._keep_new_nodes(found)
        return found

    def explain(self, graph: Any, nodes: Iterable[Any], count: int = 10) -> list[MadeOf]:
        """What vectors are made of: parts, words, links and surrounding nodes, with their shares.

        >>> model.explain(graph, ["paper-9001"])[0].words
        """
        graph = graph if isinstance(graph, Graph) else load_graph(graph)
        return made_of(self._fitted(), graph, nodes, count)

    def fit_transform(self, graph: Any, y: Any = None, **fit_options: Any) -> FloatArray:
        """Fit, and return a copy of `embedding_`."""
        return self.fit(graph, y, **fit_options).embedding_.copy()

    def uncertainty(self, vectors: FloatArray | None = None) -> FloatArray:
        """The uncertainty of vectors of this model, (n,), from 0 to below 1; those of `embedding_` by default.

        One minus the largest cluster share of a vector, averaged over clusterings. The higher it is, the more
        often a node is misclassified.
        """
        model = self._fitted().model
        rows = self.embedding_ if vectors is None else np.asarray(vectors, np.float32)
        if rows.ndim != 2 or rows.shape[1] != model.vector_dim:
            raise InputError(f"vectors of this model have shape (n, {model.vector_dim}), not {rows.shape}")
        found = model.uncertainty(rows)
        if np.isnan(found).any():
            raise InputError("this model's objective has no uncertainty: fit another recipe")
        return found

    def know(self, found: Embedding) -> None:
        """Let `similar` use vectors that this model computed earlier, as `read_vectors` returns them."""
        if found.dim != (dim := self._fitted().model.vector_dim):
            raise InputError(f"vectors of {found.dim} dimensions, but this model's have {dim}: embed the nodes with it")
        self._keep_new_nodes(found)

    def similar(self, node: Any, k: int = 10, *, detail: float = 0.0) -> list[tuple[Any, float]]:
        """The `k` nodes of the fitted graph nearest to a node, as (node id, cosine), best first.

        `node` is an id known from fit or from the last `transform`, or a vector. `detail`, up to 1, looks less at
        topics and more at what tells nodes of one topic apart: nodes that belong together come before nodes of a kind.
        """
        vector = node if isinstance(node, np.ndarray) else self.vector(node)
        row = None if isinstance(node, np.ndarray) else _row_of(self.node_ids_, node)
        return most_similar(self.node_ids_, self.embedding_, vector, k, leave_out=row, detail=detail)

    def vector(self, node: Any) -> FloatArray:
        """The vector of a node by its id, known from fit or from the last `transform`."""
        self._fitted()
        for ids, vectors in ((self.node_ids_, self.embedding_), self._new_nodes):
            if (row := _row_of(ids, node)) is not None:
                return vectors[row]
        raise UnknownNodeError(
            f"node {node!r} was not in the fitted graph: name the graph that has it (--graph) or its vectors "
            f"(--vectors), or in Python embed it first with transform(graph, nodes=[{node!r}])"
            f"{did_you_mean(node, self.node_ids_)}"
        )

    def save(self, folder: str | Path, dtype: Dtype = "float32") -> None:
        """Write the model folder, completely or not at all; an earlier model there is replaced.

        With `dtype="float16"` its vectors take half the space.
        """
        artifact = self._fitted()
        logger.info("writing %s", folder)
        target = check_model_target(folder)
        with replaced_folder(target) as part:
            if artifact.record.get("source", {}).get("source") == str(target / GRAPH):  # a bundle stays one
                shutil.copytree(target / GRAPH, part / GRAPH)
            write_vectors(part / VECTORS, self.node_ids_, self.embedding_, self.uncertainty_, dtype=dtype)
            artifact.write(part)
            (part / "README.md").write_text(model_card(artifact), encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a model folder that `save` or `sanne fit` wrote."""
        return read_unreplaced(folder, lambda: cls._load(folder))

    @classmethod
    def _load(cls, folder: str | Path) -> Self:
        artifact = Artifact.read(folder)
        path, dim = Path(folder) / VECTORS, artifact.model.vector_dim
        try:
            found = read_vectors(path)
            if found.dim != dim:
                raise InputError(f"{path}: vectors of {found.dim} dimensions, but the model's have {dim}")
            if not np.isfinite(found.vectors).all():
                raise InputError(f"{path}: some vectors are not finite")
        except (InputError, OSError) as error:
            raise ModelFolderError(f"{error}: fit again") from None
        recipe = str(artifact.record.get("recipe", DEFAULT_RECIPE))
        model = cls(recipe, settings=_changes(artifact.config, recipe), random_state=artifact.seed)
        model.artifact_ = artifact
        model._set_vectors(found.node_ids, found.vectors, found.uncertainty)
        return model

    def _set_vectors(self, node_ids: Any, vectors: FloatArray, uncertainty: FloatArray) -> None:
        self.node_ids_ = node_ids
        self.embedding_ = vectors
        self.uncertainty_ = uncertainty
        self._new_nodes = _NO_NODES
        self._protect_vectors()

    def _protect_vectors(self) -> None:
        """Make the arrays read-only: a change in place would corrupt `similar` and `save`."""
        for array in (self.node_ids_, self.embedding_, self.uncertainty_):
            array.flags.writeable = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "embedding_"):  # numpy unpickles arrays as writeable
            self._protect_vectors()

    def _keep_new_nodes(self, found: Embedding) -> None:
        """Copy the vectors of nodes that fit did not see, since the caller may modify the originals."""
        rows = match_ids(pa.array(self.node_ids_), pa.array(found.node_ids))
        new = np.ones(len(found.node_ids), bool)
        new[rows[rows >= 0]] = False
        self._new_nodes = found.node_ids[new], found.vectors[new]

    def _config(self) -> Config:
        settings = self.settings or {}
        if not isinstance(settings, dict):
            raise InputError(f"settings must be a dictionary of setting names and values, not {settings!r}")
        return recipe_config(self.recipe).replace(**settings)

    def _fitted(self) -> Artifact:
        if not hasattr(self, "artifact_"):
            raise NotFittedError("this SANNE is not fitted yet: call fit(graph) or SANNE.load(folder) first")
        return self.artifact_


def _row_of(node_ids: Any, node: Any) -> int | None:
    wanted: Any = str(node)
    if node_ids.dtype.kind == "i":
        try:
            wanted = int(wanted)  # through text, so that 3.7 is not taken for node 3
        except ValueError:
            return None
    found = np.flatnonzero(node_ids == wanted)
    return int(found[0]) if len(found) else None


def _checked_seed(seed: Any) -> int:
    if seed is None:
        drawn = fresh_seed()
        logger.info("random_state=None: drew the seed %d", drawn)
        return drawn
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= int(seed) < 2**63:
        raise InputError(
            f"random_state must be a whole number from 0 to 2**63 - 1, not {seed!r}: give one, or None for a fresh one"
        )
    return int(seed)


def _changes(config: Config, recipe: str) -> dict[str, Any] | None:
    """The settings in which a config differs from its recipe, by flat names."""
    base = RECIPES.get(recipe, Config()).to_dict()
    changed = {
        name: value
        for section, values in config.to_dict().items()
        for name, value in values.items()
        if value != base[section][name]
    }
    return changed or None
