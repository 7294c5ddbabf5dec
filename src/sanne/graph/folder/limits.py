"""How much memory building a graph folder may take."""

from dataclasses import dataclass

from sanne.checked import Checked, require


@dataclass(frozen=True)
class BuildLimits(Checked):
    """Limits of a build; not part of a model."""

    memory: int = 4 * 2**30  # bytes, the interpreter included
    smallest_memory: int = 2**30

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self.memory >= self.smallest_memory,
            f"memory must be at least {self.smallest_memory / 2**30:g} GiB, not {self.memory:,} bytes",
        )
