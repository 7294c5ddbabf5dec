"""Result files: TABLE.jsonl has a record on each line. Lines are appended under a lock; of one key, the last counts.

A run appends a line after every candidate, so that stopping it loses only the one in flight. At its end the file is
written again, sorted and without the lines that others replaced, so that the same results give the same file.
"""

import contextlib
import functools
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sanne.errors import InputError
from sanne.files.atomic import is_open_as, replaced_file, take_lock

Record = dict[str, Any]
Key = tuple[str, str, str, str, int]  # dataset, setting, system, features_from, number


def key_of(record: Record) -> Key:
    """What tells a record from the others of its table; a field that a table has no use for is left out."""
    texts = (str(record.get(name, "")) for name in ("dataset", "setting", "system", "features_from"))
    return (*texts, int(record.get("number", 0)))  # type: ignore[return-value]


def read_records(out: Path, table: str) -> Mapping[Key, Record]:
    """The records of a table, sorted by key; they are shared, so do not change them."""
    path = _path(out, table)
    try:
        found = path.stat()
    except FileNotFoundError:
        return {}
    return _parsed(path, (found.st_ino, found.st_size, found.st_mtime_ns))


def systems_in(
    out: Path, table: str, datasets: Sequence[str], order: Sequence[str], setting: str = ""
) -> list[list[Record]]:
    """The records of each system on each dataset: systems in the given order, then by name."""
    groups: dict[tuple[str, str, str], list[Record]] = {}
    for (dataset, of_setting, system, features_from, _), record in read_records(out, table).items():
        if dataset in datasets and of_setting == setting:
            groups.setdefault((dataset, system, features_from), []).append(record)

    def place(group: tuple[str, str, str]) -> tuple[int, int, str, bool]:
        dataset, system, features_from = group
        rank = order.index(system) if system in order else len(order)
        return datasets.index(dataset), rank, system, features_from == "all"

    return [groups[group] for group in sorted(groups, key=place)]


def append_record(out: Path, table: str, record: Record) -> None:
    """Add a record to the file of a table; it is on disk when this returns."""
    out.mkdir(parents=True, exist_ok=True)
    with _locked(_path(out, table)) as file:
        end = _end_of_lines(file)
        os.ftruncate(file, end)  # a line that a killed process left unfinished
        try:
            _write(file, _line(record))
            os.fsync(file)
        except BaseException:
            os.ftruncate(file, end)
            raise


def sort_records(out: Path, table: str) -> None:
    """Write the file of a table again, sorted by key and with one line for each."""
    path = _path(out, table)
    if not path.is_file():
        return
    with _locked(path):
        text = b"".join(map(_line, read_records(out, table).values()))
        if path.read_bytes() != text:
            with replaced_file(path) as part:
                part.write_bytes(text)


def _path(out: Path, table: str) -> Path:
    return out / f"{table}.jsonl"


def _line(record: Record) -> bytes:
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


@functools.lru_cache(maxsize=16)
def _parsed(path: Path, stamp: tuple[int, ...]) -> Mapping[Key, Record]:
    """The records of a file as it was at a time; `stamp` only tells one state of the file from another."""
    lines = path.read_bytes().split(b"\n")[:-1]  # what follows the last line break is not finished
    found: dict[Key, Record] = {}
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            found[key_of(record)] = record
        except (ValueError, AttributeError, TypeError):
            raise InputError(f"{path}, line {number}: not a result; delete the line and run again") from None
    return dict(sorted(found.items()))


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[int]:
    """The open file, for this process alone; others wait."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            while take_lock(file) is False:
                time.sleep(0.01)
            if is_open_as(path, file):  # else it was replaced while we waited
                yield file
                return
        finally:
            os.close(file)


def _end_of_lines(file: int) -> int:
    """The position after the last line break."""
    end = os.fstat(file).st_size
    while end > 0:
        start = max(0, end - 65536)
        found = os.pread(file, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _write(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]
