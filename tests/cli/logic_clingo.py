"""logic_clingo.py - random stratified programs have the tuples that clingo finds: bits and sets.

Needs the Python package clingo, here or in build/venv; without it this is skipped. TAKT_PROGRAMS
says how many programs, TAKT_FIRST the first seed. Programs share a text, 40 to each, under names
of their own.
"""
import os

import _venv

try:
    import clingo
except ImportError:
    _venv.instead("clingo")

from _cli import TMP, expect, finish, takt  # noqa: E402
from _programs import program  # noqa: E402

FIRST, PROGRAMS = int(os.environ.get("TAKT_FIRST", "1")), int(os.environ.get("TAKT_PROGRAMS", "40"))
TOGETHER = 40


def answers(asp):
    control = clingo.Control(["--warn=none"])
    control.add("base", [], "\n".join(asp))
    control.ground([("base", [])])
    found = {}
    with control.solve(yield_=True) as handle:
        for symbol in handle.model().symbols(atoms=True):
            found.setdefault(symbol.name, set()).add(
                tuple(argument.number for argument in symbol.arguments))
    return found


def together(seeds):
    """Runs these programs as one text; the number of tuples, or None after a difference."""
    parts = [program(seed) for seed in seeds]
    names = [name for part in parts for name in part[3]]
    source = "\n".join([*(part[0] for part in parts), "model m() {",
                        *(line for part in parts for line in part[1]),
                        f"  return {', '.join(names)}", "}", ""])
    path = os.path.join(TMP, "program.takt")
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    files = {name: os.path.join(TMP, name + ".tsv") for name in names}
    run = takt("run", path, *(flag for name in names for flag in ("-o", f"{name}={files[name]}")))
    if not expect(run.returncode == 0, f"seeds from {seeds[0]}: {run.stderr}"):
        return None
    want = answers([line for part in parts for line in part[2]])
    count, is_good = 0, True
    for part in parts:
        for name in part[3]:
            with open(files[name], encoding="utf-8") as file:
                got = {tuple(map(int, line.split("\t"))) for line in file.read().splitlines()}
            os.remove(files[name])
            count += len(got)
            lines = "\n".join([part[0], *part[1]])
            is_good &= expect(got == want.get(name, set()),
                              f"{name}: {got} instead of {want.get(name)}\n{lines}")
    return count if is_good else None


tuples, done = 0, 0
while done < PROGRAMS:
    more = min(TOGETHER, PROGRAMS - done)
    found = together(range(FIRST + done, FIRST + done + more))
    if found is None:
        break
    tuples, done = tuples + found, done + more
expect(tuples > 3 * done, f"{tuples} tuples in all")
print(f"{done} programs, {tuples} tuples, clingo {clingo.__version__}")
finish()
