"""`sanne export`: the fitted vectors for another tool."""

import time
from pathlib import Path
from typing import Annotated

import typer

from sanne.cli.options import Json, ModelFolder, VectorType, seconds_since, show


def export(
    model: ModelFolder,
    to: Annotated[str, typer.Option(metavar="FORMAT", help="The format: parquet, npy, csv, word2vec or faiss.")],
    out: Annotated[Path, typer.Option(help="vectors.parquet, .npy, .csv, .txt/.vec or .faiss.")],
    dtype: VectorType = "float32",
    as_json: Json = False,
) -> None:
    """Write the fitted vectors for another tool."""
    from sanne.vectors.export import export_vectors

    started = time.perf_counter()
    count, dim = export_vectors(model, to, out, dtype)
    result = {"vectors": str(out), "format": to, "nodes": count, "dim": dim, "seconds": seconds_since(started)}
    show(result, as_json, f"wrote {out}")
