"""The map of a server's nodes: computed once in the background, kept in the store folder; new nodes are added to it."""

import hashlib
import json
import logging
import multiprocessing
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sanne.draw.reduce import PrincipalAxes, first_two, tsne_package
from sanne.errors import MissingExtraError, SanneError
from sanne.evaluate.splits import has_label
from sanne.files.atomic import replaced_folder
from sanne.serve.explorer.layout import (
    FITTED_AT_MOST,
    Colours,
    Floats,
    Rows,
    between,
    drawn_rows,
    lay_out,
    lay_out_apart,
    nearest,
)

logger = logging.getLogger(__name__)

Kind = Literal["tsne", "pca"]
Colouring = Literal["label", "community", "none"]

FOLDER = "map"  # inside the store
NO_COLOUR = 2**16 - 1
CLASSES_AT_MOST = 200  # in the legend; rarer labels have no colour
_FORMAT = 1
_PATIENCE = 20.0  # seconds for a layout to stop
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
        reduced = self._reduce(drawn)
        self._reference, self._others = reduced[:FITTED_AT_MOST], reduced[FITTED_AT_MOST:]
        self._labels = _label_colours(None if labels is None else labels[self._rows])
        self._key = hashlib.sha256(drawn.tobytes() + f"{_FORMAT} {seed}".encode()).hexdigest()
        self._process: BaseProcess | None = None
        self._thread: threading.Thread | None = None
        self._closed = False
        self.total = len(vectors)
        self.progress: float | None = None  # of the t-SNE map that is being computed
        self.layout = self._draw("pca", np.asarray(first_two(reduced), np.float32), None)

    def start(self) -> None:
        """Use the map on disk, or start computing one in the background."""
        kept = self._read_kept()
        if kept is not None:
            self.layout = self._draw("tsne", *kept)
            return
        try:
            tsne_package()
        except MissingExtraError as error:
            logger.warning("%s; the map shows two principal axes instead", error)
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

    def place(self, vectors: Floats) -> tuple[Floats, Colours]:
        """Points and colours of new nodes; they have a colour only if communities are shown."""
        reduced, layout = self._reduce(np.asarray(vectors, np.float32)), self.layout
        colours = np.full(len(reduced), NO_COLOUR, np.uint16)
        if layout.colouring == "community":
            colours = layout.colours[nearest(self._reference, reduced, 1)[0][:, 0]]
        return between(self._reference, layout.points, reduced), colours

    def _draw(self, kind: Kind, points: Floats, communities: Colours | None) -> Layout:
        colouring: Colouring
        if self._labels is not None:
            colouring, (colours, classes) = "label", self._labels
        elif communities is not None:
            colouring, colours = "community", communities
            classes = [f"community {number + 1}" for number in range(int(communities.max()) + 1)]
        else:
            colouring, colours, classes = "none", np.full(len(points), NO_COLOUR, np.uint16), []
        version = hashlib.sha256(points.tobytes() + colours.tobytes() + json.dumps(classes).encode()).hexdigest()[:16]
        return Layout(kind, self._rows, points, colours, classes, colouring, version)

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

    def _improve(self) -> None:
        """Compute the t-SNE map, for many nodes in a process of its own, and keep it."""
        compute = lay_out if len(self._reference) < _OWN_PROCESS else self._lay_out_apart
        try:
            points, communities = compute(self._reference, self._others, self._seed, self._report)
            self.layout = self._draw("tsne", points, communities)
            with replaced_folder(self._folder) as part:
                np.save(part / "points.npy", points)
                np.save(part / "communities.npy", communities)
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

    def _lay_out_apart(
        self, reference: Floats, others: Floats, seed: int, report: Callable[[float], None]
    ) -> tuple[Floats, Colours]:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=lay_out_apart, args=(theirs, seed), daemon=True)
        process.start()
        theirs.close()
        self._process = process
        with ours:
            ours.send((reference, others))
            while isinstance(message := ours.recv(), float):
                report(message)
        process.join()
        return message


def _label_colours(labels: npt.NDArray[Any] | None) -> tuple[Colours, list[str]] | None:
    """Colours and names of the labels, the most frequent if there are too many; None without labels."""
    if labels is None or labels.ndim != 1 or not (given := has_label(labels)).any():
        return None
    names = [str(value) for value in labels[given].tolist()]
    classes = sorted((name for name, _ in Counter(names).most_common(CLASSES_AT_MOST)), key=_sort_key)
    colour_of = {name: colour for colour, name in enumerate(classes)}
    colours = np.full(len(labels), NO_COLOUR, np.uint16)
    colours[given] = [colour_of.get(name, NO_COLOUR) for name in names]
    return colours, classes


def _sort_key(name: str) -> tuple[bool, float, str]:
    """Sorts numbers by value, then words."""
    try:
        return False, float(name), name
    except ValueError:
        return True, 0.0, name
