"""`sanne explain`: what vectors are made of."""

from typing import TYPE_CHECKING, Annotated

import typer

from sanne.cli.options import CurrentGraph, Json, KnownText, ModelFolder, NodeTable, print_json, print_table

if TYPE_CHECKING:
    from sanne.infer.explain import MadeOf

_PARTS = {
    "own": "its own words",
    "around": "words of nodes around it",
    "links": "its links",
    "degree": "how many links it has",
    "average": "centring",
}


def explain(
    model: ModelFolder,
    node_ids: Annotated[list[str], typer.Argument(metavar="NODE_ID...")],
    graph: CurrentGraph = None,
    node_table: NodeTable = None,
    text: KnownText = None,
    k: Annotated[int, typer.Option("-k", help="How many words, links and nodes.", min=1)] = 10,
    as_json: Json = False,
) -> None:
    """Name the words, links and nodes that vectors are made of."""
    from sanne.infer.explain import made_of
    from sanne.model.artifact import Artifact
    from sanne.source import ModelSource

    artifact = Artifact.read(model)
    now = ModelSource.of_model(artifact, graph, node_table, text).load()
    found = made_of(artifact, now, node_ids, k)
    if as_json:
        print_json({"explained": [_as_dict(one) for one in found]})
        return
    for one in found:
        _print(one)


def _as_dict(one: "MadeOf") -> dict[str, object]:
    return {
        "id": one.node_id,
        "parts": {name: round(share, 4) for name, share in one.parts.items()},
        "words": [{"word": w.word, "share": round(w.share, 4), "own": round(w.own, 4)} for w in one.words],
        "links": [{"id": other, "share": round(share, 4)} for other, share in one.links],
        "nodes": [{"id": other, "share": round(share, 4)} for other, share in one.nodes],
    }


def _print(one: "MadeOf") -> None:
    if one.parts:
        print_table((f"node {one.node_id}", "share"), [(_PARTS[n], _percent(share)) for n, share in one.parts.items()])
    if one.words:
        rows = [(word.word, _percent(word.share), _percent(word.own)) for word in one.words]
        print_table(("word", "share", "by its own text"), rows)
    for title, listed in (("link to", one.links), ("node on its walks", one.nodes)):
        if listed:
            print_table((title, "share"), [(str(other), _percent(share)) for other, share in listed])


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"
