"""Pictures of docs/page.md: a map of Debian's packages, as `sanne plot` draws it and as the page of a server shows it.

Run: python docs/tools/screens.py EDGES NODES WORK, where the node table has the columns id, section and text. The model
is fitted into the folder WORK, with a classifier of sections from 3,000 packages, unless it is there already.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from PIL import Image
from playwright.sync_api import Page, sync_playwright
from scipy.spatial import KDTree

DOCS = Path(__file__).parents[1]
sys.path.insert(0, str(DOCS.parent / "tests"))
import browser  # noqa: E402

CHROMIUM = browser.find()
DRAWING = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


def sanne(*arguments: Any) -> None:
    subprocess.run([sys.executable, "-m", "sanne", *map(str, arguments)], check=True)


def fit(edges: Path, nodes: Path, work: Path) -> Path:
    """A model of the packages, with a classifier."""
    model = work / "debian"
    if not (model / "classifier.json").exists():
        sanne("fit", edges, "--node-table", nodes, "--text", "text", "--recipe", "fast", "--out", model)
        table = pq.read_table(nodes, columns=["id", "section"])
        some = np.sort(np.random.default_rng(0).permutation(table.num_rows)[:3000])
        pq.write_table(table.take(some), work / "labels.parquet")
        labels = ["--labels", work / "labels.parquet", "--label", "section"]
        sanne("predict", model, *labels, "--save", "--out", work / "predictions.parquet")
    return model


@contextlib.contextmanager
def serving(model: Path) -> Iterator[str]:
    """The address of a server whose map is laid out."""
    command = [sys.executable, "-m", "sanne", "serve", str(model), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            url = json.loads(server.stdout.readline())["url"]
            while json.load(urllib.request.urlopen(f"{url}/v1/map"))["progress"] is not None:
                time.sleep(1)
            yield url
        finally:
            server.terminate()


@contextlib.contextmanager
def visit(url: str, width: int, height: int, scheme: Any) -> Iterator[Page]:
    """The page in a browser of its own."""
    size: Any = {"width": width, "height": height}
    scale = 1 if width > 600 else 2
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=DRAWING)
        page = chromium.new_page(viewport=size, color_scheme=scheme, reduced_motion="reduce", device_scale_factor=scale)
        page.set_default_timeout(120_000)
        page.goto(url)
        page.locator("#facts", has_text="nodes").wait_for(state="attached")
        page.locator("#notice").wait_for(state="hidden")
        page.wait_for_timeout(2000)
        yield page
        chromium.close()


def open_node(page: Page, name: str) -> None:
    page.fill("#query", name)
    page.locator("#query-list li").first.wait_for()
    page.keyboard.press("Enter")
    page.locator("#panel", has_text="Linked").wait_for()
    page.wait_for_timeout(2000)


def take(url: str) -> None:
    """Desktop and phone, light and dark."""
    pictures = DOCS / "pictures"
    with visit(url, 1440, 900, "light") as page:
        page.screenshot(path=pictures / "page-map.png")
        open_node(page, "gimp")
        page.screenshot(path=DOCS / "page.png")
    with visit(url, 1440, 900, "dark") as page:
        page.focus("#points")
        for key in ["ArrowRight"] * 6 + ["+"] * 5:
            page.keyboard.press(key)
        page.locator("#points").blur()
        page.mouse.move(850, 450)
        page.wait_for_timeout(2000)
        page.screenshot(path=pictures / "page-dark.png")
    for scheme in ("light", "dark"):
        with visit(url, 390, 780, scheme) as page:
            if scheme == "light":
                open_node(page, "gimp")
            page.screenshot(path=pictures / f"page-phone-{scheme}.png")


def shrink(path: Path) -> None:
    """Write a picture again with its 64 commonest colours and 192 others: a third of the bytes, and looks the same."""
    with Image.open(path) as picture:
        full = picture.convert("RGB")
    common = [colour for _, colour in sorted(full.getcolors(2**24) or [], reverse=True)[:64]]
    others = full.quantize(192, Image.Quantize.MAXCOVERAGE).getpalette() or []
    palette = np.concatenate([np.array(common), np.reshape(others, (-1, 3))]).astype(np.uint8)
    colours, places = np.unique(np.asarray(full).reshape(-1, 3), axis=0, return_inverse=True)
    nearest = KDTree(palette).query(colours)[1].astype(np.uint8)
    fewer = Image.fromarray(nearest[places].reshape(full.size[::-1]))
    fewer.putpalette(palette.tobytes())
    fewer.save(path, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("edges", "nodes", "work"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--only", choices=["plot", "page"])
    given = parser.parse_args()
    model = fit(given.edges.absolute(), given.nodes.absolute(), given.work.absolute())
    if given.only != "page":
        sanne("plot", model, "--color", "section", "--out", DOCS / "pictures" / "debian.png")
    if given.only != "plot":
        with serving(model) as url:
            take(url)
    for path in (DOCS / "page.png", *(DOCS / "pictures").glob("page-*.png"), DOCS / "pictures" / "debian.png"):
        shrink(path)


if __name__ == "__main__":
    main()
