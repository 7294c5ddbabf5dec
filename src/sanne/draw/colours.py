"""Colours of the points of a map: classes, the largest with their own colours, or numbers on a scale."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sanne.evaluate.splits import has_label
from sanne.vectors.normalise import unit

Codes = npt.NDArray[np.uint16]

# Each pair is one hue, for a light and a dark background; as distinguishable as so many can be with any colour vision.
_PAIRS = (
    ("#0072B2", "#4C9BE8"), ("#E69F00", "#FFB227"), ("#009E73", "#2BC48A"), ("#CC79A7", "#F29CD0"),
    ("#56B4E9", "#9AD8FF"), ("#D55E00", "#FF7A2E"), ("#B5A400", "#E8DC6A"), ("#332288", "#8F7BEA"),
    ("#AA4466", "#E8718F"), ("#7A5C3E", "#C19A6B"), ("#88B04B", "#B6DD6C"), ("#117A8B", "#3FB8C8"),
    ("#8E63CE", "#C49BFF"), ("#E23B4E", "#FF6B78"), ("#1B5E20", "#5FA85F"), ("#E7A39A", "#FFD0C8"),
    ("#00BFAE", "#6FF0E0"), ("#5B1A75", "#A56CE0"),
)  # fmt: skip
PALETTE = tuple(light for light, _ in _PAIRS)
OTHER, OTHER_DARK = "#A9ADB4", "#6A707A"  # classes without a colour of their own
PLAIN, NO_LABEL, INK, SOFT_INK, PAPER = PALETTE[0], "#C9CDD2", "#1F2430", "#5A6270", "#FFFFFF"
NO_COLOUR = 2**16 - 1
STEPS = 64  # colours on the scale of numbers
CLASSES_AT_MOST = 200  # in a legend; rarer ones have no colour
_STOPS = np.array([(68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37)])  # viridis
_NONE: Codes = np.zeros(0, np.uint16)
_FEW = 20  # integers with more distinct values than this are a scale, not classes


def _shades(stops: npt.NDArray[np.int64]) -> tuple[str, ...]:
    """`STEPS` colours from the first of these stops to the last."""
    places = np.linspace(0, len(stops) - 1, STEPS)
    channels = np.stack([np.interp(places, np.arange(len(stops)), channel) for channel in stops.T], axis=1).astype(int)
    return tuple(f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in channels.tolist())


# Without the end that could hardly be seen on that paper.
_LIGHT_SHADES, _DARK_SHADES = _shades(_STOPS[:-1]), _shades(_STOPS[1:])


@dataclass(frozen=True, eq=False)
class Colouring:
    """One way to colour the points. `codes` are indices into `classes`, or steps on a scale from `low` to `high`."""

    title: str
    kind: Literal["class", "number"]
    codes: Codes  # (points,); NO_COLOUR for none
    classes: tuple[str, ...] = ()  # the largest first
    low: float = 0.0
    high: float = 0.0
    light: tuple[str, ...] = ()  # a colour for each class, as far as there are enough, or for each step
    dark: tuple[str, ...] = ()

    def hexes(self) -> npt.NDArray[Any]:
        """The colour of every point on light paper."""
        grey = NO_LABEL if self.classes or self.kind == "number" else PLAIN
        table = [*self.light, *[OTHER] * (len(self.classes) - len(self.light)), grey]
        return np.array(table)[np.minimum(self.codes, len(table) - 1)]

    def encode(self, values: Any) -> Codes:
        """The codes of values, given as numbers or class names; NO_COLOUR for unknown ones."""
        codes = np.full(len(values), NO_COLOUR, np.uint16)
        if self.kind == "number":
            numbers = np.asarray(values, np.float64)
            known = np.isfinite(numbers)
            steps = (numbers[known] - self.low) / max(self.high - self.low, 1e-12) * STEPS
            codes[known] = np.clip(steps, 0, STEPS - 1).astype(np.uint16)
        else:
            code_of = {name: code for code, name in enumerate(self.classes)}
            codes[:] = [code_of.get(str(value), NO_COLOUR) for value in values]
        return codes

    def described(self) -> dict[str, Any]:
        """All but the codes, ready for JSON."""
        names = ("title", "kind", "classes", "low", "high", "light", "dark")
        return {name: getattr(self, name) for name in names}


def colour_by(title: str, values: Any, vectors: npt.NDArray[Any] | None = None, *, scale: bool = True) -> Colouring:
    """Numbers with many values as a scale, anything else as classes; None, NaN, "" and -1 have no colour.

    With `vectors`, classes whose vectors are alike get colours that are not. Without `scale`, numbers are classes too.
    """
    column = np.asarray(values)
    numbers = _numbers(column) if scale else None
    if numbers is not None:
        known = numbers[
            np.isfinite(numbers)
        ]  # from percentiles, since a few outliers would squeeze the others together
        low, high = np.percentile(known, (1, 99)).tolist() if len(known) else (0.0, 0.0)
        found = Colouring(title, "number", _NONE, low=low, high=high, light=_LIGHT_SHADES, dark=_DARK_SHADES)
        return replace(found, codes=found.encode(numbers))
    given = np.asarray(has_label(column.tolist()), bool)
    sizes = Counter(str(value) for value in column[given].tolist())
    ranked = sorted(sizes, key=lambda name: (-sizes[name], _sort_key(name)))[:CLASSES_AT_MOST]
    found = Colouring(title, "class", _NONE, tuple(ranked))
    codes = np.where(given, found.encode(column.tolist()), NO_COLOUR).astype(np.uint16)
    order = _spread(codes, min(len(ranked), len(PALETTE)), vectors)
    light, dark = (tuple(_PAIRS[k][side] for k in order) for side in (0, 1))
    return replace(found, codes=codes, light=light, dark=dark)


def plain(count: int) -> Colouring:
    """All points in one colour."""
    return Colouring("", "class", np.full(count, NO_COLOUR, np.uint16))


def _numbers(column: npt.NDArray[Any]) -> npt.NDArray[np.float64] | None:
    """The values of a column that is a scale, NaN where there is none; None for classes."""
    if column.dtype.kind == "f":
        return column.astype(np.float64)
    try:
        numbers = np.array([np.nan if value in ("", None) else float(value) for value in column.tolist()])
    except (TypeError, ValueError):
        return None
    if column.dtype.kind in "iu":
        numbers[numbers == -1] = np.nan  # how tables of integers spell a missing value
    return numbers if len(np.unique(numbers[np.isfinite(numbers)])) > _FEW else None


def _spread(codes: Codes, count: int, vectors: npt.NDArray[Any] | None) -> list[int]:
    """A palette index for each class, the largest first: far from the colours of similar classes."""
    if vectors is None or count < 3:
        return list(range(count))
    means = np.array([vectors[codes == code].mean(axis=0, dtype=np.float64) for code in range(count)])
    alike = np.exp(4 * unit(means - means.mean(axis=0)) @ unit(means - means.mean(axis=0)).T)
    colours = np.array([[int(light[at : at + 2], 16) for at in (1, 3, 5)] for light in PALETTE]) / 255
    apart = np.linalg.norm(
        (colours[:, None] - colours) * (0.55, 0.77, 0.33), axis=2
    )  # perceptual weights of the channels
    order: list[int] = []
    for code in range(count):
        free = [k for k in range(len(PALETTE)) if k not in order][: count - len(order) + 2]
        nearness = [sum(alike[code, other] / (0.05 + apart[k, used]) for other, used in enumerate(order)) for k in free]
        order.append(free[int(np.argmin(nearness))])
    return order


def _sort_key(name: str) -> tuple[bool, float, str]:
    """Sorts numbers by value, then words."""
    try:
        return False, float(name), name
    except ValueError:
        return True, 0.0, name
