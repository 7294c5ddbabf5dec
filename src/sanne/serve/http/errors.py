"""Every error as the same JSON: {"error": {"code", "message", "field"}}."""

import difflib
import logging
from collections.abc import Collection, Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from sanne.errors import FieldError, InputError, NodeExistsError, SanneError, StoreError, UnknownNodeError
from sanne.serve.http.schemas import Strict

logger = logging.getLogger(__name__)

_HTTP_CODES = {
    400: ("bad_request", "the body cannot be read as JSON"),
    404: ("no_such_path", "there is nothing at this path; /docs lists all paths"),
    405: ("method_not_allowed", "this path does not accept this method; /docs lists all methods"),
}


@dataclass(eq=False)
class Refusal(Exception):
    """An unsuccessful response: its status and what the client is told.

    `field` names the part of the request at fault, as in `nodes[0].links[1]`; `retry_after` is in seconds; `allow`
    lists the methods that a path accepts.
    """

    status: int
    code: str
    message: str
    _: KW_ONLY
    field: str | None = None
    retry_after: int | None = None
    allow: str | None = None

    def response(self) -> Response:
        """The response for the framework to send."""
        error = {"code": self.code, "message": self.message} | ({"field": self.field} if self.field else {})
        headers = {"retry-after": self.retry_after, "allow": self.allow}
        headers["www-authenticate"] = "Bearer" if self.status == 401 else None
        given = {name: str(value) for name, value in headers.items() if value is not None}
        return Response(orjson.dumps({"error": error}), self.status, given, "application/json")


def busy() -> Refusal:
    """The queue is full."""
    return Refusal(429, "busy", "too many requests are waiting: try again later", retry_after=1)


def add_error_handlers(app: FastAPI) -> None:
    """Report every error in the same form."""

    async def answer(request: Request, error: Exception) -> Response:
        return refusal_of(error).response()

    for kind in (Refusal, SanneError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, answer)


def check_parameters(given: Iterable[str], known: Collection[str]) -> None:
    """Refuse a parameter after the `?` of an address that its route does not have."""
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name[:100].lower(), known, n=1)
            taken = f"; this path takes {', '.join(sorted(known)) or 'none'}"
            hint = f": did you mean {near[0]!r}?" if near else taken
            raise FieldError(name[:100], f"there is no parameter {name[:100]!r}{hint}")


def refusal_of(error: Exception) -> Refusal:
    """What a client is told about an error."""
    match error:
        case Refusal():
            return error
        case RequestValidationError():
            return _invalid(error)
        case HTTPException():
            return _http(error)
        case UnknownNodeError():
            return Refusal(404, "unknown_node", str(error))
        case NodeExistsError():
            return Refusal(409, "node_exists", str(error))
        case FieldError():
            return Refusal(422, "invalid", error.message, field=error.field)
        case InputError():
            return Refusal(422, "invalid", str(error))
        case StoreError():
            logger.error("a request was answered 503: %s", error)  # it contains file names, which clients must not see
            return Refusal(503, "store", "the store is unavailable; see the server's log", retry_after=5)
        case SanneError():  # uvicorn logs others
            logger.error("a request was answered 500", exc_info=error)
    return Refusal(500, "internal", "internal error; see the server's log")


def _http(error: HTTPException) -> Refusal:
    code, message = _HTTP_CODES.get(error.status_code, ("http", str(error.detail)))
    status = 422 if error.status_code == 400 else error.status_code
    return Refusal(status, code, message, allow=(error.headers or {}).get("Allow"))


def _invalid(error: RequestValidationError) -> Refusal:
    """The first problem; if a field may have several types, why it has none of them.

    If it nearly has one of them, like `{"to": "a", "weight": 0}`, only what is wrong with that one.
    """
    found = []
    for item in error.errors():
        field, inside = _place(item, error.body)
        if item["type"] == "extra_forbidden":
            return Refusal(422, "invalid", _unknown_field(str(item["loc"][-1]), inside), field=field)
        found.append((field, _reason(item)))
    deepest = max((field for field, _ in found if field.startswith(found[0][0])), key=len)
    reasons = [reason for field, reason in found if field == deepest]
    return Refusal(422, "invalid", ", or: ".join(dict.fromkeys(reasons)), field=deepest or None)


def _place(item: dict[str, Any], body: Any) -> tuple[str, Any]:
    """The path of an error, as in `nodes[2].links[0]`, and the part of the body that it refers to.

    Besides fields, pydantic's path contains the types that a field may have: these are not in the body.
    """
    where, *parts = item["loc"]
    if where != "body":
        return ".".join(map(str, parts)), None
    path, inside = "", body
    for place, part in enumerate(parts):
        last = place == len(parts) - 1
        if isinstance(part, int) and isinstance(inside, list):
            path, inside = f"{path}[{part}]", inside[part]
        elif last and item["type"] in ("missing", "extra_forbidden"):
            path = f"{path}.{part}"
        elif isinstance(inside, dict) and part in inside:
            path, inside = f"{path}.{part}", inside[part]
    return path.removeprefix("."), inside


def _reason(item: dict[str, Any]) -> str:
    if item["type"] == "json_invalid":
        return f"not JSON: {item['ctx']['error']}"
    if item["type"] == "missing" and tuple(item["loc"]) == ("body",):
        return "a JSON body with the header Content-Type: application/json is required"
    if item["type"] in ("model_attributes_type", "dict_type", "model_type") and isinstance(item["input"], bytes):
        return "send the header Content-Type: application/json"
    if item["type"] in ("model_attributes_type", "dict_type", "model_type"):
        return "a JSON object, with its fields in braces, is expected here"
    return str(item["msg"]).removeprefix("Value error, ")


def _unknown_field(name: str, given: dict[str, Any]) -> str:
    """A message that a field does not exist, with the closest field of the object that it is in."""
    beside = given.keys() - {name}
    shared = {kind: len(beside & kind.model_fields.keys()) for kind in _kinds(Strict)}
    most = max(shared.values())
    fields = {field for kind, count in shared.items() if count == most for field in kind.model_fields} - {name, *beside}
    near = difflib.get_close_matches(name[:100].lower(), sorted(fields), n=1)
    known = f"; others are {', '.join(sorted(fields))}" if most and fields else ""
    return f"there is no field {name[:100]!r}" + (f": did you mean {near[0]!r}?" if near else known)


def _kinds(kind: type[Strict]) -> list[type[Strict]]:
    return [kind, *(found for sub in kind.__subclasses__() for found in _kinds(sub))]
