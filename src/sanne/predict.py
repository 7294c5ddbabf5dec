"""Labels of nodes from a model's vectors: a scikit-learn classifier that takes node ids, and tables of predictions."""

import copy
import dataclasses
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from sanne.errors import InputError, UnknownNodeError
from sanne.estimator import SANNE
from sanne.evaluate.classifier import learn_classifier
from sanne.evaluate.splits import has_label
from sanne.files.atomic import check_target, replaced_file
from sanne.graph.graph import FloatArray, Graph
from sanne.graph.ids import did_you_mean, match_ids, plain_ids
from sanne.graph.load import load_graph
from sanne.graph.readers.named import open_table
from sanne.graph.readers.tables import read_label_rows
from sanne.infer.embed import embed_parts
from sanne.model.classifier import Classifier, Label, Prediction, given_labels
from sanne.seeds import fresh_seed
from sanne.vectors.text import quoted

ENDINGS = (".parquet", ".csv")
_ROWS_AT_ONCE = 10_000
_DIGITS = 6  # of an uncertainty, as of a probability

logger = logging.getLogger(__name__)


class NodeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Labels of nodes by their ids: logistic regression on the vectors of a fitted model.

    `model` is a fitted SANNE or a model folder, `graph` the graph as it is now, for nodes that came after the fit.
    Without `C`, cross-validation chooses it. `y` is one label a node, or a matrix of 0 and 1 with a column per label
    for several, of which every node gets one at least. `record_` of a fitted one has the cross-validated accuracy.

    >>> cross_val_score(NodeClassifier(model), ids, labels)
    """

    def __init__(
        self,
        model: SANNE | str | Path | None = None,
        *,
        graph: Any = None,
        C: float | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.model = model
        self.graph = graph
        self.C = C
        self.random_state = random_state

    def fit(self, ids: Iterable[Any], y: npt.ArrayLike) -> Self:
        """Learn from nodes of the fitted graph and their labels."""
        rows, labels = self._fitted_vectors(ids), np.asarray(y)
        if labels.ndim not in (1, 2) or len(labels) != len(rows):
            raise InputError(f"{len(rows)} node ids but labels of shape {labels.shape}: give one label per node")
        several = labels.ndim == 2
        if several:
            members, classes = labels.astype(bool), list(range(labels.shape[1]))
        else:
            found = np.unique(labels)
            members, classes = labels[:, None] == found, found.tolist()
        seed = fresh_seed() if self.random_state is None else self.random_state
        if self.C is not None and not (isinstance(self.C, int | float) and 0 < self.C < np.inf):
            raise InputError(f"C must be a positive number, or None for the best by cross-validation, not {self.C!r}")
        return self._use(learn_classifier(rows, members, classes, several=several, C=self.C, seed=seed))

    def _use(self, classifier: Classifier) -> Self:
        self.classifier_ = classifier
        self.classes_ = np.array(classifier.classes)
        self.record_ = classifier.record
        return self

    def predict_proba(self, ids: Iterable[Any]) -> npt.NDArray[np.float64]:
        """Calibrated probabilities (count, classes), with columns as in `classes_`."""
        check_is_fitted(self)
        return self.classifier_.probabilities(self._vectors(ids))

    def predict(self, ids: Iterable[Any]) -> npt.NDArray[Any]:
        """The likeliest label of every node; with several labels a node, a matrix of 0 and 1."""
        likely = self.predict_proba(ids)
        threshold = self.classifier_.threshold
        if threshold is None:
            return np.asarray(self.classes_[likely.argmax(axis=1)])
        return given_labels(likely, threshold).astype(np.int64)

    def save(self, folder: str | Path) -> None:
        """Write the model folder with the classifier in it; `sanne predict`, `sanne serve` and `load` use it."""
        check_is_fitted(self)
        save_classifier(self._model(), self.classifier_, folder)

    @classmethod
    def load(cls, folder: str | Path, *, graph: Any = None) -> Self:
        """The classifier that `save` wrote, or `sanne predict --save`."""
        model = SANNE.load(folder)
        return cls(model, graph=graph)._use(saved_classifier(model))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments; those of the model are its own, since it is fitted already."""
        return dict(super().get_params(deep=False))

    def __sklearn_clone__(self) -> Self:
        """An unfitted copy with the same model, which stays fitted."""
        return type(self)(**self.get_params())

    def _model(self) -> SANNE:
        model = SANNE.load(self.model) if isinstance(self.model, str | Path) else self.model
        if model is None or not hasattr(model, "artifact_"):
            raise NotFittedError(
                "NodeClassifier needs a fitted model: NodeClassifier(SANNE().fit(graph)), or its folder"
            )
        return model

    def _vectors(self, ids: Iterable[Any]) -> FloatArray:
        if self.graph is None:
            return self._fitted_vectors(ids)
        graph = self.graph if isinstance(self.graph, Graph) else load_graph(self.graph)
        return self._model().embed(graph, np.asarray(ids).ravel().tolist()).vectors

    def _fitted_vectors(self, ids: Iterable[Any]) -> FloatArray:
        model = self._model()
        return np.asarray(model.embedding_[fitted_rows(model, np.asarray(ids).ravel().tolist())])


def saved_classifier(model: SANNE) -> Classifier:
    """The classifier in a model's folder."""
    if model.artifact_.classifier is None:
        raise InputError(
            "no classifier is saved with this model: make one with sanne predict MODEL --labels FILE --save"
        )
    return model.artifact_.classifier


