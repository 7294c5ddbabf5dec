"""One JSON shape for everything that the server refuses: {"error": {"code", "message", "field"}}."""

from typing import Any

import orjson
from starlette.types import Send


class Refusal(Exception):
    """An answer other than success: what a client is told, and the status that goes with it.

    `field` names the part of the request at fault, as in `nodes.0.links.1`; `retry_after` is in seconds; `allow`
    lists the methods that a path takes.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        field: str | None = None,
        retry_after: int | None = None,
        allow: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.field = field
        self.retry_after = retry_after
        self.allow = allow

    def body(self) -> bytes:
        """The JSON of the answer."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.field is not None:
            error["field"] = self.field
        return orjson.dumps({"error": error})

    def headers(self) -> dict[str, str]:
        """What the answer's head says beside length and type."""
        headers = {}
        if self.retry_after is not None:
            headers["retry-after"] = str(self.retry_after)
        if self.allow is not None:
            headers["allow"] = self.allow
        if self.status == 401:
            headers["www-authenticate"] = "Bearer"
        return headers

    async def send(self, send: Send) -> None:
        """Answer with this, where no framework does it."""
        body = self.body()
        headers = {"content-type": "application/json", "content-length": str(len(body))} | self.headers()
        pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": self.status, "headers": pairs})
        await send({"type": "http.response.body", "body": body})

    def as_http(self) -> bytes:
        """A whole HTTP/1.1 answer after which the connection is closed, for what is refused before it is a request."""
        body = self.body()
        head = (
            f"HTTP/1.1 {self.status} \r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
            "connection: close\r\n"
        )
        more = "".join(f"{name}: {value}\r\n" for name, value in self.headers().items())
        return (head + more + "\r\n").encode("latin-1") + body


def busy(retry_after: int) -> Refusal:
    """The queue is full."""
    return Refusal(429, "busy", "too many requests are waiting: send this one again later", retry_after=retry_after)


def body_too_large(limit: int) -> Refusal:
    """More bytes than a request may have."""
    return Refusal(413, "body_too_large", f"the body is larger than {limit:,} bytes: send fewer nodes at a time")


def closing() -> Refusal:
    """The server is on its way out."""
    return Refusal(503, "closing", "the server is shutting down: send this to another, or later", retry_after=5)
