"""Embed a graph folder with a rival, where the rivals are installed: that Python runs this file, one run a process.

    .venv-rivals/bin/python -I benchmarks/rivals/embed.py FOLDER fastrp|cleora|scipy

128 columns out. Prints one JSON object with the seconds of building and embedding, processor time and peak memory.
"""

import json
import resource
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

DIM = 128


def fastrp(indptr: Any, indices: Any) -> Any:
    """The Rust wheel."""
    from fastrp import fit_csr

    values = np.ones(len(indices), np.float32)
    weights = [0.0, 1.0, 1.0, 1.0]
    return fit_csr(indptr, indices, values, len(indptr) - 1, DIM, weights=weights, seed=0, undirected=False)


def cleora(indptr: Any, indices: Any) -> Any:
    """Four rounds without whitening; it reads edges as strings."""
    from pycleora import SparseMatrix, embed

    sources = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    once = sources < indices
    edges = (f"{a} {b}" for a, b in zip(sources[once].tolist(), indices[once].tolist(), strict=True))
    graph = SparseMatrix.from_iterator(edges, "complex::reflexive::node")
    return embed(graph, feature_dim=DIM, num_iterations=4, whiten=False)


def plain_fastrp(indptr: Any, indices: Any) -> Any:
    """FastRP in ten lines of scipy, one thread."""
    import scipy.sparse as sp

    nodes = len(indptr) - 1
    adjacency = sp.csr_matrix((np.ones(len(indices), np.float32), indices, indptr), (nodes, nodes))
    step = sp.diags((1 / np.maximum(np.diff(indptr), 1)).astype(np.float32)) @ adjacency
    rows = np.random.default_rng(0).choice(np.array([-1, 0, 1], np.float32), (nodes, DIM), p=[1 / 6, 2 / 3, 1 / 6])
    total = np.zeros_like(rows)
    for _ in range(3):
        rows = step @ rows
        total += rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return total


RIVALS = {"fastrp": (fastrp, "fastrp"), "cleora": (cleora, "pycleora"), "scipy": (plain_fastrp, "scipy")}


def _peak_bytes() -> int:
    """Of this process alone: `ru_maxrss` begins with that of the process which started it."""
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def main() -> None:
    folder, name = Path(sys.argv[1]), sys.argv[2]
    embed, package = RIVALS[name]
    arrays = [np.array(np.load(folder / f"{part}.npy"), np.int64) for part in ("indptr", "indices")]
    started = time.perf_counter()
    vectors = embed(*arrays)
    seconds, used = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
    result = {
        "rival": name,
        "version": metadata.version(package),
        "shape": list(np.shape(vectors)),
        "seconds": round(seconds, 2),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 2),
        "peak_bytes": _peak_bytes(),
    }
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
