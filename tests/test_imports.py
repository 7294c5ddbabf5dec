"""Imports only go down the layers that docs/architecture.md lists, so that the page and the code cannot drift apart."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sanne

PACKAGE = Path(sanne.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"


def read_layers() -> dict[str, int]:
    """The level of every name in the block below the heading Layers, counted from the top line."""
    block = re.search(r"^## Layers$.*?^```text\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert block is not None, "docs/architecture.md has no list of layers"
    lines = [line.split() for line in block.group(1).splitlines() if line.strip()]
    return {f"sanne.{name}": level for level, names in enumerate(lines) for name in names}


LAYERS = read_layers()


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def owner(module: str) -> str:
    """The name in the list that a module belongs to: the longest that fits."""
    owners = [name for name in LAYERS if module == name or module.startswith(name + ".")]
    assert owners, f"{module} has no layer: name it in docs/architecture.md"
    return max(owners, key=len)


def is_module(name: str) -> bool:
    path = PACKAGE.parent.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def imports_of(source: str, module: str) -> set[str]:
    """Every module of ours that a file imports, at the top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} uses a relative import"
            assert node.module is not None
            # "from sanne.walks import kernels" imports a module, "from sanne.config import Config" a name of one.
            found |= {
                f"{node.module}.{alias.name}" if is_module(f"{node.module}.{alias.name}") else node.module
                for alias in node.names
            }
    return {name for name in found if name.split(".")[0] in ("sanne", "sanne_lab")}


FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if name_of(path) != "sanne"]  # which re-exports from anywhere


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_only_go_down(path: Path) -> None:
    module = name_of(path)
    if path.name == "__init__.py" and module not in LAYERS:  # of a package whose parts have layers of their own
        assert imports_of(path.read_text(encoding="utf-8"), module) == set()
        return
    own = owner(module)
    for imported in imports_of(path.read_text(encoding="utf-8"), module):
        assert not imported.startswith("sanne_lab"), f"{module} imports {imported}: research is not in the wheel"
        target = owner(imported)
        assert target == own or LAYERS[target] > LAYERS[own], f"{module} imports {imported}, which is not below it"


def test_every_name_in_the_list_exists() -> None:
    assert [name for name in LAYERS if not is_module(name)] == []


def test_the_check_itself_sees_every_way_to_import() -> None:
    source = (
        "import sanne.cli\nimport sanne_lab.bench\n"
        "def f():\n    from sanne.walks import kernels\n    from sanne.config import Config\n"
    )
    assert imports_of(source, "sanne.x") == {"sanne.cli", "sanne_lab.bench", "sanne.walks.kernels", "sanne.config"}


def test_there_are_no_cycles_between_files() -> None:
    graph = {name_of(path): imports_of(path.read_text(encoding="utf-8"), name_of(path)) for path in FILES}
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join((*trail, module))
        if module not in done:
            for imported in graph.get(module, set()):
                visit(imported, (*trail, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def test_the_program_starts_without_the_research_package() -> None:
    code = (
        "import sys; sys.modules['sanne_lab'] = None; import sanne.cli.commands; "
        "assert not [name for name in sys.modules if name.startswith('sanne_lab.')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_commands_of_the_research_package_import_no_numpy_at_the_start() -> None:
    code = "import sys, sanne.cli; assert 'sanne_lab.cli' in sys.modules and 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
