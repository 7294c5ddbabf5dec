"""Read a plain edge list: `source target` on each line, after any number of lines that begin with #."""

from pathlib import Path

from sanne.errors import InputError
from sanne.graph.graph import Graph
from sanne.graph.ids import encode_ids, id_array, refuse_control_characters, sort_ids
from sanne.graph.readers.delimited import DelimitedFile, check_is_file, check_utf8


def read_edge_list(path: str | Path, *, directed: bool = False) -> Graph:
    """The graph of a SNAP edge list: pairs separated by a tab, a blank or a comma; nodes in sorted order."""
    file = _open(Path(path))
    table = file.read(file.columns, strings=file.columns)
    ids = sort_ids(encode_ids([table.column(0), table.column(1)], infer=True))
    if len(ids.rows) and ids.rows.min() < 0:
        row = int(ids.rows.argmin()) % table.num_rows
        raise InputError(f"{file.place(row)}: an edge needs two node ids")
    refuse_control_characters(ids, lambda row: file.place(row % table.num_rows))
    return Graph.from_edges(
        ids.rows[: table.num_rows],
        ids.rows[table.num_rows :],
        node_ids=id_array(ids.distinct),
        directed=directed,
    )


def _open(path: Path) -> DelimitedFile:
    check_is_file(path)
    skip = 0
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
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
