"""Read a plain edge list: `source target` on each line, after any number of lines that begin with #."""

from pathlib import Path

from sanne.errors import InputError
from sanne.graph.graph import Graph
from sanne.graph.readers.delimited import DelimitedFile, check_is_file, check_utf8, open_text
from sanne.graph.readers.tables import read_tables


def read_edge_list(path: str | Path, *, directed: bool = False) -> Graph:
    """The graph of a SNAP edge list: pairs separated by a tab, a blank or a comma; nodes in sorted order."""
    return read_tables(_open(Path(path)), directed=directed)


def _open(path: Path) -> DelimitedFile:
    check_is_file(path)
    skip = 0
    with open_text(path, errors="replace") as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                break
            skip += 1
        else:
            raise InputError(f"{path}: no edges in it; expected lines like `1 2`")
    check_utf8(path)
    mark = next((mark for mark in ("\t", ",", " ") if mark in line.strip()), "\t")
    width = len(line.strip().split(mark))
    if width != 2:
        raise InputError(
            f"{path}, line {skip + 1}: expected two node ids a line, found {width} fields; "
            "use a .csv file with the header src,dst,weight for more"
        )
    return DelimitedFile(path, mark, ("src", "dst"), skip)
