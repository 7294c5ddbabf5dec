"""The map as one HTML file that needs no server: the web page of `sanne serve`, with the data inside."""

import base64
import gzip
import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sanne.draw.colours import NO_COLOUR
from sanne.draw.picture import MapPicture

FILES = Path(__file__).parent / "web"
_TEXTS_AT_MOST = 200_000  # nodes; with more, the file has ids only
_LETTERS = 300  # of a text
_LINKS_AT_MOST = 5_000_000
_SCRIPTS = '<script type="importmap">{}</script><script type="module">import "main.js";</script>'


def write_page(picture: MapPicture, path: Path) -> None:
    """Write a map as a page; scripts and styles are inlined, and nothing is loaded from a network."""
    packed = gzip.compress(json.dumps(_data(picture), separators=(",", ":")).encode(), compresslevel=6, mtime=0)
    imports = {file.name: _module(file.read_text(encoding="utf-8")) for file in sorted(FILES.glob("*.js"))}
    page = (FILES / "index.html").read_text(encoding="utf-8")
    for tag, inlined in (
        (r'<link rel="icon"[^>]*>', ""),
        (r'<link rel="stylesheet"[^>]*>', f"<style>{(FILES / 'page.css').read_text(encoding='utf-8')}</style>"),
        (r'<script type="module"[^>]*></script>', _SCRIPTS.format(json.dumps({"imports": imports}))),
        (r"<title>.*</title>", f"<title>{html.escape(picture.title or 'Map')}</title>"),
        (r"<body>", f'<body><script type="text/plain" id="offline">{base64.b64encode(packed).decode()}</script>'),
    ):  # fmt: skip
        before, after = re.split(tag, page)
        page = before + inlined + after
    path.write_text(page, encoding="utf-8")


def _data(picture: MapPicture) -> dict[str, Any]:
    count = len(picture.points)
    texts, links = picture.texts, picture.links
    if texts is not None:
        texts = [" ".join(str(text or "").split())[:_LETTERS] for text in texts] if count <= _TEXTS_AT_MOST else None
    if links is not None and len(links[1]) > _LINKS_AT_MOST:
        links = None
    info = {
        "version": "", "kind": picture.method, "progress": None, "drawn": count, "total": count, "new": picture.new,
        "no_colour": NO_COLOUR, "arrived": 0, "deleted": 0, "reads": "links", "feature_width": None, "predicts": False,
        "title": picture.title, "colourings": [colouring.described() for colouring in picture.colourings],
    }  # fmt: skip
    return {
        "info": info,
        "ids": picture.ids,
        "regions": [vars(region) for region in picture.regions],
        "points": _packed(picture.points, "<f4"),
        "colours": [_packed(colouring.codes, "<u2") for colouring in picture.colourings],
        "uncertainty": None if picture.uncertainty is None else _packed(picture.uncertainty, "<f4"),
        "texts": texts,
        "links": links and [_packed(links[0], "<u4"), _packed(links[1], "<u4")],
    }


def _packed(array: npt.NDArray[Any], kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(array.astype(kind)).tobytes()).decode()


def _module(script: str) -> str:
    """A script as a data URL; since that has no folder, its imports are names in the import map."""
    bare = re.sub(r'(from|import) "\./', r'\1 "', script)
    return f"data:text/javascript;base64,{base64.b64encode(bare.encode()).decode()}"
