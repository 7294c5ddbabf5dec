"""What a map shows: points, ways to colour them, named regions; the same in pictures, in pages and on the server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from sanne.draw.colours import Colouring, colour_by, plain
from sanne.draw.regions import Levels, Region, find_levels, find_regions, region_names

COMMUNITY = "community"  # the colouring by broad region


@dataclass(frozen=True, eq=False)
class Contents:
    """What is found in vectors, wherever the map puts them."""

    levels: Levels
    names: list[dict[int, str]]
    colourings: list[Colouring]

    @classmethod
    def of(
        cls, reduced: npt.NDArray[Any], columns: Mapping[str, Any], texts: Sequence[Any] | None, ids: Any, seed: int
    ) -> Self:
        """Communities of (nodes, width) rows, and a colouring for every column that holds one value a node."""
        levels = find_levels(reduced, seed)
        names = region_names(levels, texts=texts, labels=columns.get("label"), ids=ids, rows=reduced)
        given = {name: values for name, values in columns.items() if np.ndim(values) == 1}
        if len(names[0]) > 1:
            given[COMMUNITY] = np.array([names[0].get(cluster, "") for cluster in levels[:, 0].tolist()], object)
        found = [colour_by(name, values, reduced, scale=name != "label") for name, values in given.items()]
        useful = [one for one in found if one.classes or one.kind == "number"]
        return cls(levels, names, useful or [plain(len(reduced))])

    def regions(self, points: npt.NDArray[Any]) -> list[Region]:
        """The named regions, where the points of their nodes are."""
        return find_regions(points, self.levels, self.names)


@dataclass(frozen=True, eq=False)
class MapPicture:
    """What is drawn. New nodes come last."""

    points: npt.NDArray[np.float64]  # (nodes, 2)
    ids: list[Any]
    colourings: list[Colouring]  # the first is shown
    regions: list[Region]
    new: int  # how many of the points are new nodes
    title: str
    subtitle: str
    method: Literal["tsne", "pca"]
    texts: Sequence[Any] | None = None
    links: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = None  # CSR of the points
