"""What a map shows: points, colourings, named regions; shared by pictures, pages and the server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sanne.draw.colours import NO_COLOUR, Colouring, colour_by, plain
from sanne.draw.regions import Region, find_clusters, find_levels, find_regions, region_names

COMMUNITY = "community"  # the colouring by broad region
LABEL, PREDICTED = "label", "predicted label"  # which have the same colours where they have the same classes
_FEWEST = 40  # nodes with regions; fewer have too few words to name them by


@dataclass(frozen=True, eq=False)
class Nodes:
    """What is known about the nodes of a map, apart from their positions: `columns` to colour by, texts and ids."""

    reduced: npt.NDArray[Any]  # (nodes, width): vectors on their principal axes
    columns: Mapping[str, Any]
    texts: Sequence[Any] | None
    ids: Any
    seed: int

    def contents(self, points: npt.NDArray[Any]) -> tuple[list[Colouring], list[Region]]:
        """A colouring for every column with one value per node, and for communities; the named regions."""
        colourings, regions = self.given, []
        if len(points) >= _FEWEST:
            levels = find_levels(self._clusters, points)
            names = region_names(
                levels, texts=self.texts, labels=self.columns.get(LABEL), ids=self.ids, rows=self.reduced
            )
            regions, broad = find_regions(points, levels, names), names[0][0]
            if len(broad) > 1:
                members = np.array([broad.get(cluster, "") for cluster in levels[:, 0].tolist()], object)
                colourings = [*colourings, colour_by(COMMUNITY, members, self.reduced)]
        classes_first = sorted(colourings, key=lambda one: one.kind)
        return classes_first or [plain(len(points))], regions

    @cached_property
    def _clusters(self) -> npt.NDArray[np.int64]:
        return find_clusters(self.reduced, self.seed)

    @cached_property
    def given(self) -> list[Colouring]:
        """A colouring for every column that holds one value a node and is not empty."""
        single = {name: values for name, values in self.columns.items() if np.ndim(values) == 1}
        found = {name: colour_by(name, values, self.reduced, scale=name != LABEL) for name, values in single.items()}
        if LABEL in found and PREDICTED in found and {*found[PREDICTED].classes} <= {*found[LABEL].classes}:
            codes = found[LABEL].encode(single[PREDICTED])
            found[PREDICTED] = replace(found[LABEL], title=PREDICTED, codes=codes)
        return [one for one in found.values() if (one.codes != NO_COLOUR).any()]


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
    uncertainty: npt.NDArray[Any] | None = None
    texts: Sequence[Any] | None = None
    links: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = None  # CSR of the points
