"""Maps are drawn in every format, without touching matplotlib's global state."""

import logging
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sanne.draw import plot
from sanne.draw.plot import PALETTE, check_picture, map_points, plot_map
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


def test_page_needs_no_network_and_names_every_node(tmp_path: Path) -> None:
    path = tmp_path / "map.html"
    ids = [f"paper-{i}" for i in range(59)] + ["<script>alert(1)</script>"]
    names = np.array(["theory", "a & b", "learning"])[LABELS]
    plot_map(VECTORS, names, path, method="pca", new=np.arange(60) < 5, node_ids=ids, title="<i>T</i>")
    text = path.read_text()
    assert len(text) > 1_000_000
    assert not re.search(r"<script[^>]*\ssrc=", text)
    assert all(name in text for name in (*ids[:59], "theory", "learning", "new node", "60 nodes"))
    assert "<script>alert(1)" not in text
    assert "lt;script" in text  # a page would else take an id for markup
    assert "<i>T" not in text


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


def drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, vectors: Any, labels: Any, **settings: Any) -> plot._Map:
    """What would be drawn."""
    maps: list[plot._Map] = []

    def keep(picture: plot._Map, path: Path) -> None:
        path.touch()
        maps.append(picture)

    monkeypatch.setattr(plot, "_draw_picture", keep)
    plot_map(vectors, labels, tmp_path / "map.png", **settings)
    return maps[0]


def test_subtitle_counts_and_colours_follow_labels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    labels = LABELS.copy()
    labels[:4] = -1
    picture = drawn(monkeypatch, tmp_path, VECTORS, labels, method="pca", new=np.arange(60) < 7)
    assert picture.subtitle == "60 nodes · 3 labels · 7 new nodes, ringed · PCA"
    assert picture.classes == ["0", "1", "2"]
    assert set(picture.colours[:4]) == {plot.NO_LABEL}
    assert picture.colours[10] == PALETTE[labels[10]]
    assert picture.has_legend


def test_classes_sort_as_numbers_and_too_many_have_no_legend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    picture = drawn(monkeypatch, tmp_path, VECTORS, np.arange(60) % 15, method="pca")
    assert picture.classes == [str(i) for i in range(15)]
    assert len(set(picture.colours)) == 15
    assert not picture.has_legend


def test_without_labels_one_colour(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    picture = drawn(monkeypatch, tmp_path, VECTORS[:5], None, method="auto")
    assert set(picture.colours) == {plot.PLAIN}
    assert picture.subtitle == "5 nodes · PCA"  # too few for t-SNE


def test_auto_is_tsne_while_that_is_quick(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert drawn(monkeypatch, tmp_path, VECTORS, LABELS).subtitle.endswith("t-SNE")
    monkeypatch.setattr(plot, "_TSNE_AT_MOST", 50)
    with caplog.at_level(logging.INFO):
        assert drawn(monkeypatch, tmp_path, VECTORS, LABELS).subtitle.endswith("PCA")
    assert "takes long" in caplog.text


def test_odd_names_do_not_upset_the_legend(tmp_path: Path) -> None:
    names = np.array(["_hidden", r"$\nonsense$", "n" * 80])[LABELS]
    plot_map(VECTORS, names, tmp_path / "map.svg", method="pca", title=r"10$ or \$20$")
    assert (tmp_path / "map.svg").stat().st_size > 5_000
    assert plot._short("_hidden") == " _hidden"
    assert len(plot._short("n" * 80)) == 24


def hide(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    for name in [package, *(name for name in sys.modules if name.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.parametrize(("package", "ending"), [("matplotlib", ".png"), ("plotly", ".html")])
def test_missing_extra_names_the_install_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, package: str, ending: str
) -> None:
    hide(monkeypatch, package)
    with pytest.raises(MissingExtraError, match=rf"{package}: pip install 'sanne\[plot\]'"):
        check_picture(tmp_path / f"map{ending}")


def test_missing_tsne_falls_back_only_when_not_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hide(monkeypatch, "openTSNE")
    assert drawn(monkeypatch, tmp_path, VECTORS, LABELS).subtitle.endswith("PCA")
    with pytest.raises(MissingExtraError, match="openTSNE"):
        plot_map(VECTORS, LABELS, tmp_path / "map.png", method="tsne")


def test_bad_input_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown ending '\.gif'"):
        check_picture(tmp_path / "map.gif")
    with pytest.raises(InputError, match="mkdir -p"):
        check_picture(tmp_path / "no" / "map.png")
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
