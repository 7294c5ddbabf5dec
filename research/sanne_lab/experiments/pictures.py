"""Pictures of the paper's figures: the same drawing as PNG and as SVG."""

from pathlib import Path
from typing import Any

from sanne.files.atomic import replaced_file


def save_picture(figure: Any, folder: Path, name: str) -> list[Path]:
    """NAME.png and NAME.svg in a folder; the same drawing gives the same bytes."""
    import matplotlib

    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    for path, metadata in zip(paths, (None, {"Date": None}), strict=True):
        with replaced_file(path) as part, matplotlib.rc_context({"svg.hashsalt": name}):
            figure.savefig(part, metadata=metadata)
    return paths
