"""Table 3: SANNE without self-attention and without the feed-forward layer, on validation accuracy."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sanne_lab.experiments.data import DATASETS, SETTINGS
from sanne_lab.experiments.gone import GONE_RECIPES, shown
from sanne_lab.experiments.paper_figures import TABLE3
from sanne_lab.experiments.significance import paired_t_test
from sanne_lab.experiments.table_formats import Block, Figure, Value
from sanne_lab.experiments.validation import Validation, of_files, of_search, splits_text
from sanne_lab.paper.grid import ABLATIONS, Cell
from sanne_lab.paper.rows import rows as searched

NAME = "table3"
VARIANTS = tuple(ABLATIONS)  # the full model first


@dataclass(frozen=True)
class Ablation:
    """One variant in one column, compared with the full model."""

    recipe: str
    variant: str
    figures: Validation
    p: float | None  # of the t-test against the full model; None for that model itself
    paper: tuple[float, float] | None

    @property
    def significant(self) -> bool:
        return self.p is not None and self.p < 0.05

    def to_dict(self) -> dict[str, Any]:
        paper, paper_std = self.paper or (None, None)
        return {"recipe": self.recipe, "variant": self.variant} | self.figures.to_dict() | {
            "p": self.p, "significant": self.significant, "paper": paper, "paper_std": paper_std,
        }  # fmt: skip


def make_cells(datasets: Sequence[str] = DATASETS, settings: Sequence[str] = SETTINGS) -> list[Cell]:
    """What the search over the paper's grid has to find out."""
    return [
        Cell(dataset, setting, variant)  # type: ignore[arg-type]  # checked there
        for dataset in datasets
        for setting in settings
        for variant in VARIANTS
    ]


def ablations(
    recipe: str, out: Path, datasets: Sequence[str] = DATASETS, settings: Sequence[str] = SETTINGS
) -> list[Ablation]:
    """What is known of a recipe: `paper`, or one that is gone."""
    found = []
    for dataset in datasets:
        for setting in settings:
            figures = [_validation(recipe, variant, dataset, setting, out) for variant in VARIANTS]
            full = figures[0]
            for variant, one in zip(VARIANTS, figures, strict=True):
                if one is None:
                    continue
                p = None
                if full is not None and one is not full and len(full.validation) == len(one.validation) > 1:
                    p = round(paired_t_test(one.validation, full.validation).p, 6)
                paper = TABLE3[variant].get(dataset) if setting == "transductive" else None
                found.append(Ablation(recipe, variant, one, p, paper))
    return found


def _validation(recipe: str, variant: str, dataset: str, setting: str, out: Path) -> Validation | None:
    label = f"sanne-{recipe}" + ("" if variant == "none" else f"-{variant}")
    if recipe == "paper":
        return of_search(label, searched(Cell(dataset, setting, variant), out / "paper"))  # type: ignore[arg-type]
    return of_files(label, NAME, dataset, setting, out)


def load(out: Path) -> list[Ablation]:
    """What is known of every recipe that is or was trained on walks."""
    return [one for recipe in ("paper", *GONE_RECIPES) for one in ablations(recipe, out)]


def blocks(found: Sequence[Ablation]) -> list[Block]:
    """A table for each recipe and setting; the paper has its figures for the transductive one only."""
    tables = []
    for recipe in dict.fromkeys(one.recipe for one in found):
        for setting in SETTINGS:
            part = [one for one in found if (one.recipe, one.figures.setting) == (recipe, setting)]
            if part:
                tables.append(_block(part, f"{shown(f'sanne-{recipe}')}: {setting}", setting == "transductive"))
    return tables


def notes(found: Sequence[Ablation]) -> list[str]:
    """What the figures are."""
    splits = splits_text([one.figures for one in found])
    return [
        f"Mean validation accuracy in percent and standard deviation over {splits}. \\*: p < 0.05 in a two-tailed "
        "paired t-test against the full model."
    ]


def _block(found: Sequence[Ablation], title: str, with_paper: bool) -> Block:
    cells = {(one.variant, one.figures.dataset): one for one in found}
    datasets = [name for name in DATASETS if any(one.figures.dataset == name for one in found)]
    lines: list[list[Value]] = []
    for variant in VARIANTS:
        line: list[Value] = ["full" if variant == "none" else variant.replace("no-", "without ")]
        for dataset in datasets:
            one = cells.get((variant, dataset))
            line.append(None if one is None else Figure(one.figures.mean, one.figures.std, star=one.significant))
            if with_paper:
                paper = None if one is None else one.paper
                line.append(None if paper is None else f"{paper[0]:.2f} ± {paper[1]:.2f}")
        shares = dict.fromkeys(one.figures.share for one in found if one.variant == variant)
        if shares:
            lines.append([*line, "; ".join(shares)])
    titles = [title for name in datasets for title in ([name.capitalize(), "paper"][: 1 + with_paper])]
    return Block(title, ["", *titles, "tried"], lines)


def rows(found: Sequence[Ablation]) -> list[dict[str, Any]]:
    """The table for a CSV file."""
    return [{k: v for k, v in one.to_dict().items() if k != "validation"} for one in found]
