"""Vectors survive every file format, and bad files and places are refused with a remedy."""

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from gensim.models import KeyedVectors

from planted import TINY, planted_graph
from sanne.errors import InputError
from sanne.estimator import SANNE
from sanne.vectors.formats import (
    FORMATS,
    Format,
    check_output,
    export_vectors,
    read_vectors,
    register,
    write_parts,
    write_vectors,
)
from sanne.vectors.vectors import Embedding

ENDINGS = [".parquet", ".npy", ".csv", ".txt", ".vec", ".w2v"]
VECTORS = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32) * np.float32(1e-3)
SPREAD = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
IDS: dict[str, Any] = {
    "integers": np.array([7, 0, -3, 2**53 + 1]),
    "text": np.array(["a", "007", "Zürich", 'say"so,ok'], dtype=object),
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", IDS)
def test_round_trip_is_exact(tmp_path: Path, ending: str, kind: str) -> None:
    path = tmp_path / f"v{ending}"
    write_vectors(path, IDS[kind], VECTORS, SPREAD)
    back = read_vectors(path)
    assert back.node_ids.tolist() == IDS[kind].tolist()
    assert back.node_ids.dtype.kind == ("i" if kind == "integers" else "O")
    assert back.vectors.dtype == np.float32
    np.testing.assert_array_equal(back.vectors, VECTORS)
    if ending in (".parquet", ".csv"):
        np.testing.assert_array_equal(back.uncertainty, SPREAD)
    else:
        assert np.isnan(back.uncertainty).all()
    expected = {f"v{ending}", "v.ids.txt"} if ending == ".npy" else {f"v{ending}"}
    assert {item.name for item in tmp_path.iterdir()} == expected


def test_parquet_columns_and_explanation(tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    ids = ["a", "b", "c", "d"]
    explanation = [[("b", 0.75), ("c", 0.25)], [], [("a", 1.0)], [("d", 1.0)]]
    write_vectors(path, ids, VECTORS, SPREAD, explanation)
    table = pq.read_table(path)
    assert table.schema.field("embedding").type == pa.list_(pa.float32(), 3)
    assert table.schema.field("uncertainty").type == pa.float32()
    assert table["explanation"].to_pylist()[0] == [{"id": "b", "share": 0.75}, {"id": "c", "share": 0.25}]
    assert read_vectors(path).node_ids.tolist() == ids


def test_gensim_reads_word2vec_text(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    write_vectors(path, ["new york", "b\tc", "d", 'q"'], VECTORS)
    loaded = KeyedVectors.load_word2vec_format(str(path))
    assert loaded.index_to_key == ["new_york", "b_c", "d", 'q"']
    np.testing.assert_array_equal(loaded.vectors, VECTORS)


def test_word2vec_text_of_the_original_program_is_read(tmp_path: Path) -> None:
    path = tmp_path / "v.vec"
    path.write_text("2 2\na 1 2.5 \nb -1e-3 0 \n")
    back = read_vectors(path)
    assert back.node_ids.tolist() == ["a", "b"]
    np.testing.assert_allclose(back.vectors, [[1, 2.5], [-1e-3, 0]])


def test_word2vec_text_in_many_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sanne.vectors.formats._ROWS_AT_ONCE", 3)
    write_vectors(tmp_path / "v.txt", range(4), VECTORS)
    np.testing.assert_array_equal(read_vectors(tmp_path / "v.txt").vectors, VECTORS)
    assert read_vectors(tmp_path / "v.txt").node_ids.tolist() == [0, 1, 2, 3]


def test_csv_has_readable_columns(tmp_path: Path) -> None:
    write_vectors(tmp_path / "v.csv", ["a", "", "line\nbreak", "d"], VECTORS, SPREAD)
    assert (tmp_path / "v.csv").read_text().splitlines()[0].replace('"', "") == "id,uncertainty,e0,e1,e2"
    assert read_vectors(tmp_path / "v.csv").node_ids.tolist() == ["a", "", "line\nbreak", "d"]


@pytest.mark.parametrize(
    ("name", "ids", "text"),
    [
        ("v.txt", ["a b", "a_b", "c", "d"], "'a b' and 'a_b' would both"),
        ("v.txt", ["", "b", "c", "d"], "empty node id"),
        ("v.npy", ["a\nb", "b", "c", "d"], "one line"),
        ("v.npy", ["", "b", "c", "d"], "one line"),
        ("v.parquet", ["a", "b"], "2 node ids but 4 rows of vectors"),
        ("v.xml", ["a", "b", "c", "d"], "unknown ending '.xml'"),
        ("missing/v.csv", ["a", "b", "c", "d"], "mkdir -p"),
    ],
)
def test_refused_writes_leave_nothing(tmp_path: Path, name: str, ids: list[str], text: str) -> None:
    with pytest.raises(InputError, match=text):
        write_vectors(tmp_path / name, ids, VECTORS)
    assert list(tmp_path.iterdir()) == []


def test_uncertainty_and_explanation_must_fit(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="rows of uncertainty"):
        write_vectors(tmp_path / "v.csv", range(4), VECTORS, SPREAD[:2])
    with pytest.raises(InputError, match="one number per node"):
        write_vectors(tmp_path / "v.csv", range(4), VECTORS, VECTORS)
    with pytest.raises(InputError, match="rows of explanation"):
        write_vectors(tmp_path / "v.parquet", range(4), VECTORS, explanation=[[]])
    with pytest.raises(InputError, match=r"shape \(4, 0\)"):
        write_vectors(tmp_path / "v.csv", range(4), VECTORS[:, :0])


def test_check_output_knows_before_any_work(tmp_path: Path) -> None:
    assert check_output(tmp_path / "V.PARQUET").name == "parquet"
    with pytest.raises(InputError, match="unknown ending ''"):
        check_output(tmp_path / "vectors")
    with pytest.raises(InputError, match="no folder"):
        check_output(tmp_path / "no" / "v.npy")


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("v.txt", "a 1 2\n", "line 1: expected the number"),
        ("v.txt", "2 2\na 1 2\nb 1\n", "line 3: 1 numbers where the header says 2"),
        ("v.txt", "3 2\na 1 2\nb 1 2\n", "cut short"),
        ("v.txt", "1 2\na 1 x\n", "could not convert"),
        ("v.csv", "node,e0\na,1\n", "line 1: expected a header"),
        ("v.csv", "id,e0\na,x\n", "cannot read vectors from"),
        ("v.csv", "id,e0\na,1,2\n", "cannot read vectors from"),
        ("v.parquet", "nonsense", r"v\.parquet: not a Parquet file"),
        ("v.npy", "nonsense", "no ids"),
        ("v.bin", "", "unknown ending"),
    ],
)
def test_damaged_files_are_named(tmp_path: Path, name: str, content: str, text: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=text):
        read_vectors(tmp_path / name)


def test_damaged_binary_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_bytes(b"1 1\n\xff\xfe 1\n")
    with pytest.raises(InputError, match="utf-8"):
        read_vectors(tmp_path / "v.txt")
    with pytest.raises(InputError, match="there is no file"):
        read_vectors(tmp_path / "none.npy")
    (tmp_path / "v.ids.txt").write_text("a\n")
    np.save(tmp_path / "v.npy", VECTORS)
    with pytest.raises(InputError, match="1 node ids but 4 rows"):
        read_vectors(tmp_path / "v.npy")
    (tmp_path / "v.npy").write_bytes((tmp_path / "v.npy").read_bytes()[:140])
    with pytest.raises(InputError, match="cannot read vectors"):
        read_vectors(tmp_path / "v.npy")
    np.save(tmp_path / "v.npy", np.array([{"a": 1}], dtype=object))
    with pytest.raises(InputError, match="cannot read vectors"):
        read_vectors(tmp_path / "v.npy")


def test_parquet_from_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    pq.write_table(pa.table({"id": ["a", "b"], "embedding": [[1.0, 2.0], [3.0, 4.0]]}), path)
    np.testing.assert_array_equal(read_vectors(path).vectors, np.array([[1, 2], [3, 4]], np.float32))
    pq.write_table(pa.table({"id": ["a", "b"], "embedding": [[1.0], [3.0, 4.0]]}), path)
    with pytest.raises(InputError, match="different lengths"):
        read_vectors(path)
    pq.write_table(pa.table({"id": ["a"], "vector": [[1.0]]}), path)
    with pytest.raises(InputError, match="no column 'embedding'; its columns are id, vector"):
        read_vectors(path)
    pq.write_table(pa.table({"id": ["a", None], "embedding": [[1.0], [2.0]]}), path)
    with pytest.raises(InputError, match="without an id"):
        read_vectors(path)


# Part by part


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", IDS)
def test_parts_make_the_same_file_as_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, kind: str
) -> None:
    monkeypatch.setattr("sanne.vectors.parquet.ROW_GROUP", 3)
    (tmp_path / "whole").mkdir()
    explanation = [[(IDS[kind][0], 0.5)]] * 4 if ending == ".parquet" else None
    write_vectors(tmp_path / "whole" / f"v{ending}", IDS[kind], VECTORS, SPREAD, explanation)
    whole = Embedding.of(IDS[kind], VECTORS, SPREAD, explanation)

    def parts() -> Iterator[Embedding]:
        for rows in (slice(0, 1), slice(1, 3), slice(3, 4)):
            yield whole[rows]
            assert [path for path in tmp_path.iterdir() if not path.name.startswith((".part", "whole"))] == []

    write_parts(tmp_path / f"v{ending}", parts(), 4, 3)
    for path in (tmp_path / "whole").iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_failure_between_parts_leaves_the_old_file(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"v{ending}"
    write_vectors(path, range(4), VECTORS)
    before = {item: item.read_bytes() for item in tmp_path.iterdir()}

    def cut_short() -> Iterator[Embedding]:
        yield Embedding.of(range(2), VECTORS[:2])
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        write_parts(path, cut_short(), 4, 3)
    with pytest.raises(InputError, match="2 vectors were given where 4 were announced"):
        write_parts(path, [Embedding.of(range(2), VECTORS[:2])], 4, 3)
    with pytest.raises(InputError, match="vectors of size 2 for a file of size 3"):
        write_parts(path, [Embedding.of(range(4), VECTORS[:, :2])], 4, 3)
    assert {item: item.read_bytes() for item in tmp_path.iterdir()} == before


def test_word2vec_text_compares_ids_over_all_parts(tmp_path: Path) -> None:
    parts = [Embedding.of([name], VECTORS[:1]) for name in ("a b", "a_b")]
    with pytest.raises(InputError, match="'a b' and 'a_b' would both"):
        write_parts(tmp_path / "v.txt", parts, 2, 3)
    assert list(tmp_path.iterdir()) == []


ODD_IDS = ["=cmd|' /C calc'!A0", "@SUM(A1)", "+1+1", "-x", "\tx", "'=x", "''-1", "'quoted", "-5", "+1.5e3", "a=b", "a"]


def test_no_id_of_a_csv_file_is_a_formula_and_all_come_back(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    write_vectors(path, ODD_IDS, np.ones((len(ODD_IDS), 2), np.float32))
    assert read_vectors(path).node_ids.tolist() == ODD_IDS
    with path.open(newline="") as file:
        cells = [row[0] for row in csv.reader(file)][1:]
    assert [cell for cell in cells if cell[0] in "=+-@\t\r\n"] == ["-5", "+1.5e3"]  # numbers
    assert cells[-4:] == ODD_IDS[-4:]


def test_integer_ids_of_a_csv_file_stay_numbers(tmp_path: Path) -> None:
    write_vectors(tmp_path / "v.csv", [-5, 7], np.ones((2, 2), np.float32))
    assert "'" not in (tmp_path / "v.csv").read_text()
    assert read_vectors(tmp_path / "v.csv").node_ids.tolist() == [-5, 7]


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_a_missing_uncertainty_is_null_in_files_and_not_a_number_in_arrays(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"v{ending}"
    write_vectors(path, ["a", "b"], np.ones((2, 2), np.float32), [0.5, np.nan])
    frame = pl.read_parquet(path) if ending == ".parquet" else pl.read_csv(path)
    assert frame["uncertainty"].to_list() == [0.5, None]
    np.testing.assert_array_equal(read_vectors(path).uncertainty, [0.5, np.nan])


def write_json(path: Path, parts: Iterable[Embedding], count: int, dim: int) -> None:
    rows = {str(i): v.tolist() for part in parts for i, v in zip(part.node_ids, part.vectors, strict=True)}
    path.write_text(json.dumps(rows), encoding="utf-8")


def read_json(path: Path) -> Embedding:
    rows = json.loads(path.read_text(encoding="utf-8"))
    return Embedding.of(list(rows), list(rows.values()))


def test_a_format_from_outside_the_package_is_used_like_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sanne.vectors.formats.FORMATS", dict(FORMATS))
    register(Format("json", (".json",), write_json, read_json))
    write_vectors(tmp_path / "v.json", ["a", "b", "c", "d"], VECTORS)
    back = read_vectors(tmp_path / "v.json")
    assert back.node_ids.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(back.vectors, VECTORS)
    SANNE(settings=TINY).fit(planted_graph(size=10)).save(tmp_path / "m")
    assert export_vectors(tmp_path / "m", "json", tmp_path / "m.json")[0] == len(read_vectors(tmp_path / "m.json"))
    with pytest.raises(InputError, match=r"\.json"):
        check_output(tmp_path / "v.xml")


@pytest.mark.parametrize("ending", [".parquet", ".npy"])
def test_half_precision_takes_half_the_space_and_is_read_as_single(tmp_path: Path, ending: str) -> None:
    rows = np.random.default_rng(0).normal(size=(3000, 64)).astype(np.float32)
    whole, half = tmp_path / f"whole{ending}", tmp_path / f"half{ending}"
    write_vectors(whole, np.arange(3000), rows)
    write_vectors(half, np.arange(3000), rows, dtype="float16")
    assert half.stat().st_size < 0.6 * whole.stat().st_size
    back = read_vectors(half).vectors
    assert back.dtype == np.float32
    np.testing.assert_allclose(back, rows, rtol=1e-3, atol=1e-6)


def test_half_precision_is_refused_where_it_does_not_fit(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="float16 holds at most 65504"):
        write_vectors(tmp_path / "v.parquet", [1], [[1e5]], dtype="float16")
    with pytest.raises(InputError, match="only parquet, npy hold half precision"):
        write_vectors(tmp_path / "v.csv", [1], [[1.0]], dtype="float16")
    assert not list(tmp_path.iterdir())


def test_a_model_with_half_precision_vectors_is_loaded_and_exported(tmp_path: Path) -> None:
    model = SANNE("fast").fit(planted_graph(3, 40))
    model.save(tmp_path / "model", dtype="float16")
    loaded = SANNE.load(tmp_path / "model").embedding_
    assert loaded.dtype == np.float32
    np.testing.assert_allclose(loaded, model.embedding_, rtol=1e-3, atol=1e-4)
    export_vectors(tmp_path / "model", "npy", tmp_path / "v.npy", "float16")
    assert np.load(tmp_path / "v.npy").dtype == np.float16
