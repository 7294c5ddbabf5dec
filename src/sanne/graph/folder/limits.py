"""How much memory building a graph folder may take."""

from dataclasses import dataclass

from sanne.checked import check_fields, require


@dataclass(frozen=True)
class BuildLimits:
    """Limits of a build; not part of a model."""

    memory: int = 4 * 2**30  # bytes, the interpreter included
    smallest_memory: int = 2**30

    def __post_init__(self) -> None:
        check_fields(self)
        require(
            self.memory >= self.smallest_memory,
            f"memory must be at least {self.smallest_memory / 2**30:g} GiB, not {self.memory:,} bytes",
        )
