"""The systems of the suite by name; the product may be followed by changed settings, as in `sanne dim=128`."""

import hashlib
import json
from collections.abc import Callable
from functools import partial
from typing import Any

from sanne.cli.options import parse_settings
from sanne.config import Config, recipe_config, setting_names
from sanne.errors import InputError
from sanne_lab.suite import baselines, product, rivals
from sanne_lab.suite.view import View

PRODUCT = {"sanne": "best", "sanne-fast": "fast"}  # and their recipes
SIZES = (16, 32, 64, 128, 256)
FOUR = ("own", "smoothed", "hops", "hops-smoothed")  # what the default is held against in every row
NEIGHBOURS = "sanne-neighbours"  # newcomers as the mean of their neighbours' vectors
GROUPS = {
    "closed": tuple(baselines.SYSTEMS),
    "rivals": tuple(rivals.RIVALS),
    "ours": (*PRODUCT, NEIGHBOURS),
    "sizes": tuple(f"sanne dim={size}" for size in SIZES),
    "parts": tuple(f"sanne {name}=0" for name in setting_names() if name.endswith("_weight") or name == "link_dim"),
}


def names_of(text: str) -> list[str]:
    """Names of systems and groups, by commas, as single systems."""
    return [name for part in text.split(",") for name in GROUPS.get(part, (part,))]


def find(name: str) -> Callable[[View], Any]:
    """The system of that name; a matrix with a row for every node of a view, dense or sparse."""
    config = config_of(name)  # refuses what is unknown before anything runs
    first, *changes = name.split()
    if config is not None:
        return partial(product.embed, recipe=PRODUCT[first], settings=parse_settings(changes))
    if name == NEIGHBOURS:
        return product.mean_of_neighbours
    if name in rivals.RIVALS:
        return partial(rivals.embed, name=name)
    if name not in baselines.SYSTEMS:
        known = [name for group in GROUPS.values() for name in group]
        raise InputError(f"no system {name!r} in the suite: choose from {', '.join([*GROUPS, *known])}")
    return baselines.SYSTEMS[name]


def config_of(name: str) -> Config | None:
    """All settings of a system that is the product."""
    first, *changes = name.split()
    if first not in PRODUCT:
        return None
    return recipe_config(PRODUCT[first]).replace(**(parse_settings(changes) or {}))


def digest(name: str) -> str:
    """Of the product's settings as they are now, so that results of older ones are not taken for today's.

    Those of the walk transformer and of its training do not count: the systems of the suite have none.
    """
    config = config_of("sanne" if name == NEIGHBOURS else name)
    if config is None:
        return ""
    sections = config.to_dict()
    used = {"features": sections["features"], "objective": sections["objective"], "dim": config.model.dim}
    return hashlib.sha256(json.dumps(used).encode()).hexdigest()[:12]
