"""Nearest-neighbour search with FAISS: index all papers, and look up new ones.

    python examples/nearest_neighbours.py    # needs sanne[ann]

`sanne export` writes an exact index. For millions of nodes, build an HNSW index of the same vectors, as shown here: it
compares only a small part of the vectors and finds nearly the same neighbours.
"""

import tempfile
import time
from pathlib import Path

import faiss
import numpy as np

from sanne import SANNE, load_graph
from sanne.graph.split import hide_nodes
from sanne.vectors.formats import export_vectors

NEW = 300
NEAREST = 10


def main() -> None:
    cora = load_graph("cora")
    arrived = np.random.default_rng(0).permutation(cora.num_nodes)[:NEW]
    model = SANNE("fast", random_state=0, progress=False).fit(hide_nodes(cora, arrived))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        model.save(folder / "model")
        export_vectors(folder / "model", "faiss", folder / "papers.faiss")  # sanne export model --to faiss --out ...
        exact = faiss.read_index(str(folder / "papers.faiss"))
        ids = np.array((folder / "papers.ids.txt").read_text(encoding="utf-8").splitlines()).astype(int)
    print(f"an exact index of {exact.ntotal} vectors with {exact.d} dimensions")

    # An approximate index for large graphs.
    quick = faiss.IndexHNSWFlat(exact.d, 32, faiss.METRIC_INNER_PRODUCT)
    quick.add(exact.reconstruct_n(0, exact.ntotal))

    # The new papers, normalised to unit length like the vectors in the index.
    queries = model.transform(cora, nodes=cora.node_ids[arrived])
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    found = {}
    for name, index in (("exact", exact), ("HNSW", quick)):
        started = time.perf_counter()
        _, found[name] = index.search(queries, NEAREST)
        print(f"{name:5}: {NEW} new papers looked up, {1e6 * (time.perf_counter() - started) / NEW:.0f} µs each")
    same = [len(set(a) & set(b)) / NEAREST for a, b in zip(found["exact"], found["HNSW"], strict=True)]
    print(f"HNSW finds {np.mean(same):.1%} of the exact {NEAREST} nearest")

    assert cora.labels is not None
    class_of = dict(zip(cora.node_ids.tolist(), cora.labels.tolist(), strict=True))
    hits = [
        class_of[int(ids[row])] == cora.labels[node]
        for node, rows in zip(arrived, found["exact"], strict=True)
        for row in rows
    ]
    print(f"{np.mean(hits):.0%} of them share the class of the new paper")


if __name__ == "__main__":
    main()
