"""Edges only: which citations are missing?

    python examples/no_attributes.py

Cora's citations without the words of its papers. A tenth of them is hidden; vectors are trained on the rest, and have
to tell hidden citations from pairs without one. A node without attributes is described by its neighbours and by where
its walks lead, so a new node with edges gets a vector as well.
"""

import numpy as np

from sanne import SANNE, Graph, load_graph
from sanne.evaluate.link_prediction import score_links
from sanne.graph.split import hold_out_edges


def main() -> None:
    cora = load_graph("cora")
    sources = np.repeat(np.arange(cora.num_nodes), np.diff(cora.indptr))
    graph = Graph.from_edges(sources, cora.indices, node_ids=cora.node_ids)  # edges only
    rest, hidden, others = hold_out_edges(graph, 0.1, seed=0)
    print(f"{rest}; {len(hidden)} citations are hidden")

    model = SANNE("fast", random_state=0, progress=False).fit(rest)
    scores = score_links(model.embedding_, hidden, others)
    print(f"a hidden citation is closer than a pair without one: {scores['auc']:.1%} of the time, by vectors")

    # The simple baseline: how many neighbours two papers share.
    links = rest.adjacency().to_scipy().astype(bool).astype(int)
    shared = [
        np.asarray(links[pairs[:, 0]].multiply(links[pairs[:, 1]]).sum(axis=1)).ravel() for pairs in (hidden, others)
    ]
    wins = np.mean((shared[0][:, None] > shared[1]) + 0.5 * (shared[0][:, None] == shared[1]))
    print(f"the same by counting shared neighbours:              {wins:.1%}")

    # A new paper that cites three others.
    cited = np.argsort(-np.diff(graph.indptr))[:3]
    bigger = Graph.from_edges(
        np.append(sources, np.full(3, graph.num_nodes)),
        np.append(graph.indices, cited),
        node_ids=np.append(graph.node_ids, graph.node_ids.max() + 1),
    )
    found = model.embed(bigger, nodes=[bigger.node_ids[-1]])
    near = [int(other) for other, _ in model.similar(found.vectors[0], k=5)]
    print(f"a new paper that cites {sorted(graph.node_ids[cited].tolist())} is near {near}")


if __name__ == "__main__":
    main()
