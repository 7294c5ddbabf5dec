"""Daily batches without a server: every night, embed the new nodes and append them to the existing vectors.

    python examples/daily.py

Cora grows for five days. The model is trained once, on the first day. A nightly job then reads the current graph,
embeds the papers of the day and writes them to their own file; DuckDB, pandas or polars read all files together as one
table. (arrivals.py sends nodes to a server one by one instead.)
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset as ds

from sanne import SANNE, Graph, load_graph
from sanne.datasets.catalogue import named_classes
from sanne.vectors.formats import write_vectors

DAYS = 5
PER_DAY = 60


def main() -> None:
    cora = load_graph("cora")
    order = np.random.default_rng(0).permutation(cora.num_nodes)
    start = cora.num_nodes - DAYS * PER_DAY
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "vectors").mkdir()
        first = cora.subgraph(order[:start])
        model = SANNE("fast", random_state=0, progress=False).fit(first)
        model.save(folder / "model")
        write_vectors(folder / "vectors" / "day-0.parquet", model.node_ids_, model.embedding_, model.uncertainty_)
        print(f"day 0: trained on {first}")
        for day in range(1, DAYS + 1):
            today = cora.subgraph(order[: start + day * PER_DAY])
            nightly_job(folder, day, today, new=today.node_ids[-PER_DAY:], classes_of=cora)
        table = ds.dataset(folder / "vectors").to_table()
        print(f"all days: {table.num_rows} vectors in {len(list((folder / 'vectors').iterdir()))} files")


def nightly_job(folder: Path, day: int, today: Graph, new: Any, classes_of: Graph) -> None:
    """What runs every night, in its own process: it only needs the model folder and the graph."""
    model = SANNE.load(folder / "model")
    found = model.embed(today, nodes=new)
    write_vectors(folder / "vectors" / f"day-{day}.parquet", found.node_ids, found.vectors, found.uncertainty)

    # Check: the three nearest papers of the first day should have the same class as the new paper.
    assert classes_of.labels is not None
    named = named_classes("cora", classes_of.labels)
    class_of = dict(zip(classes_of.node_ids.tolist(), named.tolist(), strict=True))
    same = [
        class_of[int(other)] == class_of[int(node)] for node in new.tolist() for other, _ in model.similar(node, k=3)
    ]
    unsure = found.node_ids[int(found.uncertainty.argmax())]
    share = f"{np.mean(same):.0%} of the nearest share their class"
    print(f"day {day}: {len(new)} new papers, {share}; largest uncertainty: {unsure}")


if __name__ == "__main__":
    main()
