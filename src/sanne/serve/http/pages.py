"""Static pages, which contain nothing of the graph and so need no token."""

from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.staticfiles import StaticFiles
from starlette.types import Scope

REFERENCE = Path(__file__).parent / "reference"
_HEADERS = {
    # Nothing from another host, nothing inline, not inside a frame.
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


class _PageFiles(StaticFiles):
    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers.update(_HEADERS)
        return response


def add_page(app: FastAPI, path: str, folder: Path, below: str) -> None:
    """Serve the index.html of a folder at a path, and its files below another."""
    files = _PageFiles(directory=folder)

    async def index(request: Request) -> Response:
        return await files.get_response("index.html", request.scope)

    app.add_api_route(path, index, include_in_schema=False)
    app.mount(below, files)
    app.state.api.free_paths |= {path, *(f"{below}/{file.name}" for file in folder.iterdir())}
