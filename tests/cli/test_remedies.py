"""Every option that a message names exists: a remedy that cannot be typed is none."""

import ast
import re
from pathlib import Path

import typer.main

import sanne
from sanne.cli.commands import app

SOURCE = Path(sanne.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
OTHERS = {"--help"}


def known_options(command: object) -> set[str]:
    names = {name for parameter in getattr(command, "params", []) for name in parameter.opts}
    for child in getattr(command, "commands", {}).values():
        names |= known_options(child)
    return names


def texts(tree: ast.AST) -> list[tuple[int, str]]:
    return [(n.lineno, n.value) for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def test_options_named_in_texts_exist() -> None:
    known = known_options(typer.main.get_command(app)) | OTHERS
    named = {
        (option, f"{path.relative_to(SOURCE)}:{line}")
        for path in SOURCE.rglob("*.py")
        for line, text in texts(ast.parse(path.read_text(encoding="utf-8")))
        for option in OPTION.findall(text)
    }
    assert len(named) > 50
    assert sorted((option, place) for option, place in named if option not in known) == []


def test_options_named_by_a_command_are_its_own() -> None:
    """The messages of a command's own file name options of that command."""
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        path = SOURCE / "cli" / f"{name}.py"
        if not path.exists():
            continue
        own = known_options(command)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise):
                for line, text in texts(node):
                    assert set(OPTION.findall(text)) <= own, f"{path.name}:{line}: {text}"
