"""mkdocs hooks: reference pages generated from the program itself."""

import dataclasses
import inspect
import io
import tokenize
import typing
from typing import Any

import typer.main
from mkdocs.structure.files import File, Files

from sanne.cli.commands import app
from sanne.config import RECIPES, Config
from sanne.serve.limits import ServeLimits


def on_files(files: Files, config: Any) -> Files:
    """Called by mkdocs: add the generated pages."""
    files.append(File.generated(config, "reference/cli.md", content=command_page()))
    files.append(File.generated(config, "reference/settings.md", content=settings_page()))
    return files


def command_page() -> str:
    """Every command with its arguments and options, as Markdown."""
    program = typer.main.get_command(app)
    parts = [
        "# Command line",
        "Generated from the program's help. Results go to stdout, everything else to stderr; `--json` prints one "
        "object. Exit code 0 means success, 2 a mistake in the command or in a file, reported with its location, 1 a "
        "failure of the system (such as a full disk), and 130 Ctrl-C.",
        "## sanne\n\n" + _options_table(program.params),
        *_command_parts(program, "sanne"),
    ]
    return "\n\n".join(parts) + "\n"


def _command_parts(command: Any, name: str) -> list[str]:
    """The section of a command, and those of its subcommands."""
    inner = getattr(command, "commands", None)
    parts = []
    if inner is None:
        arguments = [p for p in command.params if p.param_type_name == "argument"]
        options = [p for p in command.params if p.param_type_name == "option"]
        usage = " ".join([name, *(_metavar(p) for p in arguments), "[OPTIONS]"])
        parts = [f"## {name}", f"```text\n{usage}\n```", inspect.cleandoc(command.help or "")]
        rows = [f"| `{_metavar(p)}` | {_help(p)} | |" for p in arguments if _help(p)]
        parts.append(_options_table(options, rows))
    for word, child in (inner or {}).items():
        parts += _command_parts(child, f"{name} {word}")
    return parts


def _options_table(options: Any, rows: Any = ()) -> str:
    """The options that a user may see; `rows` come first."""
    shown = [f"| {_names(p)} | {_help(p)} | {_default(p)} |" for p in options if not getattr(p, "hidden", False)]
    return "\n".join(["| option | meaning | default |", "|---|---|---|", *rows, *shown])


def _metavar(parameter: Any) -> str:
    name = parameter.metavar or parameter.name.upper()
    return f"{name}..." if parameter.nargs == -1 else str(name)


def _names(parameter: Any) -> str:
    placeholder = parameter.metavar or _value(parameter.type_descriptor.annotation)
    value = "" if getattr(parameter, "is_flag", False) else f" {placeholder}"
    return ", ".join(f"`{option}{value}`" for option in [*parameter.opts, *parameter.secondary_opts])


def _value(kind: Any) -> str:
    """The placeholder for a value of a type: its choices, or its name."""
    if typing.get_origin(kind) is typing.Literal:
        return "\\|".join(typing.get_args(kind))
    inner = [part for part in typing.get_args(kind) if part is not type(None)]
    if inner:
        return _value(inner[0])
    return {str: "TEXT", int: "INTEGER", float: "NUMBER"}.get(kind, getattr(kind, "__name__", "VALUE").upper())


def _help(parameter: Any) -> str:
    return (parameter.help or "").replace("|", "\\|")


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    value = parameter.default
    if value is None or value is False or value == [] or callable(value):
        return ""
    if value is True:
        return f"`{parameter.opts[0]}`"
    return f"`{value}`"


def settings_page() -> str:
    """Every setting with its meaning and its value in each recipe, as Markdown."""
    parts = [
        "# Settings",
        "The hyperparameters of a model. Change them with `--set name=value` or `SANNE(settings={...})`; the model "
        "folder records them. A recipe uses the default unless its column has a value.",
    ]
    for group in dataclasses.fields(Config):
        parts += _group_parts(typing.get_type_hints(Config)[group.name], group.name)
    parts += ["## Limits of the server", "`sanne serve --set name=value`.", _plain_table(ServeLimits)]
    return "\n\n".join(parts) + "\n"


def _group_parts(kind: type[Any], group: str) -> list[str]:
    remarks = _remarks(kind)
    names = list(RECIPES)
    rows = [
        f"| setting | default | {' | '.join(f'`{name}`' for name in names)} | meaning |",
        "|---|---|---|---|---|---|",
    ]
    for field in dataclasses.fields(kind):
        cells = [
            "" if getattr(getattr(RECIPES[name], group), field.name) == field.default
            else _shown(getattr(getattr(RECIPES[name], group), field.name))
            for name in names
        ]  # fmt: skip
        rows.append(f"| `{field.name}` | {_shown(field.default)} | {' | '.join(cells)} | {remarks[field.name]} |")
    return [f"## {group.capitalize()}", inspect.cleandoc(kind.__doc__ or ""), "\n".join(rows)]


def _plain_table(kind: type[Any]) -> str:
    remarks = _remarks(kind)
    rows = [f"| `{f.name}` | {_shown(f.default)} | {remarks[f.name]} |" for f in dataclasses.fields(kind)]
    return "\n".join(["| setting | default | meaning |", "|---|---|---|", *rows])


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        value = ",".join(str(item) for item in value)
    return f"`{value:,}`" if isinstance(value, int) and not isinstance(value, bool) else f"`{value}`"


def _remarks(kind: type[Any]) -> dict[str, str]:
    """The comment on each field's line; empty if there is none."""
    remarks = {field.name: "" for field in dataclasses.fields(kind)}
    field = ""
    for token in tokenize.generate_tokens(io.StringIO(inspect.getsource(kind)).readline):
        if token.type == tokenize.NAME and token.line.lstrip().startswith(f"{token.string}:"):
            field = token.string
        elif token.type == tokenize.COMMENT and token.line.lstrip().startswith(f"{field}:") and field in remarks:
            remarks[field] = token.string.removeprefix("#").strip().replace("|", "\\|")
    return remarks
