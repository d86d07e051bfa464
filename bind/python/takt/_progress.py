"""_progress.py - a bar for what takes longer than a second."""
from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

_CELLS = 20
_BETWEEN = 0.1  # seconds between two pictures


def _patience() -> float:
    """TAKT_PROGRESS, as for the command: seconds before a bar appears; default 1."""
    try:
        return max(float(os.environ.get("TAKT_PROGRESS", "1")), 0.0)
    except ValueError:
        return 1.0


def _is_terminal(stream: Any) -> bool:
    """Programs without a console have no standard error, and some replace it by their own object.
    """
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def length(data: Any) -> int:
    """How many items there are; 0: unknown. Loaders of streams in PyTorch have a failing len()."""
    try:
        return len(data)
    except (TypeError, NotImplementedError):
        return 0


class Bar:
    """One line on standard error; by default only where that is a terminal."""

    def __init__(self, what: str, total: int, wanted: Optional[bool] = None):
        """`total` 0: unknown, so there is a count instead of a bar."""
        self.what, self.total = what, total
        self.wanted = _is_terminal(sys.stderr) if wanted is None else wanted
        self.begun = time.monotonic()
        self.due = self.begun + _patience()
        self.is_drawn = False

    def at(self, done: int, name: str = "", value: float = 0.0) -> None:
        """Draws it, if it is time, with a figure of that name behind it."""
        if not self.wanted or (now := time.monotonic()) < self.due:
            return
        self.due, self.is_drawn = now + _BETWEEN, True
        text = f"{done}"
        if 0 < done <= self.total:
            cells = "=" * (_CELLS * done // self.total)
            left = (self.total - done) * (now - self.begun) / done
            text = f"[{cells:{_CELLS}}] {100 * done / self.total:3.0f} %, {left:.0f} s left"
        figure = f"  {name} {value:.4g}" if name else ""
        sys.stderr.write(f"\r{self.what} {text}{figure}\x1b[K")
        sys.stderr.flush()

    def end(self) -> None:
        """Wipes it."""
        if self.is_drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
        self.is_drawn = False
