"""The documentation site: built with warnings as errors, complete, no dead links, nothing from other hosts."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import typer.main

from sanne.cli.commands import app
from sanne.config import setting_names
from sanne.serve.limits import ServeLimits

ROOT = Path(__file__).parents[2]
THREAD = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+/(issues|pull)/\d+")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": f"{ROOT}/src{os.pathsep}{ROOT}/research"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class _Page(HTMLParser):
    """Links, anchors, and what the browser loads by itself."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.fetched: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(value for name, value in values.items() if name in ("id", "name"))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        elif tag in ("img", "script", "iframe", "source") and values.get("src"):
            self.fetched.append(values["src"])
        elif tag == "link" and values.get("rel") != "canonical" and values.get("href"):
            self.fetched.append(values["href"])


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, _Page]:
    return {path: _Page(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}


def test_links_lead_somewhere(site: Path, pages: dict[Path, _Page]) -> None:
    checked = 0
    for path, page in pages.items():
        for link in [*page.links, *page.fetched]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            assert target.is_file(), f"{path.name}: {link}"
            if parts.fragment and target in pages and parts.fragment != "__skip":
                assert unquote(parts.fragment) in pages[target].anchors, f"{path.name}: {link}"
            checked += 1
    assert checked > 1000


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md"])
def test_links_of_pages_beside_the_site_lead_somewhere(name: str) -> None:
    page = ROOT / name
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert targets
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_nothing_comes_from_another_host(site: Path, pages: dict[Path, _Page]) -> None:
    for path, page in pages.items():
        assert all(not urlsplit(link).netloc for link in page.fetched), path
    for style in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//", style.read_text(encoding="utf-8")), style


def test_links_to_other_hosts_are_well_formed(pages: dict[Path, _Page]) -> None:
    outside = {link for page in pages.values() for link in page.links if urlsplit(link).scheme}
    outside = {link for link in outside if not link.startswith(("http://127.0.0.1", "https://squidfunk.github.io"))}
    assert len([link for link in outside if THREAD.fullmatch(link)]) > 40  # the threads of the FAQ
    assert [link for link in outside if not THREAD.fullmatch(link)] == []


def test_the_reference_is_complete(site: Path) -> None:
    def commands(command: object, name: str) -> Iterator[str]:
        inner = getattr(command, "commands", None)
        if inner is None:
            yield name
        for word, child in (inner or {}).items():
            yield from commands(child, f"{name} {word}")

    text = (site / "reference" / "cli.html").read_text(encoding="utf-8")
    for name in commands(typer.main.get_command(app), "sanne"):
        assert f">{name}<" in text, name
    assert "--explain N" in text
    text = (site / "reference" / "settings.html").read_text(encoding="utf-8")
    for name in [*setting_names(), *ServeLimits.__dataclass_fields__]:
        assert f"<code>{name}</code>" in text, name
    assert "number of nodes, the start included" in text  # the comments beside the fields
    text = (site / "reference" / "python.html").read_text(encoding="utf-8")
    for name in ("SANNE", "transform", "similar", "load_graph", "Graph", "Embedding", "Config", "UnknownNodeError"):
        assert f">{name}<" in text, name
    assert "&gt;&gt;&gt;" not in text


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_in_a_browser(site: Path, pages: dict[Path, _Page], chromium: str, scheme: str, width: int) -> None:
    """No page is wider than the window, and none loads anything from outside the folder."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)  # type: ignore[arg-type]
        asked: list[str] = []
        context.on("request", lambda request: asked.append(request.url))
        tab = context.new_page()
        for path in pages:
            tab.goto(path.as_uri(), timeout=60_000)
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, path
        browser.close()
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


@pytest.mark.slow
@pytest.mark.parametrize("page", ["index.html", "how-to/load.html"])
@pytest.mark.parametrize("asked", ["hyperparameters", "embedding dimensions", "Docker"])
def test_search_works_in_pages_opened_as_files(site: Path, chromium: str, page: str, asked: str) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page()
        tab.goto((site / page).as_uri(), timeout=60_000)
        tab.locator(".md-search__input").first.click()
        tab.keyboard.type(asked, delay=20)
        tab.locator(".md-search-result__item").first.wait_for(timeout=60_000)
        browser.close()
