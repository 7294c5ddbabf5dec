"""The map as one HTML file, opened in a browser from disk, as a colleague would who got it by mail."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect
from scipy import sparse

from sanne.draw.plot import plot_map

COUNT = 90
TOPICS = np.repeat(np.arange(3), COUNT // 3)
NAMES = np.array(["theory", "a & b", "learning"])[TOPICS]
WORDS = ("bread oven", "bees hive", "stars comet")
IDS = [f"paper-{i}" for i in range(COUNT - 1)] + ["<script>alert(1)</script>"]
UNCERTAINTY = np.random.default_rng(1).random(COUNT)
SPY = """
window.written = new Map();
const write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  const half = this.measureText(text).width / 2;
  window.written.set(text, [x - half, y - 5, x + half, y + 5]);
  return write.call(this, text, x, y);
};
const clear = CanvasRenderingContext2D.prototype.clearRect;
CanvasRenderingContext2D.prototype.clearRect = function (...box) {
  window.written.clear();
  return clear.apply(this, box);
};
"""
UNKNOWN, LONELY = 3, 12  # have no links: a new node, as of an older graph, and another


def links() -> Any:
    """A ring, without two nodes."""
    ends = [i for i in range(COUNT) if i not in (UNKNOWN, LONELY)]
    ring = sparse.csr_matrix((np.ones(len(ends)), (ends, ends[1:] + ends[:1])), shape=(COUNT, COUNT))
    return ring + ring.T


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "map.html"
    stream = np.random.default_rng(0)
    plot_map(
        4 * np.eye(8)[TOPICS] + stream.normal(size=(COUNT, 8)),
        NAMES,
        path,
        columns={"uncertainty": UNCERTAINTY},
        new=np.arange(COUNT) < 5,
        node_ids=IDS,
        texts=[f"{WORDS[topic]} and <b>more</b> {i}" for i, topic in enumerate(TOPICS)],
        links=links(),
        title="<i>T</i>",
    )
    return path


@pytest.fixture
def page(page_browser: Browser, file: Path) -> Iterator[Page]:
    context = page_browser.new_context(viewport={"width": 1100, "height": 700}, reduced_motion="reduce")
    page = context.new_page()
    page.add_init_script(SPY)
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: faults.append(request.url) if request.url.startswith("http") else None)
    page.goto(file.as_uri())
    expect(page.locator("#facts")).to_contain_text("90 nodes")
    yield page
    context.close()
    assert faults == []


def find(page: Page, text: str, wanted: str) -> None:
    page.fill("#query", text)
    page.locator("#query-list li", has_text=wanted).first.wait_for()
    page.keyboard.press("Enter")
    expect(page.locator("#panel h2")).to_have_text(wanted)


def test_it_is_one_file_and_says_what_it_is(page: Page, file: Path) -> None:
    assert not re.search(r"<(script|link|img)[^>]*\s(src|href)=", file.read_text())
    expect(page.locator("h1")).to_have_text("<i>T</i>")
    expect(page.locator("#facts")).to_have_text("90 nodes · 5 new")
    assert page.locator("#classes .name").all_text_contents() == ["a & b", "learning", "theory"]
    expect(page.locator("#open-add")).to_be_hidden()  # there is no server to add to


def test_a_node_is_found_by_its_text_and_shows_text_and_links(page: Page) -> None:
    find(page, "hive more 40", "paper-40")
    expect(page.locator("#panel .body")).to_have_text("bees hive and <b>more</b> 40")
    expect(page.locator("#panel .facts").first).to_contain_text(f"uncertainty {UNCERTAINTY[40]:.3f}")
    neighbours = page.locator("#panel .list button .name").all_text_contents()
    assert sorted(neighbours) == ["paper-39", "paper-41"]
    find(page, "<script", "<script>alert(1)</script>")


def test_a_node_without_links_says_so(page: Page) -> None:
    find(page, f"paper-{LONELY}", f"paper-{LONELY}")
    expect(page.locator("#panel .alone")).to_contain_text("no links")


def test_a_new_node_without_links_is_not_said_to_have_none(page: Page) -> None:
    find(page, f"paper-{UNKNOWN}", f"paper-{UNKNOWN}")
    expect(page.locator("#panel .facts").first).to_contain_text("added after the fit")
    expect(page.locator("#panel")).to_contain_text("This file has no links of it")
    expect(page.locator("#panel .alone, #panel h3")).to_have_count(0)


def test_points_can_be_coloured_by_every_column(page: Page) -> None:
    assert page.locator("#colour-by option").all_text_contents() == ["label", "community", "uncertainty"]
    page.select_option("#colour-by", label="uncertainty")
    expect(page.locator("#classes .scale")).to_be_visible()
    page.select_option("#colour-by", label="community")
    expect(page.locator("#classes .name")).to_have_count(3)
    assert set(" · ".join(page.locator("#classes .name").all_text_contents()).split(" · ")) == set(
        " ".join(WORDS).split()
    )


def written(page: Page) -> dict[str, list[float]]:
    """The names on the map, and their boxes."""
    page.wait_for_timeout(300)
    return dict(page.evaluate("[...window.written]"))


def test_names_follow_the_zoom_and_never_overlap(page: Page) -> None:
    broad = written(page)
    assert set(" · ".join(broad).split(" · ")) == set(" ".join(WORDS).split())
    page.mouse.move(700, 350)
    for _ in range(8):
        page.mouse.wheel(0, -200)
        names = written(page)
        boxes = list(names.values())
        for place, one in enumerate(boxes):
            for other in boxes[:place]:
                assert not (one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3])
    find(page, "paper-40", "paper-40")
    assert "paper-40" in written(page)


def test_a_class_can_be_hidden_and_shown_alone(page: Page) -> None:
    first = page.locator("button.class").first
    first.click()
    expect(first).to_have_attribute("aria-pressed", "false")
    page.click("#show-all")
    first.click(modifiers=["Shift"])
    expect(page.locator("button.class[aria-pressed=false]")).to_have_count(2)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_on_a_phone(page_browser: Browser, file: Path, scheme: Any) -> None:
    context = page_browser.new_context(viewport={"width": 390, "height": 780}, has_touch=True, color_scheme=scheme)
    page = context.new_page()
    page.goto(file.as_uri())
    expect(page.locator("#facts")).to_contain_text("90 nodes")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for selector in ("#points", "#colour-by", "#query"):
        box = page.locator(selector).bounding_box()
        assert box is not None
        assert 0 <= box["x"] <= box["x"] + box["width"] <= 390
    context.close()
