"""How far a long run is: a bar with the time left on a terminal, a line per piece elsewhere."""

import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.table import Column
from rich.text import Text

from sanne.cli.options import notes

if TYPE_CHECKING:
    from sanne_lab.experiments.pool import News


class _TimeLeft(ProgressColumn):
    """Counts down between the estimates."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        end = task.fields.get("end")
        if end is None:
            return Text("time left: not known yet")
        minutes, seconds = divmod(max(0, round(end - time.monotonic())), 60)
        return Text(f"about {minutes // 60}:{minutes % 60:02d}:{seconds:02d} left")


class Display:
    """Shows news of a run while it is open.

    >>> with Display() as display:
    ...     fill(cells, out, Plan(watch=display.show))
    """

    def __enter__(self) -> Self:
        self._bar: Progress | None = None
        return self

    def show(self, news: "News") -> None:
        """Take in one piece of news."""
        if not notes.is_terminal or not news.total:
            if news.message:
                notes.print(news.message, markup=False)
            return
        if self._bar is None:
            whole = Column(no_wrap=True)
            columns = (
                BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), _TimeLeft(whole),
                TextColumn("{task.description}", table_column=whole),
            )  # fmt: skip
            self._bar = Progress(*columns, console=notes, transient=True)
            self._bar.start()
            self._task = self._bar.add_task("", total=news.total)
        end = None if news.seconds_left is None else time.monotonic() + news.seconds_left
        self._bar.update(self._task, completed=news.done, end=end)
        if news.message:
            self._bar.update(self._task, description=news.message)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
