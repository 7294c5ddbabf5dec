"""The map of a server's nodes: computed once in the background, kept in the store folder; new nodes are added to it."""

import hashlib
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sanne.draw.reduce import PrincipalAxes, first_two, tsne_package
from sanne.errors import MissingExtraError, SanneError
from sanne.evaluate.labels import has_label
from sanne.files.atomic import replaced_folder
from sanne.serve.explorer.layout import (
    FITTED_AT_MOST,
    Floats,
    Placer,
    Rows,
    centred,
    drawn_rows,
    lay_out,
    nearest,
)

logger = logging.getLogger(__name__)

Colours = npt.NDArray[np.uint16]
Kind = Literal["tsne", "pca"]
Colouring = Literal["label", "community", "none"]

FOLDER = "map"  # inside the store
NO_COLOUR = 2**16 - 1
CLASSES_AT_MOST = 200  # in the legend; rarer labels have no colour
_FORMAT = 1
_CLOUD = 24  # points around a new node, to show how far its spread reaches
_PATIENCE = 20.0  # seconds for a layout to stop
_NICE = 5  # the layout has a lower priority than requests
_OWN_PROCESS = 1000  # nodes; fewer take less time than starting a process does


@dataclass(frozen=True, eq=False)
class Layout:
    """A map as the page draws it."""

    kind: Kind
    rows: Rows  # (drawn,): rows of the nodes
    points: Floats  # (drawn, 2)
    colours: Colours  # (drawn,): index into `classes`, or NO_COLOUR
    classes: list[str]
    colouring: Colouring
    version: str  # changes with points and colours


class _StoppedError(Exception):
    """The server stops while a map is computed."""


