"""A linear classifier of a model's vectors, as `sanne predict --save` keeps it in the model folder."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sanne.model.safe_files import Shapes, check_shapes

Label = str | int
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Prediction:
    """What is said of one node: its label, or its labels, with their probabilities, likeliest first."""

    labels: tuple[tuple[Label, float], ...]
    runner_up: tuple[Label, float] | None  # the likeliest of the other labels

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        likely = [{"label": label, "probability": share} for label, share in self.labels]
        other = self.runner_up and {"label": self.runner_up[0], "probability": self.runner_up[1]}
        return {"labels": likely, "runner_up": other}


@dataclass(frozen=True, eq=False)
class Classifier:
    """Probabilities of labels from vectors; `record` says how it was made and how good it is."""

    classes: tuple[Label, ...]
    weight: Floats  # (dim, classes)
    bias: Floats  # (classes,)
    threshold: float | None = None  # nodes have every label at least this likely; None: one label a node
    record: dict[str, Any] = field(default_factory=dict)

    def probabilities(self, vectors: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """(count, classes); the rows add up to one if a node has one label."""
        scores = vectors.astype(np.float64) @ self.weight.astype(np.float64) + self.bias
        return probabilities_of(scores, several=self.threshold is not None)

    def predict(self, vectors: npt.NDArray[Any]) -> list[Prediction]:
        """The labels of nodes with these vectors (count, dim): every node gets at least its likeliest."""
        likely = self.probabilities(vectors)
        order = np.argsort(-likely, axis=1, kind="stable")
        ranked = np.take_along_axis(likely, order, axis=1).round(6)
        counts = label_counts(likely, self.threshold)
        found = []
        for codes, shares, count in zip(order.tolist(), ranked.tolist(), counts.tolist(), strict=True):
            pairs = [
                (self.classes[code], share) for code, share in zip(codes[: count + 1], shares[: count + 1], strict=True)
            ]
            found.append(Prediction(tuple(pairs[:count]), pairs[count] if count < len(codes) else None))
        return found

    def state(self) -> tuple[dict[str, Any], dict[str, Floats]]:
        """What JSON holds, and arrays."""
        described = {"classes": list(self.classes), "threshold": self.threshold, "record": self.record}
        return described, {"weight": self.weight, "bias": self.bias}

    @classmethod
    def restore(cls, described: Any, arrays: dict[str, Floats]) -> Self:
        """The classifier of a checked state."""
        threshold = described["threshold"]
        return cls(tuple(described["classes"]), arrays["weight"], arrays["bias"], threshold, described["record"])


def probabilities_of(scores: npt.NDArray[np.float64], *, several: bool) -> npt.NDArray[np.float64]:
    """Probabilities from scores (count, classes): each on its own, or those of one choice."""
    if several:
        return np.asarray(np.exp(-np.logaddexp(0, -scores)))
    return np.asarray(np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)))


def label_counts(likely: npt.NDArray[np.float64], threshold: float | None) -> npt.NDArray[np.int64]:
    """How many labels each node gets: those at least as likely as the threshold, and never none."""
    if threshold is None:
        return np.ones(len(likely), np.int64)
    return np.maximum((likely >= threshold).sum(axis=1), 1)


def given_labels(likely: npt.NDArray[np.float64], threshold: float | None) -> npt.NDArray[np.bool_]:
    """Which labels each node gets, (count, classes)."""
    rank = np.argsort(np.argsort(-likely, axis=1, kind="stable"), axis=1)
    return np.asarray(rank < label_counts(likely, threshold)[:, None])


def check_state(described: Any, shapes: Shapes, dim: int) -> None:
    """A ValueError for a state that is no classifier of vectors of size `dim`; only the shapes of arrays are needed."""
    if not isinstance(described, dict) or described.keys() != {"classes", "threshold", "record"}:
        raise ValueError("classes, threshold and record are expected in classifier.json")
    classes, threshold = described["classes"], described["threshold"]
    if not _is_distinct(classes) or not isinstance(described["record"], dict):
        raise ValueError("two or more different classes are expected in classifier.json")
    if threshold is not None and not (isinstance(threshold, float) and 0 < threshold < 1):
        raise ValueError("the threshold in classifier.json is no probability")
    check_shapes(shapes, {"weight": (dim, len(classes)), "bias": (len(classes),)})


def _is_distinct(classes: Any) -> bool:
    if not isinstance(classes, list) or not all(type(label) in (str, int) for label in classes):
        return False
    return len(set(classes)) == len(classes) >= 2


def shown_labels(labels: Sequence[Label], most: int = 5) -> str:
    """The first of some labels, as a message names them."""
    return ", ".join(repr(label) for label in labels[:most]) + (", ..." if len(labels) > most else "")
