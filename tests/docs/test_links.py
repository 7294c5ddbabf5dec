"""Relative links and anchors of every page lead somewhere; the site need not be built for it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").glob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
WRITTEN_BY_THE_SITE = {"cli.md", "settings.md"}  # docs/tools/hooks.py


def without_code(page: Path) -> str:
    return re.sub(
        r"```.*?```|`[^`\n]*`", lambda found: re.sub(r"[^\n\w -]", "", found[0]), page.read_text("utf-8"), flags=re.S
    )


def anchors(page: Path) -> set[str]:
    """The anchors of the headings, as mkdocs and GitHub make them of letters, digits and hyphens."""
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.S)
    headings = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line) for line in re.findall(r"^#+ +(.+)$", text, re.M)]
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(without_code(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if target.name in WRITTEN_BY_THE_SITE and target.parent.name == "reference":
            continue
        assert target.exists(), f"{page.relative_to(ROOT)}: {link}"
        if anchor and target.suffix == ".md" and target.parent.name != "reference":
            assert anchor in anchors(target), f"{page.relative_to(ROOT)}: {link}"


def test_a_dead_anchor_is_noticed() -> None:
    assert "two-models-are-two-spaces" in anchors(ROOT / "docs" / "how-to" / "seeds.md")
    assert "no-such-heading" not in anchors(ROOT / "docs" / "how-to" / "seeds.md")
