"""_zoo.py - zoo:NAME in place of a file: a model of the zoo, as the command `takt` takes it."""
from __future__ import annotations

import difflib
import os

from .errors import ArgumentError

_LEVELS = 5  # folders above the package that are searched


def _folder() -> str | None:
    given = os.environ.get("TAKT_ZOO")
    if given is not None:
        return given if os.path.isdir(given) else None
    above = os.path.dirname(os.path.abspath(__file__))
    for _ in range(_LEVELS):
        for place in ("share/takt/zoo", "zoo"):
            folder = os.path.join(above, place)
            if os.path.exists(os.path.join(folder, "README.md")):
                return folder
        above = os.path.dirname(above)
    return None


def file_of(path: str) -> str:
    """The file of the model that zoo:NAME names."""
    zoo, name = _folder(), path[4:]
    if zoo is None:
        raise ArgumentError(f"{path}: the zoo was not found; set TAKT_ZOO to the folder `zoo` of "
                            "Takt's sources, or load a file that `takt zoo get` wrote")
    known = [n for n in os.listdir(zoo) if os.path.exists(os.path.join(zoo, n, "recipe"))]
    if name in known:
        return os.path.join(zoo, name, name + ".taktp")
    close = difflib.get_close_matches(name, known, 1)
    raise ArgumentError(f"there is no model {name} in the zoo" +
                        (f"; did you mean zoo:{close[0]}?" if close else ""))
