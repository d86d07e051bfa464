"""_progress.py - a bar for scripts that take long: on terminals only, on standard error.

It appears after a second (TAKT_PROGRESS: other seconds), as the bars of the command do, and is
wiped before other output."""
import os
import sys
import time

CELLS = 24


def patience():
    try:
        return max(0.0, float(os.environ.get("TAKT_PROGRESS", "1")))
    except ValueError:
        return 1.0


class Progress:
    def __init__(self, total):
        self.total, self.begun, self.drawn = total, time.monotonic(), None

    def at(self, done, what, rate=""):
        """`done` of the total; what is under way, and how fast, if that is known."""
        now = time.monotonic()
        if not sys.stderr.isatty() or now - self.begun < patience() \
                or (self.drawn is not None and now - self.drawn < 0.1):
            return
        part = min(1.0, done / self.total) if self.total > 0 else 1.0
        bar = ("=" * int(part * CELLS)).ljust(CELLS)
        left = f"  {(now - self.begun) * (1 - part) / part:.0f} s left" if part > 0 else ""
        speed = f"  {rate}" if rate else ""
        sys.stderr.write(f"\r{what} [{bar}] {100 * part:3.0f} %{speed}{left}\x1b[K")
        sys.stderr.flush()
        self.drawn = now

    def end(self):
        """Wipes it; it is drawn again by the next `at`."""
        if self.drawn is not None:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
        self.drawn = None
