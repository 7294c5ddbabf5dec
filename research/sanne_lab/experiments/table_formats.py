"""Tables as Markdown, LaTeX and CSV: the same cells, three ways to write them."""

import csv
import io
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sanne.files.atomic import replaced_file


@dataclass(frozen=True)
class Figure:
    """A mean and its deviation, with the marks of a comparison."""

    mean: float
    std: float
    rank: int = 0  # 1: best of the column, bold; 2: second, underlined
    star: bool = False  # differs significantly
    reduction: float | None = None  # relative error reduction, percent


Value = str | Figure | None


@dataclass(frozen=True)
class Block:
    """One table: the title stands above it, the first column holds names."""

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[Value]]


def markdown(blocks: Sequence[Block], notes: Sequence[str] = ()) -> str:
    """The notes, then the blocks; those with the same columns share a table, with their titles as rows."""
    parts = [note + "\n" for note in notes]
    for headers, group in itertools.groupby(blocks, key=lambda block: tuple(block.headers)):
        first, *others = group
        lines = [f"**{first.title}**", ""] if first.title and not others else []
        lines += ["| " + " | ".join(headers) + " |", "|---|" + "---|" * (len(headers) - 1)]
        for block in (first, *others):
            if others:
                lines.append(f"| **{block.title}** |" + " |" * (len(headers) - 1))
            lines += ["| " + " | ".join(_markdown_value(value) for value in row) + " |" for row in block.rows]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def latex(blocks: Sequence[Block], notes: Sequence[str] = ()) -> str:
    """A `tabular` for every block, ready to be put inside a `table`; the notes are comments."""
    parts = [f"% {note}\n" for note in notes]
    for block in blocks:
        lines = [rf"\begin{{tabular}}{{{'l' * len(block.headers)}}}", r"\hline"]
        lines += [_latex_row([block.title, *block.headers[1:]], bold=True), r"\hline"]
        lines += [_latex_row(row) for row in block.rows]
        parts.append("\n".join([*lines, r"\hline", r"\end{tabular}"]) + "\n")
    return "\n".join(parts)


def csv_text(records: Sequence[dict[str, Any]]) -> str:
    """One line per record; the first one's keys are the header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(records[0]) if records else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def write_tables(
    folder: Path, name: str, blocks: Sequence[Block], notes: Sequence[str], records: Sequence[dict[str, Any]]
) -> None:
    """NAME.md, NAME.tex and NAME.csv in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {".md": markdown(blocks, notes), ".tex": latex(blocks, notes), ".csv": csv_text(records)}
    for ending, text in texts.items():
        with replaced_file(folder / f"{name}{ending}") as part:
            part.write_text(text, encoding="utf-8")


def _markdown_value(value: Value) -> str:
    if not isinstance(value, Figure):
        return value or ""
    mean = f"{value.mean:.2f}"
    mean = {1: f"**{mean}**", 2: f"<u>{mean}</u>"}.get(value.rank, mean)
    star = r"\*" if value.star else ""
    reduction = "" if value.reduction is None else f" <sub>{value.reduction:.1f}</sub>"
    return f"{mean} ± {value.std:.2f}{star}{reduction}"


def _latex_row(values: Sequence[Value], bold: bool = False) -> str:
    cells = [_latex_value(value) for value in values]
    return " & ".join(rf"\textbf{{{cell}}}" if bold and cell else cell for cell in cells) + r" \\"


def _latex_value(value: Value) -> str:
    if not isinstance(value, Figure):
        return _escaped(value or "")
    text = rf"{value.mean:.2f} $\pm$ {value.std:.2f}"
    text = {1: rf"\textbf{{{text}}}", 2: rf"\underline{{{text}}}"}.get(value.rank, text)
    marks = (r"^\ast" if value.star else "") + ("" if value.reduction is None else f"_{{{value.reduction:.1f}}}")
    return f"{text}${marks}$" if marks else text


def _escaped(text: str) -> str:
    for character in "&%$#_{}":
        text = text.replace(character, "\\" + character)
    return text.replace("–", "--").replace("±", r"$\pm$")
