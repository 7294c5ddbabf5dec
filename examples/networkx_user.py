"""A networkx graph in, node attributes out: similar characters in Les Misérables.

    python examples/networkx_user.py         # needs networkx

The graph has edge weights (how often two characters appear together) and no node attributes. Cosette is removed before
training, and added back as a new node.
"""

import networkx as nx

from sanne import SANNE


def main() -> None:
    novel = nx.les_miserables_graph()
    before = novel.copy()
    before.remove_node("Cosette")

    # fit takes a networkx graph directly; ids are its node names, in its order.
    model = SANNE("fast", random_state=0, progress=False).fit(before)
    vectors = dict(zip(before.nodes, model.embedding_, strict=True))
    nx.set_node_attributes(before, vectors, "vector")  # where networkx users expect them
    print(f"{before}; every node has a vector with {len(before.nodes['Valjean']['vector'])} dimensions")
    for name in ("Javert", "Enjolras", "Fantine"):
        show(model, name, novel)

    # Cosette is added. Nothing is retrained: her vector is computed from walks that start at her.
    model.transform(novel, nodes=["Cosette"])
    print("Cosette was not in the training graph:")
    show(model, "Cosette", novel)


def show(model: SANNE, name: str, novel: nx.Graph) -> None:
    near = [other for other, _ in model.similar(name, k=5)]
    met = sum(novel.has_edge(name, other) for other in near)
    print(f"near {name:9}: {', '.join(near)}  ({met} of 5 appear with {name})")


if __name__ == "__main__":
    main()
