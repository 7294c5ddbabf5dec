"""What points are coloured by: the largest classes apart, the rest in one grey, numbers on a scale."""

import numpy as np
import pytest

from sanne.draw.colours import NO_COLOUR, NO_LABEL, OTHER, PALETTE, PLAIN, STEPS, colour_by, plain


def test_the_largest_classes_have_colours_of_their_own_and_the_rest_share_a_grey() -> None:
    names = [f"class {k}" for k in range(40) for _ in range(50 - k)]
    colouring = colour_by("section", names)
    assert colouring.classes[:3] == ("class 0", "class 1", "class 2")
    shades = colouring.hexes()
    own = {name: set(shades[np.array(names) == name]) for name in colouring.classes}
    assert {len(colours) for colours in own.values()} == {1}
    assert len({next(iter(own[name])) for name in colouring.classes[: len(PALETTE)]}) == len(PALETTE)
    assert all(own[name] == {OTHER} for name in colouring.classes[len(PALETTE) :])


def test_classes_of_one_size_sort_as_numbers_and_gaps_have_no_colour() -> None:
    colouring = colour_by("label", np.array([10, 9, -1, 2] * 3))
    assert colouring.classes == ("2", "9", "10")
    names = [None if code == NO_COLOUR else colouring.classes[code] for code in colouring.codes]
    assert names == ["10", "9", None, "2"] * 3
    words = colour_by("label", np.array(["b", "", "a", None] * 3, object))
    assert words.classes == ("a", "b")
    assert set(words.hexes()[1::2]) == {NO_LABEL}
    assert colour_by("label", np.full(12, -1)).classes == ()
    assert set(plain(4).hexes()) == {PLAIN}


def test_classes_that_are_alike_get_colours_that_are_not() -> None:
    stream = np.random.default_rng(0)
    codes = np.repeat(np.arange(12), 30)
    groups = stream.normal(size=(4, 16))  # three classes each
    vectors = groups[codes // 3] + 0.3 * stream.normal(size=(12, 16))[codes] + 0.1 * stream.normal(size=(360, 16))

    def closest_in_group(light: tuple[str, ...], classes: tuple[str, ...]) -> float:
        rgb = {name: np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)])
               for name, colour in zip(classes, light, strict=True)}  # fmt: skip
        return min(
            float(np.linalg.norm(rgb[str(3 * group + i)] - rgb[str(3 * group + j)]))
            for group in range(4)
            for i in range(3)
            for j in range(i)
        )

    spread, listed = colour_by("label", codes, vectors), colour_by("label", codes)
    assert closest_in_group(spread.light, spread.classes) > closest_in_group(listed.light, listed.classes)
    assert closest_in_group(spread.light, spread.classes) > 100


@pytest.mark.parametrize(("side", "papers"), [("light", ("#FFFFFF", "#fcfcfa")), ("dark", ("#15171c",))])
def test_every_shade_of_a_scale_can_be_seen_on_its_paper(side: str, papers: tuple[str, ...]) -> None:
    shades = getattr(colour_by("age", np.linspace(0, 1, 300)), side)
    assert len(set(shades)) == STEPS
    assert min(contrast(shade, paper) for shade in shades for paper in papers) > 2


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours, as WCAG defines it."""

    def luminance(colour: str) -> float:
        parts = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ (0.2126, 0.7152, 0.0722))

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_numbers_are_a_scale_that_a_few_extremes_do_not_squeeze() -> None:
    values = np.concatenate([np.linspace(2, 3, 300), [1e9, np.nan]])
    colouring = colour_by("age", values)
    assert colouring.kind == "number"
    assert colouring.low == pytest.approx(2, abs=0.02)
    assert colouring.high == pytest.approx(3, abs=0.02)
    codes = colouring.codes[:300].astype(int)
    assert (np.diff(codes) >= 0).all()
    assert set(codes) == set(range(STEPS))
    assert colouring.codes[300] == STEPS - 1
    assert colouring.codes[301] == NO_COLOUR
    assert colour_by("year", np.array(["1990", "", *map(str, range(1991, 2020))])).kind == "number"
    assert colour_by("topic", np.arange(60) % 15).kind == "class"
    constant = colour_by("same", np.full(5, 0.5))
    assert len(set(constant.codes.tolist())) == 1
