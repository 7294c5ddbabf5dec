"""The page at /docs in a real browser: every route is there, the examples can be tried, and a token is asked for."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from running_server import RunningServer

WAIT = 60_000  # milliseconds, on cores that are busy with other things


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--no-first-run"])
        yield launched
        launched.close()


def test_every_route_is_on_the_page_and_can_be_tried(server: RunningServer, browser: Browser) -> None:
    page = browser.new_page()
    asked: list[str] = []
    problems: list[str] = []
    page.on("request", lambda request: asked.append(httpx.URL(request.url).host))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(f"{server.url}/docs")
    paths = server.client.get("/openapi.json").json()["paths"]
    expect(page.locator("details")).to_have_count(sum(map(len, paths.values())), timeout=WAIT)
    embed = page.locator("details", has=page.get_by_text("/v1/embed", exact=True))
    embed.locator("summary").click()
    expect(embed.get_by_text("nodes[].links", exact=True)).to_be_visible()
    embed.get_by_role("button", name="Try it").click()
    expect(embed.locator("pre")).to_contain_text("200", timeout=WAIT)
    expect(embed.locator("pre")).to_contain_text("uncertainty")
    similar = page.locator("details", has=page.get_by_text("/v1/similar/{node_id}", exact=True))
    similar.locator("summary").click()
    similar.get_by_role("textbox", name="node_id").fill("nobody")
    similar.get_by_role("button", name="Try it").click()
    expect(similar.locator("pre.failed")).to_contain_text("unknown_node", timeout=WAIT)
    assert set(asked) == {server.address[0]}
    assert [line for line in problems if "404" not in line] == []  # the browser notes the refusal above itself
    page.close()


def test_a_server_with_a_token_asks_for_it(model: Path, browser: Browser, tmp_path: Path) -> None:
    with RunningServer(model, tmp_path / "store", token="hush") as server:
        assert httpx.get(f"{server.url}/openapi.json").status_code == 401
        page = browser.new_page()
        page.goto(f"{server.url}/docs")
        expect(page.locator("details")).to_have_count(0)
        page.get_by_label("This server requires a token").fill("hush", timeout=WAIT)
        page.get_by_role("button", name="Continue").click()
        expect(page.locator("details").first).to_be_visible(timeout=WAIT)
        page.close()
