"""Makes the `>>>` lines of docstrings code blocks; Markdown would take them for quotations."""

from typing import Any

import griffe


class Examples(griffe.Extension):
    """Called by mkdocstrings for everything that it reads."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Put fences around runs of `>>>` lines."""
        if obj.docstring is None or ">>>" not in obj.docstring.value:
            return
        lines: list[str] = []
        inside = False
        for line in [*obj.docstring.value.splitlines(), ""]:
            is_code = line.lstrip().startswith((">>> ", "... "))
            if is_code != inside:
                lines.append("```python" if is_code else "```")
            inside = is_code
            lines.append(line.lstrip()[4:] if is_code else line)
        obj.docstring.value = "\n".join(lines).rstrip()
