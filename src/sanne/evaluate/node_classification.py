"""Node classification from vectors on given splits: logistic regression as in the paper."""

from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sanne.errors import InputError
from sanne.evaluate.logistic import regressions
from sanne.evaluate.splits import IntArray, Splits, has_label, seeded_splits
from sanne.model.classifier import shown_labels
from sanne.progress import steps

_PATIENCE = 4  # values of C that do worse on validation, before larger ones are given up


@dataclass(frozen=True)
class SplitScore:
    """Accuracies on one split, in percent, at the C that validation chose."""

    val: float
    test: float
    C: float


def classify_split(
    vectors: npt.NDArray[Any], labels: npt.NDArray[Any], train: IntArray, val: IntArray, test: IntArray
) -> tuple[SplitScore, npt.NDArray[Any]]:
    """Fit on the train nodes, choose C by accuracy on the val nodes (the smaller of equals), score the test nodes.

    `vectors` is (n, dim), `labels` is (n,), the rest are node indices. With the labels that the test nodes got.
    """
    classes = np.unique(labels[train])
    best, best_C, waited, answer = -1.0, 0.0, 0, labels[:0]
    for C, linear in regressions(vectors[train], labels[train, None] == classes):
        found = percent((classes[linear.scores(vectors[val]).argmax(axis=1)] == labels[val]).mean())
        waited = waited + 1 if found < best else 0
        if found > best:
            best, best_C, answer = found, C, classes[linear.scores(vectors[test]).argmax(axis=1)]
        if waited == _PATIENCE or best == 100:
            break
    return SplitScore(best, percent((answer == labels[test]).mean()), best_C), answer


def percent(share: Any) -> float:
    return round(100 * float(share), 6)


@dataclass(frozen=True, eq=False)
class ClassTask:
    """Classes of nodes, and splits on which the vectors of any system are judged alike."""

    names: list[Any]  # of the classes
    codes: IntArray  # the class of each node; -1: none
    splits: Splits
    left_out: list[Any]  # classes with too few nodes

    @classmethod
    def of(
        cls,
        labels: npt.NDArray[Any],
        *,
        share: float | None = None,
        new: npt.NDArray[np.bool_] | None = None,
        seed: int = 0,
    ) -> Self:
        """Ten splits: 20 train nodes a class, 1000 to choose C and 1000 to test on, as far as there are so many.

        With `share`, train nodes are that share of every class, as many choose C, and the rest is tested on. Nodes that
        are `new` are all tested on, and nothing else is.
        """
        if labels.ndim != 1:
            raise InputError("several labels a node: sanne evaluate and compare take one; sanne predict takes several")
        known = has_label(labels)
        names, codes = np.unique(labels[known], return_inverse=True)
        found = np.full(len(labels), -1, np.int64)
        found[known] = codes
        present = found.copy()
        if new is not None:
            present[new] = -1
        rare = np.bincount(present[present >= 0], minlength=len(names)) < 2
        if (~rare).sum() < 2:
            there = f"these have a single one: {shown_labels(names[rare].tolist())}"
            if len(names) < 2:
                there = f"all labels are {names.tolist()[0]!r}" if len(names) else "no node has a label"
            raise InputError(f"a split needs two classes of two nodes or more, but {there}; label more nodes")
        present[rare[present] & (present >= 0)] = -1
        count = int((present >= 0).sum())
        choose = 1000 if share is None else max(1, round(min(share, (1 - share) / 2) * count))
        tested = 0 if new is not None else 1000 if share is None else max(1, round((1 - share) * count) - choose)
        splits = seeded_splits(present, seed, 10, share or 20, choose, tested)
        if new is not None:
            arrived = np.flatnonzero(new & known)
            splits = Splits(splits.train, splits.val, np.tile(arrived, (len(splits), 1)), splits.source)
        if not (splits.val.size and splits.test.size):
            raise InputError(
                f"{int(known.sum())} labelled nodes are too few to train, to choose C and to test on: "
                + ("label more nodes" if share is None else "label more nodes, or give a smaller --label-share")
            )
        return cls(names.tolist(), found, splits, names[rare].tolist())

    def score(self, vectors: npt.NDArray[Any], *, progress: bool | None = False) -> dict[str, Any]:
        """Mean, deviation and validation accuracy over the splits, each split, and a confusion matrix of them all."""
        confusion = np.zeros((len(self.names), len(self.names)), np.int64)
        scores = []
        parts = list(zip(self.splits.train, self.splits.val, self.splits.test, strict=True))
        for train, val, test in steps(parts, of="classifying", unit="split", shown=progress):
            score, given = classify_split(vectors, self.codes, train, val, test)
            np.add.at(confusion, (self.codes[test], given), 1)
            scores.append(score)
        validation = round(float(np.mean([score.val for score in scores])), 2)
        splits = [asdict(score) for score in scores]
        tests = spread([score.test for score in scores])
        return tests | {"validation": validation, "splits": splits, "confusion": confusion}

    def commonest(self) -> dict[str, float]:
        """What the commonest class alone would get."""
        label = np.bincount(self.codes[self.codes >= 0]).argmax()
        return spread([percent((self.codes[test] == label).mean()) for test in self.splits.test])

    def by_class(self, confusion: IntArray) -> list[dict[str, Any]]:
        """Labels with how many nodes have them, precision and recall in percent, the commonest first."""
        right, given, true = confusion.diagonal(), confusion.sum(axis=0), confusion.sum(axis=1)
        sizes = np.bincount(self.codes[self.codes >= 0], minlength=len(self.names))
        return [
            {
                "label": self.names[k],
                "nodes": int(sizes[k]),
                "precision": round(100 * int(right[k]) / int(given[k]), 2) if given[k] else None,
                "recall": round(100 * int(right[k]) / int(true[k]), 2) if true[k] else None,
            }
            for k in np.argsort(-sizes, kind="stable")
        ]

    def described(self) -> dict[str, Any]:
        """How many nodes each part of a split has, and classes."""
        sizes = {name: getattr(self.splits, name).shape[1] for name in ("train", "val", "test")}
        return {"num_splits": len(self.splits), **sizes, "num_classes": len(self.names), "left_out": self.left_out}


def spread(values: list[float]) -> dict[str, float]:
    """Mean and standard deviation."""
    return {"mean": round(float(np.mean(values)), 2), "std": round(float(np.std(values)), 2)}
