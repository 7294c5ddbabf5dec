"""The description of the API, with this server's limits and with examples that work on this model."""

from typing import Any

from sanne.serve.engine.engine import Engine
from sanne.serve.limits import ServeLimits


def describe(schema: dict[str, Any], engine: Engine, config: ServeLimits) -> None:
    """Complete the description that FastAPI generates."""
    _add_limits(schema["components"]["schemas"], config)
    _add_examples(schema["paths"], engine, engine.some_ids(2))


def _add_limits(schemas: dict[str, Any], config: ServeLimits) -> None:
    schemas["Edges"]["properties"]["edges"]["maxItems"] = config.max_nodes
    for name in ("Node", "Guest", "NodeContent"):
        schemas[name]["properties"]["links"]["maxItems"] = config.max_links
    for asked in (schemas["Nodes"]["properties"], schemas["Guests"]["properties"]):
        asked["nodes"]["maxItems"] = config.max_nodes
        for count in (*asked["explain"]["anyOf"], asked["similar"]):
            if count["type"] == "integer":
                count["maximum"] = config.max_similar
    schemas["PredictQuery"]["properties"]["ids"]["maxItems"] = config.max_nodes
    schemas["SimilarQuery"]["properties"]["k"]["maximum"] = config.max_similar


def _add_examples(paths: dict[str, Any], engine: Engine, ids: list[Any]) -> None:
    content: dict[str, Any] = {"links": ids[:1]}
    if engine.reads == "text":
        content["text"] = "A new paper about random walks on graphs"
    elif engine.reads == "features":
        content["features"] = {"indices": [0], "values": [1.0]}
    new_id = -1 if ids and isinstance(ids[0], int) else "new-node"
    wanted = {"explain": 5, "similar": 5, "vectors": False, "predict": engine.predicts}
    edges = {"edges": [{"src": ids[0], "dst": ids[-1], "weight": 1.0}]} if len(ids) > 1 else None
    for path, method, example in (
        ("/v1/embed", "post", {"nodes": [content], **wanted}),
        ("/v1/nodes", "post", {"nodes": [{"id": new_id, **content}], **wanted}),
        ("/v1/nodes/{node_id}", "put", content | {"links": ids[1:2]}),  # of the node ids[0]
        ("/v1/edges", "post", edges),
        ("/v1/similar", "post", {"node": content, "k": 5}),
        ("/v1/predict", "post", {"ids": ids} if ids and engine.predicts else None),
        ("/v1/refresh", "post", {"limit": 100}),
        ("/v1/map/place", "post", {"nodes": [{"vector": [1.0] + [0.0] * (engine.dim - 1)}]}),
    ):
        if example is not None and path in paths:  # a server without its page has no map
            paths[path][method]["requestBody"]["content"]["application/json"]["example"] = example
    for methods in paths.values():
        for operation in methods.values():
            for parameter in operation.get("parameters", ()):
                if parameter["name"] in ("node_id", "q") and ids:
                    parameter["example"] = str(ids[0])
                elif parameter["name"] == "by":
                    parameter["example"] = "uncertainty"
