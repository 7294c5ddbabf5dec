"""Systems that are no longer in the code: their records are kept and shown, but cannot be run again."""

# Recipes that trained a transformer of walks on clusters of smoothed features.
GONE_RECIPES = ("0.1-best", "0.1-fast")


def is_gone(system: str) -> bool:
    return system.removeprefix("sanne-") in GONE_RECIPES


def shown(label: str) -> str:
    """A system's label as a table shows it, whatever follows its name after a space."""
    system, space, rest = label.partition(" ")
    if not is_gone(system):
        return label
    version, name = system.removeprefix("sanne-").split("-")
    return f"SANNE {version} {name}, no longer in the code{space}{rest}"
