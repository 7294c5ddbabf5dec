"""Result files: nothing is lost when processes write together or are killed, and the same results give one file."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sanne.errors import InputError
from sanne_lab.experiments import records
from sanne_lab.experiments.records import append_record, read_records, sort_records, systems_in


def record(number: int = 0, system: str = "gcn", **more: Any) -> dict[str, Any]:
    return {"dataset": "cora", "setting": "inductive", "system": system, "number": number, **more}


def test_of_several_records_with_one_key_the_last_counts(tmp_path: Path) -> None:
    assert read_records(tmp_path, "table2") == {}
    for value in (1, 2):
        append_record(tmp_path, "table2", record(value=value))
    (kept,) = read_records(tmp_path, "table2").values()
    assert kept["value"] == 2


def test_a_sorted_file_does_not_depend_on_the_order_of_writing(tmp_path: Path) -> None:
    wanted = [record(number, system) for system in ("gcn", "sanne-best") for number in (0, 2, 10)]
    for place, order in (("one", wanted), ("two", wanted[::-1])):
        for one in order:
            append_record(tmp_path / place, "t", one | {"value": "old"})
            append_record(tmp_path / place, "t", one)
        sort_records(tmp_path / place, "t")
    text = (tmp_path / "one/t.jsonl").read_text("utf-8")
    assert (tmp_path / "two/t.jsonl").read_text("utf-8") == text
    assert [json.loads(line) for line in text.splitlines()] == wanted
    before = (tmp_path / "one/t.jsonl").stat()
    sort_records(tmp_path / "one", "t")
    assert (tmp_path / "one/t.jsonl").stat().st_mtime_ns == before.st_mtime_ns
    sort_records(tmp_path, "nothing")
    assert not (tmp_path / "nothing.jsonl").exists()


def test_a_line_that_a_killed_process_left_unfinished_is_dropped(tmp_path: Path) -> None:
    append_record(tmp_path, "t", record(0))
    path = tmp_path / "t.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:-5])
    assert list(read_records(tmp_path, "t").values()) == [record(0)]
    append_record(tmp_path, "t", record(1, long="x" * 100_000))
    assert list(read_records(tmp_path, "t").values()) == [record(0), record(1, long="x" * 100_000)]
    path.write_bytes(whole[:-5])
    assert read_records(tmp_path, "t") == {}
    append_record(tmp_path, "t", record(2))
    assert list(read_records(tmp_path, "t").values()) == [record(2)]


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append_record(tmp_path, "t", record(0))
    before = (tmp_path / "t.jsonl").read_bytes()

    def half(file: int, data: bytes) -> None:
        os.write(file, data[:10])
        raise OSError("no room")

    monkeypatch.setattr(records, "_write", half)
    with pytest.raises(OSError, match="no room"):
        append_record(tmp_path, "t", record(1))
    assert (tmp_path / "t.jsonl").read_bytes() == before


@pytest.mark.parametrize("line", ["{", "[1]", '{"number": "x"}'])
def test_a_damaged_line_is_named(line: str, tmp_path: Path) -> None:
    append_record(tmp_path, "t", record(0))
    with (tmp_path / "t.jsonl").open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    with pytest.raises(InputError, match=r"t\.jsonl, line 2: not a result; delete the line"):
        read_records(tmp_path, "t")


WRITER = """
import sys
from pathlib import Path
from sanne_lab.experiments.records import append_record, sort_records

out, system = Path(sys.argv[1]), sys.argv[2]
for number in range(60):
    append_record(out, "t", {"dataset": "cora", "system": system, "number": number, "long": system * 5000})
    if number % 7 == 0:
        sort_records(out, "t")
"""


def test_processes_that_write_and_sort_together_lose_nothing(tmp_path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), system]) for system in "abc"]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    found = read_records(tmp_path, "t")
    assert {(key[2], key[4]) for key in found} == {(system, number) for system in "abc" for number in range(60)}
    assert all(one["long"] == one["system"] * 5000 for one in found.values())


def test_systems_come_in_the_order_of_the_table_and_then_by_name(tmp_path: Path) -> None:
    for system in ("zebra", "ant", "gcn", "sanne-best"):
        append_record(tmp_path, "t", record(system=system, features_from="present"))
    append_record(tmp_path, "t", record(system="gcn", features_from="all"))
    append_record(tmp_path, "t", record(system="gcn") | {"dataset": "pubmed"})
    found = systems_in(tmp_path, "t", ("pubmed", "cora"), ("sanne-best", "gcn"), "inductive")
    assert [(each[0]["dataset"], each[0]["system"], each[0].get("features_from")) for each in found] == [
        ("pubmed", "gcn", None),
        ("cora", "sanne-best", "present"),
        ("cora", "gcn", "present"),
        ("cora", "gcn", "all"),
        ("cora", "ant", "present"),
        ("cora", "zebra", "present"),
    ]
