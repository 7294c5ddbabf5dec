"""Does it pay to weigh kinds of links? Debian's sections, with weights given, chosen by likeness, and random links.

python -m sanne_lab.suite.kinds
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

from sanne.estimator import SANNE
from sanne.graph.load import load_graph
from sanne_lab.suite import score, splits
from sanne_lab.suite.graphs import SuiteGraph, data_folder

RANDOM = 150_000  # links that join anything with anything, half as many as Debian has
SPLITS = {"few": 8, "many": 3}


def main() -> None:
    folder = data_folder() / "suite"
    nodes, links = (pq.read_table(folder / f"debian-bookworm.{name}.parquet") for name in ("nodes", "edges"))
    ids, stream = nodes["id"].to_numpy(zero_copy_only=False), np.random.default_rng(0)
    ends = {name: ids[stream.integers(0, len(ids), RANDOM)] for name in ("src", "dst")}
    noisy = pa.concat_tables([links, pa.table(ends | {"kind": ["random"] * RANDOM})])
    others = dict.fromkeys(("Pre-Depends", "Recommends", "Suggests", "Enhances"), 0.0)
    runs: list[tuple[str, Any, Any]] = [
        ("equal", links, None),
        ("auto", links, "auto"),
        ("Depends alone", links, others),
        ("equal, random links", noisy, None),
        ("auto, random links", noisy, "auto"),
    ]
    labels = np.unique(nodes["section"].to_pylist(), return_inverse=True)[1]
    suite = SuiteGraph("debian", sp.csr_matrix((len(labels), len(labels))), None, labels)
    for name, table, weights in runs:
        graph = load_graph(table, node_table=nodes, text="text", label="section", kind="kind", kind_weights=weights)
        vectors = SANNE("fast", random_state=0, progress=False).fit(graph).embedding_
        found = [
            np.mean([score.accuracy(vectors, labels, splits.choice(suite, regime, i))[0] for i in range(count)])
            for regime, count in SPLITS.items()
        ]
        print(name, " / ".join(f"{value:.2f}" for value in found), graph.chosen.get("kind_weights", ""), flush=True)


if __name__ == "__main__":
    main()