def save_classifier(model: SANNE, classifier: Classifier, folder: str | Path) -> None:
    """Write a model with a classifier as a model folder."""
    kept = copy.copy(model)
    kept.artifact_ = dataclasses.replace(model.artifact_, classifier=classifier)
    kept.save(folder)


def fitted_rows(model: SANNE, ids: list[Any]) -> npt.NDArray[np.int64]:
    """The rows of ids among the fitted nodes."""
    rows = match_ids(pa.array(plain_ids(np.array(ids, object))), pa.array(model.node_ids_))
    if len(absent := np.flatnonzero(rows < 0)):
        node_id = ids[int(absent[0])]
        more = f" (nor were {len(absent) - 1} more)" if len(absent) > 1 else ""
        raise UnknownNodeError(
            f"node {node_id!r} was not in the fitted graph{more}: name the graph that has it "
            f"(graph= in Python, --graph on the command line){did_you_mean(node_id, model.node_ids_)}"
        )
    return rows


def label_column(model: SANNE, table: Path, label: str | None) -> str | None:
    """The column of labels that is named, or that of the fit if the table has it; else None, the usual one."""
    source = model.artifact_.record.get("source")
    fitted = source.get("label") if isinstance(source, dict) else None
    return fitted if label is None and fitted in open_table(table, "label table").columns else label


def warn_if_read(model: SANNE, label: str | None) -> str | None:
    """Warn about a column of labels that the model read as a feature; returns the column."""
    if label in (model.artifact_.record.get("feature_names") or ()):
        logger.warning(
            "the model read the column %r as a feature, so labels from it look easier than they are: fit it again with "
            "--label %s (label=), or without that column",
            *(label, label),
        )
    return label


def likely_separator(labels: Sequence[Label]) -> str | None:
    """What seems to stand between labels of the same node: two of the parts at least are in several labels."""
    for mark in ";|":
        parts = [{part.strip() for part in str(label).split(mark)} for label in labels]
        if sum(count > 1 for count in Counter(part for some in parts for part in some).values()) > 1:
            return mark
    return None


def learn_from_table(
    model: SANNE,
    table: Path,
    *,
    label: str | None = None,
    id: str | None = None,
    separator: str | None = None,
    seed: int = 0,
) -> tuple[Classifier, list[Any]]:
    """The classifier of a table of labels, and the ids in it that the model does not know.

    A node has several labels if a `separator` stands between them, or if it has several rows. The column of labels is
    that of the fit, if the table has it.
    """
    label = warn_if_read(model, label_column(model, table, label))
    nodes, labels, unknown = read_label_rows(table, model.node_ids_, label, id)
    if separator is not None:
        parts = [[part.strip() for part in str(text).split(separator)] for text in labels]
        nodes = np.repeat(nodes, [len(part) for part in parts])
        labels = np.array([part for row in parts for part in row], object)
    given = has_label(labels)
    classes, codes = np.unique(labels[given], return_inverse=True)
    rows, places = np.unique(nodes[given], return_inverse=True)
    if len(classes) < 2:
        found = f"all are {classes.tolist()[0]!r}" if len(classes) else "the column is empty"
        raise InputError(
            f"{table}: labels of two classes or more are needed, but {found}; label nodes of another class"
        )
    members = np.zeros((len(rows), len(classes)), bool)
    members[places, codes] = True
    several = bool((members.sum(axis=1) > 1).any())
    vectors = model.embedding_[rows]
    logger.info("learning %d labels from %s nodes", len(classes), f"{len(rows):,}")
    return learn_classifier(vectors, members, classes.tolist(), several=several, seed=seed, progress=None), unknown


def predict_nodes(
    model: SANNE, classifier: Classifier, graph: Graph | None = None, ids: list[Any] | None = None
) -> Iterator[tuple[Label, Prediction, float]]:
    """Predictions for nodes of a graph as it is now (all by default), or without one for nodes of the fit.

    With the uncertainty of each node's vector.
    """
    if graph is not None:
        for part in embed_parts(model.artifact_, graph, ids):
            found = classifier.predict(part.vectors)
            yield from zip(part.node_ids.tolist(), found, part.uncertainty.tolist(), strict=True)
        return
    rows = np.arange(len(model.node_ids_)) if ids is None else fitted_rows(model, ids)
    for some in np.array_split(rows, len(rows) // _ROWS_AT_ONCE + 1):
        found = classifier.predict(model.embedding_[some])
        yield from zip(model.node_ids_[some].tolist(), found, model.uncertainty_[some].tolist(), strict=True)


def check_predictions(path: Path) -> None:
    """Refuse a file that predictions cannot be written to."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"cannot write {path}: unknown ending {path.suffix!r}; use one of {', '.join(ENDINGS)}")
    check_target(path)


def write_predictions(path: Path, predictions: Iterable[tuple[Label, Prediction, float]]) -> int:
    """Write one row per node and label: probability, runner-up, and the vector's uncertainty; returns how many."""
    rows = [
        (node_id, label, probability, *(found.runner_up or (None, None)), round(uncertainty, _DIGITS))
        for node_id, found, uncertainty in predictions
        for label, probability in found.labels
    ]
    columns = [pa.array(column, from_pandas=True) for column in zip(*rows, strict=True)]
    csv = path.suffix.lower() == ".csv"
    names = ("id", "label", "probability", "runner_up", "runner_up_probability", "uncertainty")
    table = pa.table([quoted(column) if csv else column for column in columns], names=names)
    with replaced_file(path) as part:
        if csv:
            pa.csv.write_csv(table, part, pa.csv.WriteOptions(quoting_style="needed"))
        else:
            pq.write_table(table, part)
    return len(rows)
