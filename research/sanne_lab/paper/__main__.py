"""Search the paper's grid and print the figures: python -m sanne_lab.paper --dataset cora --budget 2."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from sanne.errors import InputError, SanneError
from sanne_lab.paper.grid import Cell
from sanne_lab.paper.rows import RESULTS, as_json, rows, shown
from sanne_lab.paper.search import search

# The order in which they are searched: the cheap ones first.
CELLS = (
    Cell("cora", "transductive"),
    Cell("citeseer", "transductive"),
    Cell("citeseer", "inductive"),
    Cell("cora", "inductive"),
    Cell("pubmed", "transductive"),
    Cell("pubmed", "inductive"),
)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m sanne_lab.paper", description=__doc__)
    parser.add_argument("--dataset", help="one dataset only")
    parser.add_argument("--setting", help="transductive or inductive only")
    parser.add_argument("--ablation", default="none", help="none, no-attention or no-feed-forward: table 3")
    parser.add_argument("--budget", type=float, default=0.0, help="hours for all cells together; 0 only prints")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes of one thread each")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the records")
    parser.add_argument("--cache", type=Path, default=Path(".sanne-paper"), help="folder of checkpoints and features")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    given = parser.parse_args(arguments)
    try:
        cells = [
            replace(cell, ablation=given.ablation)
            for cell in CELLS
            if given.dataset in (None, cell.dataset) and given.setting in (None, cell.setting)
        ]
        if not cells:
            raise InputError(f"no cell for dataset {given.dataset} and setting {given.setting}")
        if given.budget > 0:
            search(cells, given.results, given.cache, hours=given.budget, jobs=given.jobs)
        for cell in cells:
            record = rows(cell.dataset, cell.setting, given.results, ablation=cell.ablation)
            print(as_json(record) if given.json else shown(record))
    except SanneError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
