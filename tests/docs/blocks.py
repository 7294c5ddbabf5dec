"""Code blocks of Markdown pages, and whether they are run."""

import re
from dataclasses import dataclass
from pathlib import Path

RUN = ("python", "bash")
SHOWN = ("text", "json", "toml", "csv")
_MARK = re.compile(r"<!-- (not run|background): (.+) -->")
_FENCE = re.compile(r"^```(\w*)$")


@dataclass(frozen=True)
class Block:
    """A fenced block; `mark` and `reason` come from the comment above it."""

    line: int  # of its first line, counted from 1
    language: str
    text: str
    mark: str = ""  # "", "not run" or "background"
    reason: str = ""

    @property
    def runs(self) -> bool:
        return self.language in RUN and self.mark != "not run"


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found: list[Block] = []
    above, opened, language = "", 0, ""
    lines = page.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        fence = _FENCE.match(line.strip())
        if opened and line.strip() == "```":
            mark = _MARK.fullmatch(above)
            text = "\n".join(lines[opened : number - 1]) + "\n"
            found.append(Block(opened + 1, language, text, mark[1] if mark else "", mark[2] if mark else ""))
            opened, above = 0, ""
        elif not opened and fence:
            opened, language = number, fence[1]
        elif not opened and line.strip():
            above = line.strip()
    assert not opened, f"{page}:{opened}: a block without an end"
    return found
