"""Regenerate the tables and figures between the markers of a page, from result files alone."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sanne.config import DEFAULT_RECIPE, RECIPES
from sanne.errors import InputError
from sanne.files.atomic import replaced_file
from sanne_lab.experiments import (
    blogcatalog,
    communities,
    figure2,
    figure3,
    links,
    neighbours,
    other_tasks,
    paper_protocol,
    spread,
    table1,
    table2,
    table3,
)
from sanne_lab.experiments.gone import GONE_RECIPES, shown
from sanne_lab.experiments.table_formats import markdown
from sanne_lab.suite import page as suite

NOTHING = "No results yet.\n"


def write_report(page: Path, out: Path, recipe: str = DEFAULT_RECIPE) -> list[str]:
    """Fill `<!-- NAME -->` ... `<!-- /NAME -->` on a page for every table and figure marked there; which ones were."""
    if not page.is_file():
        raise InputError(f"{page}: no such page; make one with lines <!-- table2 --> and <!-- /table2 -->")
    text = page.read_text(encoding="utf-8")
    sections: dict[str, Callable[[], str]] = {
        "table1": lambda: _table(table1, table1.load(out)),
        "table2": lambda: _table2(out),
        "paper": lambda: _paper(out, page.parent),
        "table3": lambda: _table(table3, table3.load(out)),
        "figure2": lambda: _figure2(out, recipe, page.parent),
        "figure3": lambda: _figure3(out, page.parent),
        "links": lambda: _table(links, links.load(out)),
        "communities": lambda: _table(communities, communities.load(out)),
        "blogcatalog": lambda: _table(blogcatalog, blogcatalog.load(out)),
        "other-tasks": lambda: markdown([other_tasks.block(out)]),
        "neighbours": lambda: _table(neighbours, neighbours.load(out)),
        "spread": lambda: _spread(out, recipe, page.parent),
        "suite-final": lambda: suite.accuracies(out, "present", final=True),
        "suite-final-newcomers": lambda: suite.accuracies(out, "newcomers", final=True),
        "suite-present": lambda: suite.accuracies(out, "present", final=False),
        "suite-newcomers": lambda: suite.accuracies(out, "newcomers", final=False),
        "suite-nearest": lambda: suite.nearest(out),
        "suite-sizes": lambda: suite.sizes(out),
    }
    filled = []
    for name, content in sections.items():
        marked = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if marked.search(text):
            words = content()
            text = marked.sub(lambda found, words=words: f"{found[1]}\n{words}\n{found[2]}", text)  # type: ignore[misc]
            filled.append(name)
    if not filled:
        raise InputError(f"{page}: no markers such as <!-- table2 --> and <!-- /table2 --> on it, each on its own line")
    with replaced_file(page) as part:
        part.write_text(text, encoding="utf-8")
    return filled


def _table(table: Any, found: Sequence[Any]) -> str:
    return markdown(table.blocks(found), table.notes(found)) if found else NOTHING


def _in_turn(recipe: str, recipes: list[str]) -> list[str]:
    """Recipes to look for, the one that was asked for first; the first that has results is shown."""
    return sorted(recipes, key=lambda name: name != recipe)


def _table2(out: Path) -> str:
    rows, incomplete = table2.stored_rows(out)
    notes = [f"Not complete, and left out: {'; '.join(incomplete)}."] if incomplete else []
    accuracies = [block for block in table2.blocks(rows) if block.title != "Details"]  # too long for a page
    return markdown(accuracies, [*table2.notes(rows), *notes]) if rows else NOTHING


def _paper(out: Path, folder: Path) -> str:
    if not (found := paper_protocol.load(out)):
        return NOTHING
    paper_protocol.draw(out, folder)
    picture = "![Validation accuracy over epochs of every candidate](paper.png)"
    return f"{_table(paper_protocol, found)}\n{picture}\n"


def _figure2(out: Path, recipe: str, folder: Path) -> str:
    for name in _in_turn(recipe, [*RECIPES, *GONE_RECIPES]):
        if maps := figure2.load(figure2.make_cells(name), out):
            figure2.draw(maps, folder)
            return "![The vectors of Cora, transductive and inductive side by side](figure2.png)\n"
    return NOTHING


def _figure3(out: Path, folder: Path) -> str:
    pictures = []
    for name in ("paper", *GONE_RECIPES):
        if found := figure3.load(name, out):
            figure3.draw(name, found, folder)
            words = f"Validation accuracy by number of layers, heads and walks: {shown(f'sanne-{name}')}"
            pictures.append(f"![{words}](figure3-{name}.png)\n")
    return "\n".join(pictures) or NOTHING


def _spread(out: Path, recipe: str, folder: Path) -> str:
    for name in _in_turn(recipe, [*RECIPES, *GONE_RECIPES]):
        if found := spread.load(out, name):
            spread.draw(found, folder)
            picture = "![Accuracy of newcomers by quarters of uncertainty](spread.png)"
            return f"{picture}\n\n{_table(spread, found)}"
    return NOTHING
