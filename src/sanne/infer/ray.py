"""Embedding on several machines: Ray Data hands node ids to actors that hold the model and the graph.

Ids come from Parquet and vectors go to Parquet, so that neither is ever held whole in one process. A node's vector
depends on the node alone, so a dead actor is restarted and its ids are embedded again.
"""

import contextlib
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sanne.errors import InputError, MissingExtraError, SanneError, first_line
from sanne.files.atomic import check_target, replaced_file, replaced_folder, scratch_folder
from sanne.graph.graph import Graph
from sanne.graph.readers.typed_tables import open_parquet
from sanne.infer.embed import embed
from sanne.infer.read import GraphReader
from sanne.model.artifact import Artifact
from sanne.vectors.parquet import is_marked, to_table

_NODES_AT_ONCE = 2048  # lost when an actor dies
PARQUET = ".parquet"


@dataclass(frozen=True)
class Job:
    """What to embed. Actors open these paths too, so they must be visible on every machine."""

    model: Path
    load: Callable[[], Graph]  # reads the current graph; called once in every actor
    nodes: Any  # ids, or the path of a Parquet file with the column `id`
    explain: int = 0


def embed_with_ray(job: Job, out: Path, *, workers: int, address: str | None = None) -> int:
    """Embed nodes with `workers` actors and return how many; `out` is a Parquet file or a folder of them.

    Ray is started on this machine, or taken from `address` (`auto`: the cluster that this machine is in). One file
    has the order asked for, which takes memory; a folder has none. `out` is written completely or not at all.
    """
    check_ray_output(out)
    if not isinstance(job.nodes, Path):
        with scratch_folder(out) as folder:
            pq.write_table(pa.table({"id": pa.array(job.nodes)}), folder / "nodes.parquet")
            return embed_with_ray(replace(job, nodes=folder / "nodes.parquet"), out, workers=workers, address=address)
    columns = open_parquet(job.nodes).columns
    if "id" not in columns:
        raise InputError(f"{job.nodes} has no column 'id'; its columns are {', '.join(columns)}")
    count = int(pq.read_metadata(job.nodes).num_rows)
    if count == 0:
        raise InputError(f"{job.nodes}: no node ids in it")
    one_file = out.suffix == PARQUET
    with scratch_folder(out) if one_file else replaced_folder(out) as parts:
        _run(job, parts, count, workers, address)
        if one_file:
            _merge(parts, job.nodes, out)
    return count


def check_ray_output(out: Path) -> None:
    """Refuse a path that vectors cannot be written to; call this before any long work."""
    if out.suffix == PARQUET:
        check_target(out)
    elif out.suffix:
        raise InputError(f"cannot write {out} with Ray: give a name that ends in .parquet, or a new folder")
    elif check_target(out, folder=True).is_dir():
        for path in sorted(out.iterdir()):
            if not _is_ours(path):
                raise InputError(
                    f"{out}: {path.name} is not a file of vectors that sanne wrote, so the folder is not replaced; "
                    "choose an empty or a new one"
                )


def _is_ours(path: Path) -> bool:
    if path.suffix != PARQUET or path.is_symlink() or not path.is_file():
        return False
    try:
        return is_marked(pq.read_schema(path))
    except (OSError, pa.ArrowException):
        return False


class Embedder:
    """One actor: loads the model and the graph once, then embeds batches of ids."""

    def __init__(self, job: Job) -> None:
        self._reader = GraphReader(Artifact.read(job.model), job.load(), _NODES_AT_ONCE)
        self._explain = job.explain

    def __call__(self, batch: pa.Table) -> pa.Table:
        ids = batch["id"].to_pylist()
        artifact, graph = self._reader.artifact, self._reader.graph
        found = embed(artifact, graph, ids, explain=self._explain, progress=False, reader=self._reader)
        return to_table(found)


def _run(job: Job, folder: Path, count: int, workers: int, address: str | None) -> None:
    """Write the vectors as Parquet files into a folder."""
    with quiet(), ray_session(workers, address) as ray, plain_errors():
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.raise_original_map_exception = True
        (
            ray.data.read_parquet(str(job.nodes.absolute()), override_num_blocks=-(-count // _NODES_AT_ONCE))
            .select_columns(["id"])
            .map_batches(
                Embedder,
                fn_constructor_args=(job,),
                compute=ray.data.ActorPoolStrategy(size=workers),
                batch_size=_NODES_AT_ONCE,
                batch_format="pyarrow",
                num_cpus=1,  # Ray Data restarts a dead actor and repeats its batch, as often as needed
            )
            .write_parquet(str(folder), compression="zstd")
        )
    found = sum(pq.read_metadata(file).num_rows for file in folder.iterdir())
    if found != count:
        raise SanneError(f"Ray gave {found} vectors for {count} node ids: nothing was written; embed again")


@contextlib.contextmanager
def ray_session(workers: int, address: str | None) -> Iterator[Any]:
    """Ray, quietly: a running one, the cluster at `address`, or a new one on this machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        import ray
        import ray.data
    except ImportError:
        raise MissingExtraError("ray", "distributed", "--engine ray") from None
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    ours = not ray.is_initialized()
    if ours:
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        try:
            # Hides what Ray's compiled part writes to stderr even when told to be quiet; errors are exceptions.
            with Path(os.devnull).open("wb") as nowhere, _redirected(2, nowhere.fileno()):
                if address is None:  # one CPU more than there are actors, for reading and writing
                    ray.init(num_cpus=workers + 1, include_dashboard=False, **quiet)
                else:
                    ray.init(address, **quiet)
        except Exception as error:  # Ray raises plain ones, for example when a busy machine takes too long to start it
            where = address or "this machine"
            raise SanneError(f"Ray cannot be started or reached at {where}: {first_line(error)}") from error
    try:
        there = int(ray.cluster_resources().get("CPU", 0))
        if there <= workers:
            raise InputError(
                f"{workers} workers need {workers + 1} CPUs, Ray has {there}: ask for fewer workers, or add machines"
            )
        yield ray
    finally:
        if ours:
            ray.shutdown()


@contextlib.contextmanager
def _redirected(descriptor: int, target: int) -> Iterator[None]:
    """Redirect a file descriptor to another, also for writes that bypass Python."""
    kept = os.dup(descriptor)
    try:
        os.dup2(target, descriptor)
        yield
    finally:
        os.dup2(kept, descriptor)
        os.close(kept)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Send Ray's reports of dead workers to stderr: stdout is for results. Hide warnings about Ray's own settings."""
    sys.stdout.flush()
    with _redirected(1, 2), contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():
        for category in (DeprecationWarning, FutureWarning, UserWarning):
            warnings.filterwarnings("ignore", category=category, module=r"ray\.")
        yield


@contextlib.contextmanager
def plain_errors() -> Iterator[None]:
    """Re-raise the errors of actors without Ray's wrapping."""
    try:
        yield
    except Exception as error:
        inner: BaseException | None = error
        while inner is not None:
            cause = getattr(inner, "cause", None)
            if isinstance(cause, SanneError):
                raise type(cause)(*cause.args) from error
            inner = inner.__cause__
        raise


def _merge(parts: Path, nodes: Path, out: Path) -> None:
    """Join the parts, which come in any order, into one file in the requested order."""
    table = pq.read_table(parts)
    wanted = pq.read_table(nodes, columns=["id"])["id"].cast(table["id"].type)
    table = table.take(pc.index_in(wanted, table["id"].combine_chunks()))
    with replaced_file(out) as part:
        pq.write_table(table, part, compression="zstd", use_dictionary=False)
