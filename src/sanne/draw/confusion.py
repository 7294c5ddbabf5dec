"""A picture of which classes are mistaken for which."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sanne.draw.colours import INK, PAPER, SOFT_INK
from sanne.draw.image import PICTURES, matplotlib_figure
from sanne.errors import InputError, import_extra
from sanne.files.atomic import check_target, replaced_file

_MOST = 30  # classes with a row of their own; the others share one
_WRITTEN = 15  # with more rows than this, shares are not written into the squares


def check_confusion(path: Path) -> None:
    """Refuse a file that `plot_confusion` could not write; call it before any long work."""
    if path.suffix.lower() not in PICTURES:
        raise InputError(f"cannot draw {path}: unknown ending {path.suffix!r}; use one of {', '.join(PICTURES)}")
    check_target(path)
    matplotlib_figure()


def plot_confusion(counts: npt.ArrayLike, names: Sequence[Any], path: Path) -> None:
    """Draw counts (true classes, predicted classes) as shares of each true class, the commonest class first."""
    check_confusion(path)
    shares, labels = _shares(np.asarray(counts), [str(name) for name in names])
    size = 2.6 + 0.32 * max(len(labels), 6)
    figure = matplotlib_figure()(figsize=(size + 1.2, size), dpi=160, facecolor=PAPER, layout="constrained")
    axes = figure.add_subplot()
    roots = import_extra("matplotlib.colors", "plot", "a picture", "matplotlib").PowerNorm(0.5, 0, 100)
    picture = axes.imshow(shares, cmap="Blues", norm=roots)  # so that a few percent of mistakes are seen
    axes.set_xticks(range(len(labels)), labels, rotation=90, color=INK, fontsize=8)
    axes.set_yticks(range(len(labels)), labels, color=INK, fontsize=8)
    axes.set_xlabel("predicted class", color=SOFT_INK)
    axes.set_ylabel("true class", color=SOFT_INK)
    if len(labels) <= _WRITTEN:
        for row, column in zip(*np.nonzero(shares >= 0.5), strict=True):
            colour = PAPER if shares[row, column] > 35 else INK
            axes.text(column, row, f"{shares[row, column]:.0f}", ha="center", va="center", color=colour, fontsize=8)
    figure.colorbar(picture, shrink=0.7, label="% of the true class")
    with replaced_file(path) as part:
        figure.savefig(part, format=path.suffix[1:].lower())


def _shares(counts: npt.NDArray[Any], names: list[str]) -> tuple[npt.NDArray[np.float64], list[str]]:
    """Percent of every true class, commonest first; rare classes are one, `other`, if there are many."""
    order = np.argsort(-counts.sum(axis=1), kind="stable")
    counts, names = counts[order][:, order], [names[k] for k in order]
    if len(names) > _MOST:
        group = np.minimum(np.arange(len(names)), _MOST - 1)[:, None] == np.arange(_MOST)
        counts = group.T.astype(np.int64) @ counts @ group
        names = [*names[: _MOST - 1], f"{len(names) - _MOST + 1} others"]
    return 100 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1), names
