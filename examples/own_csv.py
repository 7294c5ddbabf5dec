"""Your own CSV files: products of a shop, what was bought together, and a product that is new tomorrow.

    python examples/own_csv.py

You need two tables. `edges.csv` says which products were bought together and how often, `nodes.csv` has numeric
features for each product. Tomorrow's tables have one more product; the model trained today embeds it.
"""

import csv
import itertools
import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from sanne import SANNE, load_graph

SHELVES = {
    "coffee": "espresso machine, coffee grinder, milk frother, coffee beans, descaler, espresso cups, tamper, scale",
    "camping": "tent, sleeping bag, camping stove, gas cartridge, head torch, water filter, camping mat, pocket knife",
    "painting": "brushes, masking tape, wall paint, paint roller, dust sheet, sandpaper, primer, step ladder",
    "garden": "rake, watering can, lawn seed, pruning shears, compost, plant pots, garden hose, gloves",
    "baking": "cake tin, whisk, flour sieve, rolling pin, piping bag, oven gloves, yeast, baking paper",
}
COLUMNS = ("price", "kilograms", "sold_in_summer", "given_as_gift")
TYPICAL = {  # of a shelf's products
    "coffee": (40, 1.0, 0.2, 0.5),
    "camping": (60, 2.0, 0.8, 0.2),
    "painting": (15, 1.5, 0.5, 0.05),
    "garden": (20, 3.0, 0.6, 0.1),
    "baking": (10, 0.5, 0.15, 0.3),
}
HAMMOCK = (55, 1.2, 0.9, 0.4)


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        shelf_of = {product: shelf for shelf, names in SHELVES.items() for product in names.split(", ")}

        # Today: read the tables, train a model and save it.
        write_tables(folder, shelf_of)
        graph = load_graph(folder / "edges.csv", node_table=folder / "nodes.csv")
        print(f"today:    {graph}")
        model = SANNE("fast", random_state=0, progress=False).fit(graph)
        model.save(folder / "model")
        for product in ("tent", "whisk", "wall paint"):
            print(f"like {product:10}: {', '.join(other for other, _ in model.similar(product, k=4))}")

        # Tomorrow: a hammock has been sold three times, always with camping gear.
        write_tables(folder, shelf_of, hammock_with=["tent", "camping mat", "head torch"])
        bigger = load_graph(folder / "edges.csv", node_table=folder / "nodes.csv")
        later = SANNE.load(folder / "model")
        found = later.embed(bigger, nodes=["hammock"])
        print(f"tomorrow: {bigger}")
        print(f"like hammock   : {', '.join(other for other, _ in later.similar('hammock', k=4))}")
        print(f"its vector has {found.vectors.shape[1]} dimensions and a uncertainty of {found.uncertainty[0]:.3f}")


def write_tables(folder: Path, shelf_of: dict[str, str], hammock_with: Sequence[str] = ()) -> None:
    """Write edges.csv (src,dst,weight) and nodes.csv (id and numeric features) as a shop would export them."""
    chance = random.Random(0)
    together: Counter[tuple[str, str]] = Counter()
    for _ in range(200):  # baskets: from one shelf, sometimes with something else
        basket = chance.sample(SHELVES[chance.choice(list(SHELVES))].split(", "), 3)
        if chance.random() < 0.15:
            basket.append(chance.choice(list(shelf_of)))
        together.update(itertools.combinations(sorted(set(basket)), 2))
    rows = [
        (product, *(round(value * chance.lognormvariate(0, 0.4), 2) for value in TYPICAL[shelf]))
        for product, shelf in shelf_of.items()
    ]
    if hammock_with:
        rows.append(("hammock", *HAMMOCK))
        together.update(("hammock", other) for other in hammock_with)
    with (folder / "edges.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("src", "dst", "weight"), *((a, b, n) for (a, b), n in together.items())])
    with (folder / "nodes.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("id", *COLUMNS), *rows])


if __name__ == "__main__":
    main()
