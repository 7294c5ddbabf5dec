"""The page at / and its files, which need no token, since they hold nothing of the graph."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Response

from sanne.serve.explorer.routes import Explorer

FILES = Path(__file__).parent / "page"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
# Nothing from any other host, nothing inline, in nobody's frame.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


def add_page(app: FastAPI, explorer: Explorer) -> None:
    """Give the application its page, and the routes that the page needs."""
    api = app.state.api
    app.include_router(explorer.router(lambda call: api.reader.run(api.work.read, call)))
    app.include_router(page_router())


def page_files() -> dict[str, Path]:
    """The page's paths on the server, and their files."""
    found = {f"/page/{path.name}": path for path in sorted(FILES.iterdir()) if path.suffix in _TYPES}
    return {"/": FILES / "index.html"} | found


PATHS = tuple(page_files())


def page_router() -> APIRouter:
    """Routes for the page."""
    router = APIRouter()
    for place, path in page_files().items():
        router.add_api_route(place, _giver(path), methods=["GET"], include_in_schema=False)
    return router


def _giver(path: Path) -> Callable[[], Coroutine[Any, Any, Response]]:
    content = path.read_bytes()
    headers = {**_HEADERS, "content-type": _TYPES[path.suffix]}

    async def give() -> Response:
        return Response(content, headers=headers)

    return give
