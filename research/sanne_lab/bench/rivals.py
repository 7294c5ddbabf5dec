"""Rivals in a Python of their own: starts the process, asks it for runs, ends it."""

import json
import os
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from sanne.errors import InputError
from sanne.graph.graph import Adjacency, IntArray

_SCRIPT = Path(__file__).with_name("rival_walks.py")


class PecanPy:
    """PecanPy's walks over one adjacency; use it in a `with` block."""

    def __init__(self, python: Path, adjacency: Adjacency, starts: IntArray, threads: int) -> None:
        self._python = python
        self._folder = tempfile.TemporaryDirectory(prefix="sanne-bench-")
        file = Path(self._folder.name) / "graph.npz"
        np.savez(file, indptr=adjacency.indptr, indices=adjacency.indices, starts=starts.astype(np.uint32))
        try:
            self._process = subprocess.Popen(
                [str(python), "-I", str(_SCRIPT), str(file)],  # -I: its folder holds modules of ours, not of theirs
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=os.environ | {"NUMBA_NUM_THREADS": str(threads)},
            )
        except OSError as error:
            self._folder.cleanup()
            raise InputError(f"--rivals {python}: {error.strerror}; give the python of `make bench`") from None

    def __enter__(self) -> Self:
        self.versions = self._answer()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()  # ends stdin, and with it the process
        self._folder.cleanup()

    def timing(self, **ask: Any) -> dict[str, float]:
        """The seconds and cpu_seconds of one run; see rival_walks.py for what to ask."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(ask) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            problem = self._process.communicate()[1].strip().splitlines() or ["it ended without a word"]
            self._folder.cleanup()
            raise InputError(
                f"--rivals {self._python}: {problem[-1]}; "
                "`make bench` sets up a Python that has benchmarks/rivals/requirements.txt"
            )
        return dict(json.loads(line))
