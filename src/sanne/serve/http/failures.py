"""Errors of the engine, of validation and of routing as answers in the one JSON shape."""

import logging
from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from sanne.errors import FieldError, InputError, NodeExistsError, SanneError, StoreError, UnknownNodeError
from sanne.serve.http import schemas as requests
from sanne.serve.http.errors import Refusal

logger = logging.getLogger(__name__)

_HTTP_CODES = {
    400: ("bad_request", "the body cannot be read as JSON"),
    404: ("no_such_path", "there is nothing at this path; /openapi.json lists what there is"),
    405: ("method_not_allowed", "this path does not take this method; /openapi.json lists what there is"),
}
_FIELDS = {
    name
    for model in vars(requests).values()
    if isinstance(model, type) and issubclass(model, requests.Strict)
    for name in model.model_fields
} | {"node_id", "k", "q", "limit", "after", "spread"}


class JsonRequest(Request):
    """A request whose JSON is read by a quick and strict parser: no NaN, no half surrogates."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = orjson.loads(await self.body())
        return self._json


class JsonRoute(APIRoute):
    """A route that reads its body as `JsonRequest` does."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def with_json(request: Request) -> Response:
            return await handler(JsonRequest(request.scope, request.receive))

        return with_json


def add_failures(app: FastAPI) -> None:
    """Let everything that goes wrong be answered in the same shape."""
    kinds: dict[type[Exception], Callable[[Any], Refusal]] = {
        Refusal: lambda error: error,
        SanneError: refusal_of,
        RequestValidationError: _invalid,
        HTTPException: _http,
        Exception: lambda error: _unexpected(),
    }
    for kind, refusal_for in kinds.items():
        app.add_exception_handler(kind, _handler(refusal_for))


def _handler(refusal_for: Callable[[Any], Refusal]) -> Callable[[Request, Exception], Coroutine[Any, Any, Response]]:
    async def handle(request: Request, error: Exception) -> Response:
        refusal = refusal_for(error)
        return Response(refusal.body(), refusal.status, refusal.headers(), "application/json")

    return handle


def refusal_of(error: Exception) -> Refusal:
    """What a client is told when the engine raised this."""
    if isinstance(error, UnknownNodeError):
        return Refusal(404, "unknown_node", str(error))
    if isinstance(error, NodeExistsError):
        return Refusal(409, "node_exists", str(error))
    if isinstance(error, FieldError):
        return Refusal(422, "invalid", error.message, field=error.field)
    if isinstance(error, InputError):
        return Refusal(422, "invalid", str(error))
    if isinstance(error, StoreError):
        logger.error("a request was answered 503: %s", error)  # names files, which are none of a client's business
        return Refusal(503, "store", "the store cannot be used now; the server's log has the details", retry_after=5)
    logger.error("a request was answered 500", exc_info=error)
    return _unexpected()


def _unexpected() -> Refusal:
    return Refusal(500, "internal", "something went wrong here; the server's log has the details")


def _http(error: Any) -> Refusal:
    code, message = _HTTP_CODES.get(error.status_code, ("http", str(error.detail)))
    status = 422 if error.status_code == 400 else error.status_code
    return Refusal(status, code, message, allow=(error.headers or {}).get("Allow"))


def _invalid(error: Any) -> Refusal:
    """The first thing that is wrong; where a field may be of several kinds, why it is none of them.

    Where one of the kinds was nearly met, as by `{"to": "a", "weight": 0}`, only what is missing from it.
    """
    found = [(path_of(item) or "", _reason(item)) for item in error.errors()]
    field = max((path for path, _ in found if path.startswith(found[0][0])), key=len)
    reasons = [reason for path, reason in found if path == field]
    return Refusal(422, "invalid", ", or: ".join(dict.fromkeys(reasons)), field=field or None)


def _reason(item: dict[str, Any]) -> str:
    if item["type"] == "json_invalid":
        return f"not JSON: {item['ctx']['error']}"
    if item["type"] == "missing" and tuple(item["loc"]) == ("body",):
        return "a JSON body with the header Content-Type: application/json is required"
    if item["type"] in ("model_attributes_type", "dict_type", "model_type") and isinstance(item["input"], bytes):
        return "send the header Content-Type: application/json"
    return str(item["msg"]).removeprefix("Value error, ")


def path_of(item: dict[str, Any]) -> str | None:
    """Where an error stands, as in `nodes[2].links[0]`; None for the request as a whole."""
    path = ""
    last = len(item["loc"]) - 1
    for place, part in enumerate(item["loc"]):
        if isinstance(part, int):
            path += f"[{part}]" if path else ""
        elif part in _FIELDS or (item["type"] == "extra_forbidden" and place == last):  # others name kinds of a union
            path += f".{part}" if path else str(part)
    return path or None
