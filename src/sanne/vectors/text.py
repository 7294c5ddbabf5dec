"""Vectors as text: CSV, and word2vec text as gensim reads it.

Text has no types: if every id in a file is a whole number, ids are read back as integers. In a CSV file, a text id
that starts with = + - @, a tab or a line break gets a single quote (') in front, unless it is a plain number: a
spreadsheet would run it as a formula. Reading removes the quote. In word2vec text, spaces in ids become `_`.
"""

import contextlib
import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from sanne.errors import InputError
from sanne.files.atomic import replaced_file
from sanne.graph.ids import as_integers
from sanne.vectors.vectors import Embedding, Floats, Ids


def write_csv(path: Path, parts: Iterable[Embedding], count: int, dim: int) -> None:
    """Write the columns id, uncertainty and one per dimension."""
    with replaced_file(path) as part, contextlib.ExitStack() as stack:
        writer: Any = None
        for vectors in parts:
            columns = {
                "id": quoted(pa.array(vectors.node_ids)),
                "uncertainty": pa.array(vectors.uncertainty, from_pandas=True),
            }
            columns |= {f"e{i}": pa.array(column) for i, column in enumerate(vectors.vectors.T)}
            table = pa.table(columns)
            if writer is None:
                options = pa.csv.WriteOptions(quoting_style="needed")
                writer = stack.enter_context(pa.csv.CSVWriter(part, table.schema, write_options=options))
            writer.write_table(table)


def read_csv(path: Path) -> Embedding:
    """Read a header `id,e0,e1,...`, with a column uncertainty or without."""
    with path.open(encoding="utf-8") as file:
        names = [name.strip('"') for name in file.readline().rstrip("\r\n").split(",")]
    if names[0] != "id" or len(names) < 2:
        raise InputError(f"{path}, line 1: expected a header 'id,e0,e1,...' (with 'uncertainty' after id or not)")
    table = pa.csv.read_csv(
        path,
        parse_options=pa.csv.ParseOptions(newlines_in_values=True),
        convert_options=pa.csv.ConvertOptions(
            column_types={"id": pa.string()} | dict.fromkeys(names[1:], pa.float32()), strings_can_be_null=False
        ),
    )
    uncertainty = table["uncertainty"].to_numpy() if "uncertainty" in names else None
    numbers = [table[name].to_numpy() for name in names[1:] if name != "uncertainty"]
    return Embedding.of(ids_from_text(_unquoted(table["id"]).to_pylist()), np.array(numbers).T, uncertainty)


def quoted(ids: pa.Array) -> pa.Array:
    """Ids with a ' before formulas, and before such a quote before a formula, so that `_unquoted` is the reverse."""
    if not pa.types.is_string(ids.type):
        return ids
    formula = pc.match_substring_regex(ids, r"^'*[=+\-@\t\r\n]")
    number = pc.match_substring_regex(ids, r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
    return pc.if_else(pc.and_not(formula, number), pc.binary_join_element_wise("'", ids, ""), ids)


def _unquoted(ids: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.replace_substring_regex(ids, r"^'('*[=+\-@\t\r\n])", r"\1")


def write_word2vec(path: Path, parts: Iterable[Embedding], count: int, dim: int) -> None:
    """Write a line with count and size, then one line per node."""
    names: dict[str, Any] = {}
    with replaced_file(path) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"{count} {dim}\n")
        for vectors in parts:
            fresh = [_without_blanks(node_id, names) for node_id in vectors.node_ids]
            rows = _number_lines(vectors.vectors)
            file.writelines(f"{name} {row}\n" for name, row in zip(fresh, rows, strict=True))


def _without_blanks(node_id: Any, names: dict[str, Any]) -> str:
    """An id for a format with space-separated columns; `names` holds those written so far."""
    name = re.sub(r"\s", "_", str(node_id))
    if not name:
        raise InputError("an empty node id cannot be written as word2vec text: write a .parquet file")
    if name in names:
        raise InputError(
            f"node ids {names[name]!r} and {node_id!r} would both be written as {name!r}, "
            "since word2vec text has no spaces in ids: write a .parquet file"
        )
    names[name] = node_id
    return name


def _number_lines(rows: Floats) -> list[str]:
    """Rows as text, each number in the fewest digits that reproduce it exactly."""
    table = pa.Table.from_arrays([pa.array(column) for column in rows.T], [str(i) for i in range(rows.shape[1])])
    buffer = io.BytesIO()
    pa.csv.write_csv(table, buffer, pa.csv.WriteOptions(include_header=False, delimiter=" "))
    return buffer.getvalue().decode("ascii").splitlines()


def read_word2vec(path: Path) -> Embedding:
    """Read word2vec text, from sanne or from elsewhere."""
    with path.open(encoding="utf-8", newline="\n") as file:
        header = file.readline().split()
        if len(header) != 2 or not all(number.isdecimal() for number in header):
            raise InputError(f"{path}, line 1: expected the number of vectors and their size, as in '2708 128'")
        count, dim = map(int, header)
        ids: list[str] = []
        rows: list[Floats] = []
        for number, line in enumerate(file, start=2):
            name, *values = line.rstrip().split(" ")
            if len(values) != dim:
                raise InputError(f"{path}, line {number}: {len(values)} numbers where the header says {dim}")
            ids.append(name)
            rows.append(np.array(values, np.float32))
    if len(ids) != count:
        raise InputError(f"{path} holds {len(ids)} vectors where its header says {count}: is it cut short?")
    return Embedding.of(ids_from_text(ids), np.array(rows, np.float32).reshape(count, dim))


def ids_from_text(ids: list[str]) -> Ids:
    """Ids as integers if all of them are whole numbers."""
    integers = as_integers(pa.array(ids, pa.string()))
    return np.array(ids, dtype=object) if integers is None else np.asarray(integers.to_numpy(), np.int64)
