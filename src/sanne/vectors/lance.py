"""Vectors as the table `nodes` of a LanceDB database: id, vector, uncertainty."""

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sanne.errors import InputError, import_extra
from sanne.files.atomic import check_target, replaced_folder
from sanne.vectors.parquet import MARKER, is_marked, to_table
from sanne.vectors.vectors import Embedding

TABLE = "nodes"
_COLUMNS = ["id", "vector", "uncertainty"]


def check_lancedb(path: Path) -> None:
    """Refuse a folder that is not a LanceDB database, or whose table of our name somebody else wrote."""
    lancedb = _lancedb()
    if not check_target(path, folder=True).is_dir():
        return
    tables = [item.name for item in path.iterdir() if not item.name.startswith(".part-")]
    if foreign := sorted(name for name in tables if not name.endswith(".lance")):
        raise InputError(f"{path}: there are other files in this folder ({foreign[0]}); choose an empty or a new one")
    if _table_folder(path).name not in tables:
        return
    try:
        schema = lancedb.connect(path).open_table(TABLE).schema
    except Exception as error:  # LanceDB has no error of its own for a damaged table
        raise InputError(f"{path}: its table {TABLE!r} cannot be read ({error}); choose another folder") from None
    if not is_marked(schema) or schema.names != _COLUMNS:
        raise InputError(
            f"{path}: its table {TABLE!r} is not as sanne writes it, so it is not replaced; "
            "choose another folder, or rename that table"
        )


def write_lancedb(path: Path, parts: Iterable[Embedding], count: int, dim: int) -> None:
    """Make a database with one table, or add that table to a database; only our own older table is replaced."""
    if not path.is_dir():
        with replaced_folder(path) as folder:
            _create_table(folder, parts)
        return
    with replaced_folder(_table_folder(path)) as folder:
        scratch = folder.with_name("database")
        _create_table(scratch, parts)
        folder.rmdir()
        _table_folder(scratch).rename(folder)


def _create_table(database: Path, parts: Iterable[Embedding]) -> None:
    tables = (
        to_table(vectors).select(["id", "embedding", "uncertainty"]).rename_columns(_COLUMNS) for vectors in parts
    )
    first = next(tables)
    batches = (batch for table in itertools.chain([first], tables) for batch in table.to_batches())
    _lancedb().connect(database).create_table(TABLE, batches, schema=first.schema.with_metadata(MARKER))


def _table_folder(database: Path) -> Path:
    return database / f"{TABLE}.lance"


def _lancedb() -> Any:
    return import_extra("lancedb", "ann", "a LanceDB database")
