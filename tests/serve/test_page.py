"""The page in a real browser against a running server: what a visitor does, and sees."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, Route, expect
from running_server import RunningServer, fit_and_save

from planted import TINY
from sanne import NodeClassifier
from sanne.graph.graph import Graph

WAIT = 60_000  # milliseconds, on cores that are busy with other things
TOPICS = ("graph walks nodes edges", "protein cells folding genes", "market prices trade money")
SIZE = 20


def papers() -> Graph:
    """Papers with a text and a label; each links to the next two of its topic."""
    count = SIZE * len(TOPICS)
    sources = [i for i in range(count) for step in (1, 2) if (i % SIZE) + step < SIZE]
    targets = [i + step for i in range(count) for step in (1, 2) if (i % SIZE) + step < SIZE]
    texts = [f"{TOPICS[i // SIZE]} paper number{i} <b>bold</b>" for i in range(count)]
    return Graph.from_edges(
        sources,
        targets,
        node_ids=np.array([f"paper-{i}" for i in range(count)], object),
        texts=np.array(texts, object),
        labels=np.array([f"topic {i // SIZE}" for i in range(count)], object),
    )


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    graph = papers()
    folder = fit_and_save(tmp_path_factory.mktemp("papers"), graph, TINY)
    NodeClassifier(folder).fit(graph.node_ids, graph.labels).save(folder)
    return folder


@pytest.fixture(scope="module")
def site(served: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with RunningServer(served, tmp_path_factory.mktemp("site") / "store") as server:
        yield server


class Visit:
    """A page that notes whatever goes wrong on it."""

    def __init__(self, browser: Browser, url: str, **options: Any) -> None:
        self.url = url
        usual = {"viewport": {"width": 1100, "height": 700}, "reduced_motion": "reduce"}
        self.context = browser.new_context(**(usual | options))
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(WAIT)
        self.faults: list[str] = []
        self.hosts: set[str] = set()
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", lambda request: self.hosts.add(re.sub(r"(//[^/]*).*", r"\1", request.url)))

    def _note(self, message: Any) -> None:
        refused = re.search(r"status of (409|401)", message.text)  # the browser notes these, which the tests ask for
        if message.type == "error" and not refused:
            self.faults.append(message.text)

    def open(self) -> Page:
        self.page.goto(f"{self.url}/")
        return self.page

    def settled(self) -> Page:
        """Open the page and wait until the map is laid out."""
        page = self.open()
        expect(page.locator("#facts")).to_contain_text("nodes", timeout=WAIT)
        expect(page.locator("#notice")).to_be_hidden(timeout=5 * WAIT)
        return page

    def colours(self) -> int:
        """How many different colours the points are painted in, as the browser shows them."""
        picture = self.page.locator("#points").screenshot()
        script = """async (bytes) => {
          const image = await createImageBitmap(new Blob([new Uint8Array(bytes)], {type: "image/png"}));
          const canvas = new OffscreenCanvas(image.width, image.height);
          const context = canvas.getContext("2d");
          context.drawImage(image, 0, 0);
          const {data} = context.getImageData(0, 0, image.width, image.height);
          const seen = new Set();
          for (let i = 0; i < data.length; i += 4) seen.add([data[i] >> 5, data[i + 1] >> 5, data[i + 2] >> 5].join());
          return seen.size;
        }"""
        return int(self.page.evaluate(script, list(picture)))


@pytest.fixture
def visit(page_browser: Browser, site: RunningServer) -> Iterator[Visit]:
    visit = Visit(page_browser, site.url)
    yield visit
    visit.context.close()
    assert visit.faults == []
    assert visit.hosts == {site.url.rstrip("/")}


def expect_chosen(page: Page, name: str) -> None:
    expect(page.locator("#panel h2")).to_have_text(name, timeout=WAIT)
    expect(page.locator("#panel")).to_contain_text("Similar", timeout=WAIT)


def find(page: Page, field: str, text: str, wanted: str) -> None:
    """Type into a field that finds nodes, wait for a node in its list, and take it by keyboard."""
    page.fill(field, text)
    page.locator(f"{field}-list li", has_text=wanted).first.wait_for()
    page.keyboard.press("Enter")


def test_the_map_is_drawn_with_its_labels(visit: Visit) -> None:
    page = visit.settled()
    expect(page.locator("#facts")).to_have_text("60 nodes")
    assert page.locator("#classes .name").all_text_contents() == ["topic 0", "topic 1", "topic 2"]
    assert page.locator("#classes .count").all_text_contents() == ["20", "20", "20"]
    assert visit.colours() > 4  # paper, and three colours with their edges


def test_a_class_can_be_hidden_and_shown(visit: Visit) -> None:
    page = visit.settled()
    shown = visit.colours()
    for name in ("topic 0", "topic 1"):
        button = page.locator("button.class", has_text=name)
        button.click()
        expect(button).to_have_attribute("aria-pressed", "false")
    page.mouse.move(600, 20)
    assert visit.colours() < shown
    page.click("#show-all")
    expect(page.locator("button.class[aria-pressed=false]")).to_have_count(0)


def test_search_by_id_and_by_text_opens_a_node(visit: Visit) -> None:
    page = visit.settled()
    find(page, "#query", "number27", "paper-27")
    expect_chosen(page, "paper-27")
    expect(page.locator("#panel .body")).to_contain_text("<b>bold</b>")  # as text, not as a tag
    neighbours = page.locator("#panel .list").first.locator("button .name")
    assert set(neighbours.all_text_contents()) == {"paper-25", "paper-26", "paper-28", "paper-29"}
    expect(page.locator("#panel .list").nth(1).locator("button")).to_have_count(10)
    page.locator("#panel .list button", has_text="paper-28").first.click()
    expect_chosen(page, "paper-28")
    page.go_back()
    expect_chosen(page, "paper-27")
    page.keyboard.press("Escape")
    expect(page.locator("#panel")).to_be_hidden()
    page.keyboard.press("/")
    expect(page.locator("#query")).to_be_focused()
    page.keyboard.type("nothing like this")
    expect(page.locator("#query-list .none")).to_contain_text("No node has")
    expect(page.locator("#said")).to_contain_text("No node has")  # for those who do not see the list


def test_every_answer_has_its_uncertainty_and_prediction(visit: Visit, site: RunningServer) -> None:
    page = visit.settled()
    find(page, "#query", "number27", "paper-27")
    expect_chosen(page, "paper-27")
    known = site.client.get("/v1/nodes/paper-27").json()["uncertainty"]
    expect(page.locator("#panel .facts").first).to_contain_text(f"uncertainty {known:.3f}")
    likely = re.compile(r"predicted topic 1 \d+ ?%.*runner-up topic [02]")
    expect(page.locator("#panel .prediction")).to_have_text(likely)
    page.click("#open-add")
    page.fill("#add-id", "alone")
    page.fill("#add-body", "market prices and trade")
    page.click("#add-preview")
    answer = page.locator(".answer")
    expect(answer).to_contain_text("This node has no links", timeout=WAIT)
    expect(answer).to_contain_text(re.compile(r"uncertainty \d\.\d{3}"))
    expect(answer.locator(".prediction")).to_contain_text("predicted topic 2")
    page.fill("#add-body", "zxqw qqqq")
    page.click("#add-preview")
    expect(answer).to_contain_text("None of the words of its text is known to the model", timeout=WAIT)


def test_points_are_coloured_by_what_is_chosen(visit: Visit) -> None:
    page = visit.settled()
    choices = page.locator("#colour-by option").all_text_contents()
    assert choices == ["label", "predicted label", "community", "uncertainty"]
    page.select_option("#colour-by", label="predicted label")
    expect(page.locator("#classes .name")).to_have_text(["topic 0", "topic 1", "topic 2"])
    page.select_option("#colour-by", label="uncertainty")
    expect(page.locator("#classes .scale")).to_be_visible()
    assert visit.colours() > 4


def test_an_open_panel_follows_the_colouring(visit: Visit) -> None:
    page = visit.settled()
    find(page, "#query", "number27", "paper-27")
    expect_chosen(page, "paper-27")
    listed, kind = page.locator("#panel .list").first.locator("button").first, page.locator("#panel .kind")
    expect(kind).to_have_text("topic 1")
    expect(listed.locator(".amount")).to_have_text("topic 1")
    colour = "element => getComputedStyle(element).backgroundColor"
    before = [listed.locator(".dot").evaluate(colour), kind.locator(".dot").evaluate(colour)]
    page.select_option("#colour-by", label="uncertainty")
    expect(listed.locator(".amount")).to_have_text(re.compile(r"about 0\.\d+"))
    expect(kind).to_be_hidden()  # the uncertainty stands there anyway
    assert listed.locator(".dot").evaluate(colour) != before[0]
    page.select_option("#colour-by", label="predicted label")
    expect(kind).to_have_text("topic 1")
    expect(listed.locator(".amount")).to_have_text("topic 1")
    assert [listed.locator(".dot").evaluate(colour), kind.locator(".dot").evaluate(colour)] == before
    page.emulate_media(color_scheme="dark")
    wait_until(page, lambda: listed.locator(".dot").evaluate(colour) != before[0])


def test_the_first_of_many_links_are_listed_and_said_to_be(visit: Visit) -> None:
    page = visit.settled()

    def with_many(route: Route) -> None:
        node = route.fetch().json()
        neighbours = [{"id": f"paper-{i}", "weight": 1.0} for i in range(50)]
        route.fulfill(json=node | {"neighbours": neighbours, "degree": 1168})

    page.route("**/v1/nodes/paper-59", with_many)
    find(page, "#query", "paper-59", "paper-59")
    expect_chosen(page, "paper-59")
    page.get_by_role("button", name="Show 38 more").click()
    place = page.locator("#panel div:has(> .list)").first
    expect(place.locator("button")).to_have_count(50)
    expect(place).to_contain_text("the first 50 of 1,168")


def test_labels_that_are_numbers_of_classes_have_their_names(visit: Visit) -> None:
    names = {f"topic {i}": f"Subject {i}" for i in range(3)}
    visit.page.route("**/v1/map", lambda route: route.fulfill(json=route.fetch().json() | {"class_names": names}))
    page = visit.settled()
    find(page, "#query", "number27", "paper-27")
    expect(page.locator("#panel .prediction")).to_contain_text("predicted Subject 1")
    page.click("#panel .actions .button")
    page.click("#add-preview")
    expect(page.locator(".answer .prediction")).to_contain_text("predicted Subject 1")


def test_what_is_wrong_with_features_is_said(visit: Visit) -> None:
    page = visit.settled()

    def said(text: str) -> str:
        script = """async (text) => {
          const {parseFeatures} = await import("/page/features.js");
          try { return JSON.stringify(parseFeatures(text, 1433)); } catch (error) { return error.message; }
        }"""
        return str(page.evaluate(script, text))

    assert said("5, 17:2.5") == '{"indices":[5,17],"values":[1,2.5]}'
    assert said("-1") == "There is 1 number, but the model reads 1433; “-1” is not an index from 0 to 1432."
    assert said("0.5 1").startswith("There are 2 numbers, but the model reads 1433; “0.5” is not an index")
    assert said("1433") == "Index 1433 is out of range: the model reads 0 to 1432."


def test_the_window_is_filled_and_does_not_scroll(visit: Visit) -> None:
    page = visit.settled()
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    page.locator("button.class").first.click()
    parts = [page.locator(part).bounding_box() for part in (".legend-head label", "#colour-by", "#show-all")]
    label, choice, button = (part or {} for part in parts)
    assert label["x"] + label["width"] + 6 <= choice["x"]
    assert choice["x"] + choice["width"] + 6 <= button["x"]
    assert button["height"] < 30  # one line


def test_a_click_on_a_point_opens_its_node(visit: Visit, site: RunningServer) -> None:
    page = visit.settled()
    box = page.locator("#points").bounding_box()
    assert box is not None
    name, place = most_lonely_point(site, box)
    page.mouse.move(*place)
    expect(page.locator("#tip")).to_contain_text(name)
    expect(page.locator("#tip p")).to_contain_text(f"number{name.removeprefix('paper-')} ")
    page.mouse.click(*place)
    expect_chosen(page, name)


def most_lonely_point(site: RunningServer, box: Any) -> tuple[str, tuple[float, float]]:
    """A node with room around it, and where it stands when all is seen: in the middle, with a margin."""
    ids = site.client.get("/v1/map/ids").json()
    points = np.frombuffer(site.client.get("/v1/map/points").content, "<f4", 2 * len(ids)).reshape(-1, 2)
    distances = np.linalg.norm(points[:, None] - points[None], axis=2) + np.diag(np.full(len(ids), np.inf))
    row = int(distances.min(axis=1).argmax())
    margin = min(48, 0.07 * min(box["width"], box["height"]))
    scale = min((np.array([box["width"], box["height"]]) - 2 * margin) / np.ptp(points, axis=0))
    x, y = (points[row] - (points.max(axis=0) + points.min(axis=0)) / 2) * scale
    return ids[row], (box["x"] + box["width"] / 2 + float(x), box["y"] + box["height"] / 2 - float(y))


def test_the_map_works_by_keyboard(visit: Visit, site: RunningServer) -> None:
    page = visit.settled()
    for _ in range(8):  # search, add, three classes, map
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "points":
            break
    expect(page.locator("#points")).to_be_focused()
    for key in ("+", "-", "ArrowLeft", "ArrowRight", "0"):
        page.keyboard.press(key)
    box = page.locator("#points").bounding_box()
    assert box is not None
    _, (x, y) = most_lonely_point(site, box)
    right, down = round((x - box["x"] - box["width"] / 2) / 60), round((y - box["y"] - box["height"] / 2) / 60)
    for key, times in (("ArrowRight", right), ("ArrowLeft", -right), ("ArrowDown", down), ("ArrowUp", -down)):
        for _ in range(times):
            page.keyboard.press(key)
    page.keyboard.press("Enter")
    expect(page.locator("#panel h2")).to_contain_text("paper-")


def test_a_newcomer_is_previewed_then_kept_and_stands_on_the_map(visit: Visit, site: RunningServer) -> None:
    page = visit.settled()
    before = site.client.get("/readyz").json()["nodes"]
    page.click("#open-add")
    page.fill("#add-id", "fresh <i>paper</i>")
    page.click("#add-keep")
    expect(page.locator(".fault")).to_contain_text("nothing to embed yet")
    page.fill("#add-body", "walks over graphs and their nodes")
    find(page, "#add-link", "paper-3", "paper-3")
    find(page, "#add-link", "paper-5", "paper-5")
    page.click("#add-preview")
    expect(page.locator(".verdict")).to_contain_text("has not been added yet", timeout=WAIT)
    made_of = page.locator(".answer .list").first.locator(".name").all_text_contents()
    assert "fresh <i>paper</i> (itself)" in made_of
    assert {"paper-3", "paper-5"} <= set(made_of)
    assert page.locator(".answer .share span").count() == len(made_of)
    assert site.client.get("/readyz").json()["nodes"] == before
    page.click("#add-keep")
    expect(page.locator(".verdict")).to_contain_text("was added", timeout=WAIT)
    expect(page.locator("#facts")).to_contain_text("1 new", timeout=WAIT)
    assert site.client.get("/readyz").json()["nodes"] == before + 1
    page.keyboard.press("Escape")
    find(page, "#query", "fresh", "fresh")
    expect_chosen(page, "fresh <i>paper</i>")
    expect(page.locator("#panel .facts").first).to_contain_text("added after the fit")
    page.click("#panel .actions .button")
    page.fill("#add-id", "fresh <i>paper</i>")
    page.click("#add-keep")
    expect(page.locator(".fault")).to_contain_text("fresh", timeout=WAIT)  # the id is taken


def test_several_nodes_can_be_kept_one_after_another(visit: Visit, site: RunningServer) -> None:
    page = visit.settled()
    page.click("#open-add")
    kept = []
    for words in ("genes and cells", "trade and money"):
        kept.append(page.input_value("#add-id"))
        page.fill("#add-body", words)
        page.click("#add-keep")
        expect(page.locator(".verdict")).to_contain_text(f"{kept[-1]} was added", timeout=WAIT)
        expect(page.locator("#add-body")).to_have_value("", timeout=WAIT)
    assert kept[0] != kept[1]
    page.fill("#add-id", kept[0])
    page.fill("#add-body", "genes")
    page.click("#add-keep")
    expect(page.locator(".fault")).to_contain_text("already exists", timeout=WAIT)
    expect(page.locator(".answer")).to_be_hidden()
    for name in kept:
        site.client.delete(f"/v1/nodes/{name}")


def test_nodes_that_others_add_arrive_by_themselves(visit: Visit, site: RunningServer) -> None:
    page = visit.settled()
    facts = page.locator("#facts").text_content() or ""
    site.client.post("/v1/nodes", json={"nodes": [{"id": "from elsewhere", "text": "genes", "links": ["paper-21"]}]})
    expect(page.locator("#facts")).not_to_have_text(facts, timeout=WAIT)
    find(page, "#query", "elsewhere", "from elsewhere")
    expect_chosen(page, "from elsewhere")


def test_a_node_that_others_delete_goes_from_the_map_by_itself(visit: Visit, site: RunningServer) -> None:
    page = visit.settled()
    points, facts = page.locator("#points"), page.locator("#facts")
    before, words = points.screenshot(), facts.text_content() or ""
    site.client.post("/v1/nodes", json={"nodes": [{"id": "short stay", "text": "genes", "links": ["paper-21"]}]})
    expect(facts).not_to_have_text(words, timeout=WAIT)
    wait_until(page, lambda: points.screenshot() != before)
    site.client.delete("/v1/nodes/short stay")
    expect(facts).to_contain_text("deleted", timeout=WAIT)
    wait_until(page, lambda: points.screenshot() == before)


def wait_until(page: Page, holds: Callable[[], bool]) -> None:
    """Wait for what a slow machine may draw late."""
    for _ in range(WAIT // 500):
        if holds():
            return
        page.wait_for_timeout(500)
    raise AssertionError("the map has not changed as it should have")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_on_a_phone(page_browser: Browser, site: RunningServer, scheme: Any) -> None:
    visit = Visit(page_browser, site.url, viewport={"width": 360, "height": 700}, has_touch=True, color_scheme=scheme)
    page = visit.settled()
    find(page, "#query", "paper-7", "paper-7")
    expect_chosen(page, "paper-7")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    for selector in ("#points", "#panel", "#open-add", "#zoom-in"):
        box = page.locator(selector).bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
        assert box["height"] >= 34
    visit.context.close()
    assert visit.faults == []


def test_a_phone_says_that_it_shows_a_sample(page_browser: Browser, site: RunningServer) -> None:
    visit = Visit(page_browser, site.url, viewport={"width": 360, "height": 700}, has_touch=True)
    none_new = {"arrived": 0, "deleted": 0}
    visit.page.route("**/v1/map", lambda route: route.fulfill(json=route.fetch().json() | none_new))
    page = visit.settled()
    expect(page.locator("#facts")).to_be_hidden()  # only their number
    sample = none_new | {"total": 2_000_000}
    page.route("**/v1/map", lambda route: route.fulfill(json=route.fetch().json() | sample))
    expect(page.locator("#facts")).to_have_text("60 of 2,000,000 nodes", timeout=WAIT)
    expect(page.locator("#facts")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    visit.context.close()


def test_a_server_that_is_gone_is_said_so(page_browser: Browser, served: Path, tmp_path: Path) -> None:
    with RunningServer(served, tmp_path / "store", token="sesame") as server:
        visit = Visit(page_browser, server.url)
        page = visit.open()
        page.fill("#token-value", "wrong")
        page.keyboard.press("Enter")
        expect(page.locator("#token-text")).to_contain_text("not accepted", timeout=WAIT)
        page.fill("#token-value", "sesame")
        page.keyboard.press("Enter")
        expect(page.locator("#facts")).to_have_text("60 nodes", timeout=WAIT)
        assert server.terminate() == 0
        expect(page.locator("#notice")).to_contain_text("does not answer", timeout=WAIT)
        visit.context.close()
