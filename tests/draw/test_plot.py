"""Maps are drawn in every format, without touching matplotlib's global state."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sanne.draw import image, plot, reduce
from sanne.draw.colours import NO_LABEL, OTHER, PALETTE, PLAIN
from sanne.draw.image import MAPS, check_picture, legend_entries
from sanne.draw.picture import MapPicture
from sanne.draw.plot import map_points, plot_map
from sanne.errors import InputError, MissingExtraError

RANDOM = np.random.default_rng(0)
LABELS = RANDOM.integers(3, size=60)
VECTORS = 4 * np.eye(8)[LABELS] + RANDOM.normal(size=(60, 8))
STARTS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF", ".html": b"<!doctype html"}


@pytest.mark.parametrize("ending", STARTS)
def test_every_format_is_written_whole(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"map{ending}"
    had_pyplot = "matplotlib.pyplot" in sys.modules
    plot_map(VECTORS, LABELS, path, method="pca", new=LABELS == 1, title="A map")
    content = path.read_bytes()
    assert content.lstrip().lower().startswith(STARTS[ending].lower())
    assert len(content) > 5_000
    assert [item.name for item in tmp_path.iterdir()] == [path.name]
    assert ("matplotlib.pyplot" in sys.modules) == had_pyplot


def test_tsne_keeps_clusters_apart_and_is_repeatable() -> None:
    points = map_points(VECTORS, "tsne", seed=1)
    np.testing.assert_array_equal(points, map_points(VECTORS, "tsne", seed=1))
    np.testing.assert_array_equal(points, map_points(VECTORS * 8, "tsne", seed=1))
    centres = np.array([points[k == LABELS].mean(axis=0) for k in range(3)])
    nearest = np.linalg.norm(points[:, None] - centres, axis=2).argmin(axis=1)
    assert (nearest == LABELS).mean() > 0.9


def test_pca_puts_the_widest_axis_first() -> None:
    points = map_points(VECTORS, "pca")
    assert points.shape == (60, 2)
    assert points[:, 0].std() > points[:, 1].std() > 0
    assert map_points(np.array([[1.0], [2.0]]), "pca").shape == (2, 2)
    assert np.ptp(map_points(np.ones((20, 3)), "tsne")) < 1e-9


def drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, vectors: Any, labels: Any, **settings: Any) -> MapPicture:
    """What would be drawn."""
    maps: list[MapPicture] = []

    def keep(picture: MapPicture, path: Path) -> None:
        path.touch()
        maps.append(picture)

    monkeypatch.setattr(plot, "draw_picture", keep)
    plot_map(vectors, labels, tmp_path / "map.png", **settings)
    return maps[0]


def test_subtitle_counts_and_colours_follow_labels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    labels = LABELS.copy()
    labels[:4] = -1
    picture = drawn(monkeypatch, tmp_path, VECTORS, labels, method="pca", new=np.arange(60) < 7)
    assert picture.subtitle == "60 nodes · 3 labels · 7 new nodes, ringed · PCA"
    shades = dict(zip(picture.ids, picture.colourings[0].hexes(), strict=True))
    assert {shades[row] for row in range(4)} == {NO_LABEL}
    entries = dict(legend_entries(picture))
    assert list(entries) == ["1", "2", "0", "no label"]  # the commonest first
    assert all(shades[row] == entries[str(labels[row])] for row in range(4, 60))


def test_any_number_of_classes_has_a_legend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    picture = drawn(monkeypatch, tmp_path, VECTORS, np.arange(60) % 30, method="pca")
    entries = legend_entries(picture)
    assert len(entries) == len(PALETTE) + 1
    assert entries[-1] == (f"other ({30 - len(PALETTE)} classes)", OTHER)


def test_without_labels_communities_are_coloured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    picture = drawn(monkeypatch, tmp_path, VECTORS, None, method="auto", node_ids=[f"n{i}" for i in range(60)])
    assert picture.colourings[0].title == "community"
    assert len(picture.colourings[0].classes) > 1
    assert picture.subtitle == "60 nodes · coloured by community · t-SNE"
    few = drawn(monkeypatch, tmp_path, VECTORS[:5], None)
    assert few.subtitle == "5 nodes · PCA"  # too few for t-SNE, and for communities
    assert set(few.colourings[0].hexes()) == {PLAIN}


def test_any_column_is_coloured_by(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    columns = {"uncertainty": RANDOM.random(60), "kind": ["a", "b"] * 30}
    for color, count in (("uncertainty", 0), ("kind", 2), ("community", None), ("label", 3)):
        picture = drawn(monkeypatch, tmp_path, VECTORS, LABELS, color=color, columns=columns, method="pca")
        assert picture.colourings[0].title == color
        assert {colouring.title for colouring in picture.colourings} == {"label", "uncertainty", "kind", "community"}
        if count is not None:
            assert len(legend_entries(picture)) == count
    with pytest.raises(
        InputError, match="no column 'flavour' to colour by; choose one of label, uncertainty, kind, com"
    ):
        plot_map(VECTORS, LABELS, tmp_path / "map.png", color="flavour", columns=columns)


def test_predicted_labels_have_the_colours_of_labels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    predicted = np.where(LABELS == 2, 0, LABELS)  # other sizes, and a class that is never predicted
    picture = drawn(monkeypatch, tmp_path, VECTORS, LABELS, columns={"predicted label": predicted}, method="pca")
    colour_of = [dict(zip(one.classes, one.light, strict=True)) for one in picture.colourings[:2]]
    assert [one.title for one in picture.colourings[:2]] == ["label", "predicted label"]
    assert colour_of[0] == colour_of[1]
    assert (picture.colourings[0].hexes() == picture.colourings[1].hexes()).sum() == (LABELS != 2).sum()


def test_a_column_without_values_is_refused_before_the_map_is_laid_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(plot, "_points", None)
    columns = {"uncertainty": np.full(60, np.nan)}
    with pytest.raises(InputError, match="no node has a value in the column 'uncertainty'"):
        plot_map(VECTORS, LABELS, tmp_path / "map.png", color="uncertainty", columns=columns, method="pca")


def test_so_few_nodes_that_have_no_communities_are_not_coloured_by_them(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no communities were found"):
        plot_map(VECTORS[:20], None, tmp_path / "map.png", color="community", method="pca")


def test_names_of_regions_do_not_overlap_in_a_picture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figures: list[Any] = []
    real = image.matplotlib_figure()

    def keep(*arguments: Any, **settings: Any) -> Any:
        figures.append(real(*arguments, **settings))
        return figures[-1]

    monkeypatch.setattr(image, "matplotlib_figure", lambda: keep)
    texts = [f"{['bread oven', 'bees hive', 'stars comet'][label]} number{i % 7}" for i, label in enumerate(LABELS)]
    plot_map(VECTORS, LABELS, tmp_path / "map.png", texts=texts)
    (figure,) = figures
    written = [word for word in figure.axes[0].texts if word.get_text()]
    assert len(written) >= 3
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [word.get_window_extent(renderer) for word in written]
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])
    plot_map(VECTORS, LABELS, tmp_path / "map.png", texts=texts, regions=False)
    assert not [word for word in figures[1].axes[0].texts if word.get_text()]


def test_very_many_nodes_are_placed_among_a_sample_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = np.tile(np.arange(3), 200)
    vectors = 4 * np.eye(8)[labels] + np.random.default_rng(1).normal(size=(600, 8))
    monkeypatch.setattr(reduce, "FITTED_AT_MOST", 150)
    points = map_points(vectors, "tsne")
    near = np.linalg.norm(points[150:, None] - points[:150], axis=2).argmin(axis=1)
    assert (labels[near] == labels[150:]).mean() > 0.9


def test_nearest_rows_are_found_part_by_part_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = np.random.default_rng(0)
    reference, rows = stream.normal(size=(3000, 3)), stream.normal(size=(400, 3))
    exact, exact_distances = reduce.nearest(reference, rows, 5)
    slow = np.linalg.norm(rows[:, None] - reference, axis=2)
    np.testing.assert_array_equal(exact, slow.argsort(axis=1)[:, :5])
    np.testing.assert_allclose(exact_distances, np.sort(slow, axis=1)[:, :5], atol=1e-4)
    monkeypatch.setattr(reduce, "_MANY", 100)
    monkeypatch.setattr(reduce, "_CELL", 50)
    some, distances = reduce.nearest(reference, rows, 5)
    assert np.mean([len(set(a) & set(b)) / 5 for a, b in zip(exact, some, strict=True)]) > 0.9
    np.testing.assert_allclose(distances, np.take_along_axis(slow, some, 1), atol=1e-4)


def test_odd_names_do_not_upset_the_legend(tmp_path: Path) -> None:
    names = np.array(["_hidden", r"$\nonsense$", "n" * 80])[LABELS]
    plot_map(VECTORS, names, tmp_path / "map.svg", method="pca", title=r"10$ or \$20$")
    assert (tmp_path / "map.svg").stat().st_size > 5_000
    assert image._short("_hidden") == " _hidden"
    assert len(image._short("n" * 80)) == 24


def hide(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    for name in [package, *(name for name in sys.modules if name.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, name, None)


def test_a_picture_names_the_missing_extra_and_a_page_needs_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hide(monkeypatch, "matplotlib")
    hide(monkeypatch, "openTSNE")
    with pytest.raises(MissingExtraError, match=r"matplotlib: pip install 'sanne\[plot\]'"):
        check_picture(tmp_path / "map.png", MAPS)
    plot_map(VECTORS, LABELS, tmp_path / "map.html")
    assert (tmp_path / "map.html").stat().st_size > 5_000


def test_missing_tsne_falls_back_only_when_not_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hide(monkeypatch, "openTSNE")
    assert drawn(monkeypatch, tmp_path, VECTORS, LABELS).subtitle.endswith("PCA")
    with pytest.raises(MissingExtraError, match="openTSNE"):
        plot_map(VECTORS, LABELS, tmp_path / "map.png", method="tsne")


def test_bad_input_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown ending '\.gif'"):
        check_picture(tmp_path / "map.gif", MAPS)
    with pytest.raises(InputError, match="mkdir -p"):
        check_picture(tmp_path / "no" / "map.png", MAPS)
    for bad, text in (
        ({"vectors": VECTORS * np.nan}, "finite"),
        ({"labels": LABELS[:3]}, "60 vectors but 3 labels"),
        ({"new": [True]}, "60 vectors but 1 new"),
        ({"method": "umap"}, "unknown method 'umap'"),
    ):
        arguments: dict[str, Any] = {"vectors": VECTORS, "labels": LABELS, "path": tmp_path / "map.png"}
        with pytest.raises(InputError, match=text):
            plot_map(**(arguments | bad))
    assert list(tmp_path.iterdir()) == []
