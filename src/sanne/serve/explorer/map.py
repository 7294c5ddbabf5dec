"""The map of a server's nodes: computed once in the background and kept in the store folder; new nodes are added."""

import contextlib
import hashlib
import json
import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import threadpoolctl  # type: ignore[import-untyped]

from sanne.draw.colours import Colouring
from sanne.draw.picture import Nodes
from sanne.draw.reduce import FITTED_AT_MOST, PrincipalAxes, between, first_two, lay_out, nearest, tsne_package
from sanne.draw.regions import Region
from sanne.errors import MissingExtraError, SanneError
from sanne.files.atomic import replaced_folder
from sanne.seeds import numpy_stream

logger = logging.getLogger(__name__)

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]
Kind = Literal["tsne", "pca"]

FOLDER = "map"  # inside the store
DRAWN_AT_MOST = 1_000_000  # nodes
_FORMAT = 3
_NICE = 5  # niceness: the layout has a lower priority than requests
_PATIENCE = 20.0  # seconds for a layout to stop
_OWN_PROCESS = 1000  # nodes; for fewer, starting a process takes longer than the layout


@dataclass(frozen=True, eq=False)
class Layout:
    """A map as the page draws it."""

    kind: Kind
    points: Floats  # (drawn, 2)
    colourings: list[Colouring]
    regions: list[Region]
    version: str  # changes with the points


class NodeMap:
    """Two coordinates for every node, or for a sample of very many, and for new nodes.

    The first map shows two principal components. Unless the folder already has a t-SNE map of these vectors, a
    low-priority process computes one, and `layout` changes when it is done. `columns` are values to colour nodes by;
    regions are named by words of the texts, else by the column "label", else by ids.
    """

    def __init__(
        self,
        folder: Path,
        vectors: Floats,
        columns: Mapping[str, npt.NDArray[Any]] | None = None,
        *,
        texts: Sequence[Any] | npt.NDArray[Any] | None = None,
        ids: npt.NDArray[Any] | None = None,
        seed: int = 0,
    ) -> None:
        self._folder = folder / FOLDER
        self._seed = seed
        # In random order, so that any first part of them is a random sample.
        self.rows: Rows = numpy_stream(seed, "plot").permutation(len(vectors))[:DRAWN_AT_MOST]
        self._reduce = PrincipalAxes(np.asarray(vectors[np.sort(self.rows[:FITTED_AT_MOST])], np.float32))
        self._reduced = self._reduce(vectors)[self.rows]
        self._key = hashlib.sha256(self._reduced.tobytes() + f"{_FORMAT} {seed}".encode()).hexdigest()
        self._process: BaseProcess | None = None
        self._thread: threading.Thread | None = None
        self._closed = False
        self.total = len(vectors)
        self.progress: float | None = None  # of the t-SNE map that is being computed
        picked = {name: np.asarray(values)[self.rows] for name, values in (columns or {}).items()}
        spoken = None if texts is None else [texts[row] for row in self.rows.tolist()]
        names = self.rows if ids is None else ids[self.rows]
        self._nodes = Nodes(self._reduced, picked, spoken, names, seed)
        self.layout = self._draw("pca", np.asarray(first_two(self._reduced), np.float32))

    def start(self) -> None:
        """Use the map on disk, or start computing one in the background."""
        kept = self._read_kept()
        if kept is not None:
            self.layout = self._draw("tsne", kept)
            return
        try:
            tsne_package()
        except MissingExtraError as error:
            logger.warning("%s; the map shows two principal components instead", error)
            return
        self.progress = 0.0
        self._thread = threading.Thread(target=self._improve, name="sanne-map", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop a running layout and wait for it: its compiled loops must not outlive the interpreter."""
        self._closed = True
        if self._process is not None:
            self._process.terminate()
        if self._thread is not None:
            self._thread.join(_PATIENCE)

    def place(self, vectors: Floats) -> tuple[Floats, Rows]:
        """Points of new nodes, and for each the index on the map of the node it resembles most."""
        reduced, reference = self._reduce(np.asarray(vectors, np.float32)), self._reduced[:FITTED_AT_MOST]
        return between(reference, self.layout.points, reduced), nearest(reference, reduced, 1)[0][:, 0]

    def _draw(self, kind: Kind, points: Floats) -> Layout:
        colourings, regions = self._nodes.contents(points)
        version = hashlib.sha256(points.tobytes() + json.dumps([one.title for one in colourings]).encode())
        return Layout(kind, points, colourings, regions, version.hexdigest()[:16])

    def _read_kept(self) -> Floats | None:
        try:
            header = json.loads((self._folder / "map.json").read_text(encoding="utf-8"))
            points = np.load(self._folder / "points.npy", allow_pickle=False)
        except (OSError, ValueError):  # none, or damaged: it is computed again
            return None
        fits = isinstance(header, dict) and header.get("key") == self._key and points.shape == (len(self.rows), 2)
        if not fits or not np.isfinite(points).all():
            return None
        return np.asarray(points, np.float32)

    def _improve(self) -> None:
        """Compute the t-SNE map, for many nodes in a separate process, and keep it."""
        compute = lay_out if len(self._reduced) < _OWN_PROCESS else self._lay_out_apart
        try:
            points = np.asarray(compute(self._reduced, self._seed, self._report), np.float32)
            self.layout = self._draw("tsne", points)
            with replaced_folder(self._folder) as part:
                np.save(part / "points.npy", points)
                (part / "map.json").write_text(json.dumps({"key": self._key}), encoding="utf-8")
        except (CancelledError, EOFError, OSError, SanneError) as error:
            if not self._closed:
                logger.warning("the map could not be computed and saved: %r", error)
        finally:
            self.progress = None

    def _report(self, share: float) -> None:
        if self._closed:
            raise CancelledError
        self.progress = share

    def _lay_out_apart(self, reduced: Floats, seed: int, report: Callable[[float], None]) -> Floats:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=lay_out_apart, args=(theirs, seed), daemon=True)
        process.start()
        theirs.close()
        self._process = process
        with ours:
            ours.send(reduced)
            while isinstance(message := ours.recv(), float):
                report(message)
        process.join()
        return np.asarray(message)


def lay_out_apart(server: Connection, seed: int) -> None:
    """`lay_out` in a process of low priority: receives the rows, sends its progress and then the points."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the server, which ends this process
    if hasattr(os, "nice"):
        os.nice(_NICE)
    with threadpoolctl.threadpool_limits(1), contextlib.suppress(BrokenPipeError):  # the server is gone
        server.send(lay_out(server.recv(), seed, server.send))
