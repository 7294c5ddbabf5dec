"""Exported vectors are read back by the tools they are for, as docs/export.md says."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import faiss
import gensim.models
import lancedb  # noqa: F401 (before a test makes it see the folder tests/datasets as the package datasets)
import numpy as np
import pandas as pd
import polars as pl
import pytest

from planted import TINY, TRAINED, planted_graph
from sanne.errors import InputError, MissingExtraError, ModelFolderError
from sanne.estimator import SANNE
from sanne.graph.graph import Graph
from sanne.vectors.formats import export_vectors

FILES = {
    "parquet": "vectors.parquet",
    "npy": "vectors.npy",
    "word2vec": "vectors.txt",
    "faiss": "vectors.faiss",
}
DOCS = Path(__file__).parents[2] / "docs" / "export.md"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> SANNE:
    return SANNE(settings=TINY).fit(planted_graph(ids="paper-"))


@pytest.fixture(scope="module")
def folder(model: SANNE, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder, and beside it every export."""
    place = tmp_path_factory.mktemp("export")
    model.save(place / "model")
    for target, name in FILES.items():
        assert export_vectors(place / "model", target, place / name) == model.embedding_.shape
    return place


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


def test_pandas_polars_and_duckdb_read_the_parquet_file(folder: Path, model: SANNE) -> None:
    path = str(folder / "vectors.parquet")
    frame = pd.read_parquet(path)
    assert frame["id"].tolist() == model.node_ids_.tolist()
    np.testing.assert_array_equal(np.stack(frame["embedding"]), model.embedding_)
    table = pl.read_parquet(path)
    np.testing.assert_array_equal(table["embedding"].to_numpy(), model.embedding_)
    np.testing.assert_array_equal(table["uncertainty"].to_numpy(), model.uncertainty_)
    found = duckdb.sql(f"SELECT count(*), sum(uncertainty) FROM '{path}'").fetchall()
    assert found[0] == (len(model.node_ids_), pytest.approx(model.uncertainty_.sum(dtype="float64")))


def test_numpy_and_gensim_read_theirs_exactly(folder: Path, model: SANNE) -> None:
    np.testing.assert_array_equal(np.load(folder / "vectors.npy"), model.embedding_)
    assert (folder / "vectors.ids.txt").read_text().splitlines() == model.node_ids_.tolist()
    words = gensim.models.KeyedVectors.load_word2vec_format(str(folder / "vectors.txt"))
    assert words.index_to_key == model.node_ids_.tolist()
    np.testing.assert_array_equal(words.vectors, model.embedding_)


def test_faiss_finds_the_nodes_that_similar_finds(folder: Path, model: SANNE) -> None:
    expected = [node for node, _ in model.similar("paper-17", 10)]
    index = faiss.read_index(str(folder / "vectors.faiss"))
    cosines, found = index.search(model.embedding_[17:18] / np.linalg.norm(model.embedding_[17]), 11)
    assert [f"paper-{row}" for row in found[0][1:]] == expected
    np.testing.assert_allclose(cosines[0][1:], [cosine for _, cosine in model.similar("paper-17", 10)], rtol=1e-5)


def snippets() -> list[Any]:
    blocks = re.findall(r"^## (\w+)\n.*?^```python\n(.*?)^```", DOCS.read_text(encoding="utf-8"), re.M | re.S)
    return [pytest.param(code, id=tool) for tool, code in blocks]


def test_every_tool_of_the_page_has_a_snippet() -> None:
    assert [snippet.id for snippet in snippets()] == [
        "pandas",
        "polars",
        "duckdb",
        "numpy",
        "gensim",
        "LanceDB",
        "FAISS",
    ]


@pytest.mark.parametrize("code", snippets())
def test_the_page_is_right(here: Path, model: SANNE, code: str) -> None:
    names: dict[str, Any] = {}
    exec(code.replace("DIM", str(model.embedding_.shape[1])), names)
    if "matrix" in names:
        np.testing.assert_array_equal(names["matrix"], model.embedding_)
        assert set(names["unsure"]) == set(model.node_ids_[np.argsort(-model.uncertainty_)[:5]])
    else:
        found = [
            row if isinstance(row, str) else row["id"] if isinstance(row, dict) else row[0] for row in names["nearest"]
        ]
        assert found == [node for node, _ in model.similar("paper-17", 10)]


def test_integer_ids_stay_integers(tmp_path: Path) -> None:
    graph = planted_graph(size=10)
    numbered = Graph(graph.indptr, graph.indices, None, np.arange(30) * 7, features=graph.features)
    SANNE(settings=TINY).fit(numbered).save(tmp_path / "model")
    export_vectors(tmp_path / "model", "parquet", tmp_path / "v.parquet")
    assert pl.read_parquet(tmp_path / "v.parquet")["id"].dtype == pl.Int64


def test_parts_are_joined_in_order(folder: Path, model: SANNE, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sanne.vectors.formats._ROWS_AT_ONCE", 7)
    export_vectors(folder / "model", "npy", tmp_path / "v.npy")
    export_vectors(folder / "model", "faiss", tmp_path / "v.faiss")
    assert (tmp_path / "v.ids.txt").read_text().splitlines() == model.node_ids_.tolist()
    np.testing.assert_array_equal(np.load(tmp_path / "v.npy"), model.embedding_)
    assert faiss.read_index(str(tmp_path / "v.faiss")).ntotal == len(model.node_ids_)


def test_vectors_without_a_uncertainty_are_exported_with_null(tmp_path: Path) -> None:
    SANNE(settings=TRAINED | {"epochs": 1}).fit(planted_graph(size=10)).save(tmp_path / "model")
    assert np.isnan(SANNE.load(tmp_path / "model").uncertainty_).all()
    export_vectors(tmp_path / "model", "parquet", tmp_path / "v.parquet")
    assert pl.read_parquet(tmp_path / "v.parquet")["uncertainty"].null_count() == 30


def contents(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(("target", "name"), [("npy", "v.npy"), ("faiss", "v.faiss")])
def test_a_list_of_ids_of_something_else_is_not_replaced(folder: Path, tmp_path: Path, target: Any, name: str) -> None:
    (tmp_path / "v.ids.txt").write_text("mine")
    with pytest.raises(InputError, match=r"v\.ids\.txt, which already exists"):
        export_vectors(folder / "model", target, tmp_path / name)
    assert contents(tmp_path) == {"v.ids.txt": b"mine"}


@pytest.mark.parametrize(
    ("target", "out", "message"),
    [
        ("npy", "v.parquet", "ends in .npy"),
        ("word2vec", "v", "ends in .txt or .vec"),
        ("faiss", "none/v.faiss", "mkdir -p"),
        ("pickle", "v.pkl", "unknown format 'pickle': choose one of parquet"),
    ],
)
def test_wrong_places_are_refused_and_nothing_is_left(
    folder: Path, tmp_path: Path, target: Any, out: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        export_vectors(folder / "model", target, tmp_path / out)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_extra_is_named_before_anything_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtraError, match=r"sanne\[ann\]"):
        export_vectors("no model", "faiss", tmp_path / "v.faiss")


def test_a_damaged_model_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelFolderError):
        export_vectors(folder, "npy", tmp_path / "v.npy")
    assert list(tmp_path.iterdir()) == []


def test_the_command(folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sanne", "export", str(folder / "model"), "--to", "word2vec", "--json"]
    done = subprocess.run([*command, "--out", "v.vec"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["nodes"] == 120
    assert (tmp_path / "v.vec").read_bytes() == (folder / "vectors.txt").read_bytes()
    done = subprocess.run([*command, "--out", "v.npy"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