class NodeMap:
    """Two coordinates for every node, or for a sample of very many, and for new nodes.

    The first map shows two principal axes. Unless the folder has a t-SNE map of these vectors already, a process of
    low priority computes one, and `layout` changes when it is done.
    """

    def __init__(self, folder: Path, vectors: Floats, labels: npt.NDArray[Any] | None = None, *, seed: int = 0) -> None:
        self._folder = folder / FOLDER
        self._seed = seed
        self._rows = drawn_rows(len(vectors), seed)
        drawn = np.ascontiguousarray(vectors[self._rows], np.float32)
        self._reduce = PrincipalAxes.of(drawn[:FITTED_AT_MOST])
        self._reduced = self._reduce(drawn)
        self._reference = self._reduced[:FITTED_AT_MOST]
        self._labels = _label_colours(None if labels is None else labels[self._rows])
        self._key = hashlib.sha256(drawn.tobytes() + f"{_FORMAT} {seed}".encode()).hexdigest()
        self._lock = threading.Lock()  # one placing at a time
        self._process: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None
        self._closed = False
        self.total = len(vectors)
        self.progress: float | None = None  # of the t-SNE map that is being computed
        self._set("pca", centred(first_two(self._reduced)), None)

    def start(self) -> None:
        """Use the map on disk, or start computing one in the background."""
        kept = self._read_kept()
        if kept is not None:
            self._set("tsne", *kept)
            return
        try:
            tsne_package()
        except MissingExtraError as error:
            logger.warning("%s; the map shows two principal axes instead", error)
            return
        self.progress = 0.0
        self._thread = threading.Thread(target=self._lay_out, name="sanne-map", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop a running layout and wait for it: its compiled loops must not outlive the interpreter."""
        self._closed = True
        if self._process is not None:
            self._process.terminate()
        if self._thread is not None:
            self._thread.join(_PATIENCE)

    def place(self, vectors: Floats) -> tuple[Floats, Colours]:
        """Points and colours of new nodes; they have a colour only if communities are shown."""
        reduced = self._reduce(np.asarray(vectors, np.float32))
        with self._lock:
            layout, placer = self.layout, self._placer
            points = placer(reduced)
        colours = np.full(len(reduced), NO_COLOUR, np.uint16)
        if layout.colouring == "community" and len(reduced):
            colours = layout.colours[nearest(self._reference, reduced, 1)[0][:, 0]]
        return points, colours

    def reach(self, vector: Floats, spread: float, point: Floats) -> float:
        """How far a node's point would move if its vector moved by its spread, averaged over directions."""
        if not np.isfinite(spread) or spread <= 0:
            return 0.0
        steps = np.random.default_rng(0).normal(size=(_CLOUD, len(vector)))
        steps *= spread / np.linalg.norm(steps, axis=1, keepdims=True)
        around, _ = self.place(np.asarray(vector + steps, np.float32))
        return float(np.sqrt(((around - point) ** 2).sum(axis=1).mean()))

    def _set(self, kind: Kind, points: Floats, communities: Colours | None) -> None:
        placer = Placer(self._reference, points[: len(self._reference)], tsne=kind == "tsne")
        colouring: Colouring
        if self._labels is not None:
            colouring, (colours, classes) = "label", self._labels
        elif communities is not None:
            colouring, colours = "community", communities
            classes = [f"community {number + 1}" for number in range(int(communities.max()) + 1)]
        else:
            colouring, colours, classes = "none", np.full(len(points), NO_COLOUR, np.uint16), []
        version = hashlib.sha256(points.tobytes() + colours.tobytes() + json.dumps(classes).encode()).hexdigest()[:16]
        with self._lock:
            self.layout = Layout(kind, self._rows, points, colours, classes, colouring, version)
            self._placer = placer

    def _read_kept(self) -> tuple[Floats, Colours] | None:
        try:
            header = json.loads((self._folder / "map.json").read_text(encoding="utf-8"))
            points = np.load(self._folder / "points.npy", allow_pickle=False)
            communities = np.load(self._folder / "communities.npy", allow_pickle=False)
        except (OSError, ValueError):  # none, or damaged: it is computed again
            return None
        fits = isinstance(header, dict) and header.get("key") == self._key and points.shape == (len(self._rows), 2)
        if not fits or communities.shape != (len(self._rows),) or not np.isfinite(points).all():
            return None
        return points.astype(np.float32), communities.astype(np.uint16)

    def _lay_out(self) -> None:
        """Compute the layout, for many nodes in a process of its own, and keep it."""
        work = Path(tempfile.mkdtemp(prefix="sanne-map-"))
        try:
            np.save(work / "reference.npy", self._reference)
            np.save(work / "others.npy", self._reduced[len(self._reference) :])
            if len(self._reference) < _OWN_PROCESS:
                lay_out(work, self._seed, self._report)
            elif not self._run(work):
                return
            points, communities = np.load(work / "points.npy"), np.load(work / "communities.npy")
            self._set("tsne", points, communities)
            with replaced_folder(self._folder) as part:
                np.save(part / "points.npy", points)
                np.save(part / "communities.npy", communities)
                (part / "map.json").write_text(json.dumps({"key": self._key, "count": len(points)}), encoding="utf-8")
        except _StoppedError:
            pass
        except (OSError, SanneError) as error:
            logger.warning("the map could not be saved: %s", error)
        finally:
            self.progress = None
            shutil.rmtree(work, ignore_errors=True)

    def _report(self, share: float) -> None:
        if self._closed:
            raise _StoppedError
        self.progress = share

    def _run(self, work: Path) -> bool:
        command = [sys.executable, "-m", "sanne.serve.explorer.layout", str(work), str(self._seed)]
        calm = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=calm) as process:
            self._process = process
            _lower_priority(process.pid)
            if self._closed:
                process.terminate()
            assert process.stdout is not None
            assert process.stderr is not None
            for line in process.stdout:
                self.progress = float(line)
            complaint = process.stderr.read().strip().splitlines()
        if process.returncode != 0 and not self._closed:
            logger.warning("the map could not be computed: %s", complaint[-1] if complaint else process.returncode)
        return process.returncode == 0


def _lower_priority(process: int) -> None:
    """Lower the priority of a process, where the system has priorities."""
    if hasattr(os, "setpriority"):
        os.setpriority(os.PRIO_PROCESS, process, _NICE)


def _label_colours(labels: npt.NDArray[Any] | None) -> tuple[Colours, list[str]] | None:
    """Colours and names of the labels, the most frequent if there are too many; None without labels."""
    if labels is None or labels.ndim != 1:
        return None
    given = has_label(labels)
    if not given.any():
        return None
    values = np.array([str(value) for value in np.asarray(labels)[given].tolist()], dtype=object)
    distinct, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    names = [str(name) for name in distinct]
    order = sorted(range(len(names)), key=lambda i: _sort_key(names[i]))
    if len(names) > CLASSES_AT_MOST:
        order = sorted(order, key=lambda i: -counts[i])[:CLASSES_AT_MOST]
    colour_of = np.full(len(names), NO_COLOUR, np.uint16)
    colour_of[order] = np.arange(len(order))
    colours = np.full(len(labels), NO_COLOUR, np.uint16)
    colours[given] = colour_of[place]
    return colours, [names[i] for i in order]


def _sort_key(name: str) -> tuple[bool, float, str]:
    """Sorts numbers by value, then words."""
    try:
        return False, float(name), name
    except ValueError:
        return True, 0.0, name
