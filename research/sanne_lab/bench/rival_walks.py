"""PecanPy's walks, timed where PecanPy is installed: that Python runs this file, which imports nothing of sanne.

The argument is an .npz file with indptr, indices and starts. Each line of stdin asks for a run, as in
{"order": 1, "threads": 2, "count": 1000, "walk_length": 8, "p": 0.5, "q": 2.0}; each is answered by a line with
its seconds and cpu_seconds. Only PecanPy's compiled loop is timed, without its translation to string ids.
"""

import json
import sys
import time
from importlib import metadata
from typing import Any

import numba
import numpy as np
from numba_progress import ProgressBar
from pecanpy import pecanpy


def prepare(arrays: Any, order: int, p: float, q: float) -> tuple[Any, Any, Any]:
    """PecanPy's fastest fitting class for the order, and its two compiled callbacks."""
    graph = pecanpy.FirstOrderUnweighted() if order == 1 else pecanpy.SparseOTF(p=p, q=q)
    graph.indptr = arrays["indptr"].astype(np.uint32)
    graph.indices = arrays["indices"].astype(np.uint32)
    graph.data = np.ones(len(graph.indices), np.float32)
    return graph, graph.get_has_nbrs(), graph.get_move_forward()


def run(engine: tuple[Any, Any, Any], starts: Any, threads: int, walk_length: int) -> dict[str, float]:
    """The time that walks from `starts` take."""
    graph, has_neighbours, move_forward = engine
    numba.set_num_threads(threads)
    with ProgressBar(total=len(starts), disable=True) as progress:
        started, cpu_started = time.perf_counter(), time.process_time()
        graph._random_walks(len(starts), walk_length - 1, 0, starts, has_neighbours, move_forward, progress)
        return {"seconds": time.perf_counter() - started, "cpu_seconds": time.process_time() - cpu_started}


def main() -> None:
    """Answer until stdin ends."""
    arrays = dict(np.load(sys.argv[1]))
    starts = arrays["starts"].astype(np.uint32)
    versions = {name: metadata.version(name) for name in ("pecanpy", "numpy", "numba")}
    sys.stdout.write(json.dumps(versions) + "\n")
    sys.stdout.flush()
    engines: dict[int, tuple[Any, Any, Any]] = {}
    for line in sys.stdin:
        ask = json.loads(line)
        if ask["order"] not in engines:
            engines[ask["order"]] = prepare(arrays, ask["order"], ask["p"], ask["q"])
        timing = run(engines[ask["order"]], starts[: ask["count"]], ask["threads"], ask["walk_length"])
        sys.stdout.write(json.dumps(timing) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
