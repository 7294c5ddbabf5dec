"""Every error as the same JSON: {"error": {"code", "message", "field"}}."""

import difflib
import logging
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
_TYPES = ("str", "int", "float", "bool")  # how pydantic names the alternatives of a union, besides names of classes


@dataclass(eq=False)
class Refusal(Exception):
    """An answer other than success: what a client is told, and the status that goes with it.

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

    def body(self) -> bytes:
        """The JSON of the answer."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.field is not None:
            error["field"] = self.field
        return orjson.dumps({"error": error})

    def response(self) -> Response:
        """The answer for the framework to send."""
        headers = {"retry-after": self.retry_after, "allow": self.allow}
        headers["www-authenticate"] = "Bearer" if self.status == 401 else None
        given = {name: str(value) for name, value in headers.items() if value is not None}
        return Response(self.body(), self.status, given, "application/json")


def busy(retry_after: int) -> Refusal:
    """The queue is full."""
    return Refusal(429, "busy", "too many requests are waiting: try again later", retry_after=retry_after)


def body_too_large(limit: int) -> Refusal:
    """More bytes than a request may have."""
    return Refusal(413, "body_too_large", f"the body is larger than {limit:,} bytes: send fewer nodes at a time")


def closing() -> Refusal:
    """The server is shutting down."""
    return Refusal(503, "closing", "the server is shutting down: try another one, or later", retry_after=5)


def add_error_handlers(app: FastAPI) -> None:
    """Answer whatever goes wrong in the same shape."""

    async def answer(request: Request, error: Exception) -> Response:
        return refusal_of(error).response()

    for kind in (Refusal, SanneError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, answer)


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
            logger.error("a request was answered 503: %s", error)  # names files, which are not for clients to see
            return Refusal(503, "store", "the store cannot be used now; see the server's log", retry_after=5)
        case SanneError():  # uvicorn logs others
            logger.error("a request was answered 500", exc_info=error)
    return Refusal(500, "internal", "internal error; see the server's log")


def _http(error: HTTPException) -> Refusal:
    code, message = _HTTP_CODES.get(error.status_code, ("http", str(error.detail)))
    status = 422 if error.status_code == 400 else error.status_code
    return Refusal(status, code, message, allow=(error.headers or {}).get("Allow"))


def _invalid(error: RequestValidationError) -> Refusal:
    """The first problem; where a field may be of several types, why it is none of them.

    If it nearly is one of them, like `{"to": "a", "weight": 0}`, only what is wrong with that one.
    """
    for item in error.errors():
        if item["type"] == "extra_forbidden":
            return Refusal(422, "invalid", _unknown_field(item["loc"], error.body), field=_path_of(item))
    found = [(_path_of(item), _reason(item)) for item in error.errors()]
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


def _unknown_field(place: tuple[str | int, ...], body: Any) -> str:
    """That a field does not exist, and which was meant: one of an object that may have the fields beside it."""
    *parts, name = place[1:]
    part: Any
    for part in parts:
        if isinstance(part, int) or (isinstance(body, dict) and part in body):  # or else it names a type
            body = body[part]
    beside = body.keys() - {name}
    shared = {kind: len(beside & kind.model_fields.keys()) for kind in _kinds(Strict)}
    most = max(shared.values())
    fields = {field for kind, count in shared.items() if count == most for field in kind.model_fields} - {name, *beside}
    near = difflib.get_close_matches(str(name)[:100].lower(), sorted(fields), n=1)
    known = f"; others are {', '.join(sorted(fields))}" if most and fields else ""
    return f"there is no field {str(name)[:100]!r}" + (f": did you mean {near[0]!r}?" if near else known)


def _kinds(kind: type[Strict]) -> list[type[Strict]]:
    return [kind, *(found for sub in kind.__subclasses__() for found in _kinds(sub))]


def _path_of(item: dict[str, Any]) -> str:
    """The path of an error, as in `nodes[2].links[0]`; empty for the request as a whole."""
    path = ""
    _, *parts = item["loc"]  # the first is "body", "query" or "path"
    for place, part in enumerate(parts):
        if isinstance(part, int):
            path += f"[{part}]" if path else ""
        elif _is_field(part) or (item["type"] == "extra_forbidden" and place == len(parts) - 1):
            path += f".{part}" if path else str(part)
    return path


def _is_field(part: str) -> bool:
    """Whether a part of a path names a field, and not one of the types that a field may have."""
    return part.isidentifier() and part.islower() and part not in _TYPES
