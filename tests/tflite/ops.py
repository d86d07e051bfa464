"""ops.py - one operator at a time, against LiteRT's reference kernels: integers bit for bit.

    ops.py           all cases
    ops.py NAME      those whose names contain NAME, one line each
    ops.py --write   writes the table of docs/tflite.md from what passes

Needs the Python packages numpy and ai-edge-litert, in build/venv; without them this is skipped.
"""
import os
import re
import sys

from _flat import BUILTINS
from _litert import ROOT, SKIP, finish, np, reference, takt_run

if np is None:
    SKIP("no numpy")
import _cases  # needs numpy
import _cases_moves
import _cases_wide

for group in _cases.GROUPS + _cases_moves.GROUPS + _cases_wide.GROUPS:
    group()

DOCUMENT = os.path.join(ROOT, "docs", "tflite.md")
SOURCES = os.path.join(ROOT, "src", "io", "tflite")


def table(passed):
    """Operators that adapters name, and those that are missing with their reasons."""
    names, missing = set(), {}
    for file in os.listdir(os.path.join(SOURCES, "op")):
        with open(os.path.join(SOURCES, "op", file), encoding="utf-8") as f:
            record = f.read().split("const takt_tflite_op", 1)[1]
            names |= set(re.findall(r'"([A-Za-z_0-9]+)"', record))
    with open(os.path.join(SOURCES, "missing.def"), encoding="utf-8") as f:
        missing = dict(re.findall(r'X\("(\w+)", "([^"]+)"\)', f.read()))
    lines = ["| operator | compared with LiteRT |", "|---|---|"]
    for name in sorted(names):
        kinds = sorted(passed.get(name, ()))
        lines.append(f"| {name} | {', '.join(kinds) if kinds else '-'} |")
    lines += ["", "| not read | why |", "|---|---|"]
    for name in sorted(set(BUILTINS) - names):
        if not name.startswith("STABLEHLO_"):
            why = missing.get(name, "no adapter yet")
            lines.append(f"| {name} | {why} |")
    return "\n".join([*lines, "| STABLEHLO_* | convert the model without them |"])


def document(passed, writes):
    with open(DOCUMENT, encoding="utf-8") as f:
        before, rest = f.read().split("<!-- operators -->\n")
    after = rest.split("<!-- end -->")[1]
    now = f"{before}<!-- operators -->\n{table(passed)}\n<!-- end -->{after}"
    with open(DOCUMENT, encoding="utf-8") as f:
        if f.read() == now:
            return []
    if not writes:
        return ["docs/tflite.md is not what the operators are: run tests/tflite/ops.py --write"]
    with open(DOCUMENT, "w", encoding="utf-8") as f:
        f.write(now)
    return []


failures, refused, count, passed = [], 0, 0, {}
writes = "--write" in sys.argv
only = sys.argv[1] if len(sys.argv) > 1 and not writes else ""
for name, case in _cases.CASES.items():
    if only not in name:
        continue
    want = reference(case.data, case.inputs, case.runs)
    if want is None:
        refused += 1
        if only:
            print(f"{name}: LiteRT refuses it: {reference.error.strip()[:200]}")
        continue
    count += 1
    try:
        got = takt_run(case.data, case.inputs, len(want), case.runs)
    except RuntimeError as error:
        failures.append(f"{name}: {error}")
        continue
    good = len(failures)
    for w, g in zip(want, got):
        if w.dtype != g.dtype or w.shape != g.shape:
            failures.append(f"{name}: {g.dtype}{g.shape}, not {w.dtype}{w.shape}")
            continue
        error = np.abs(w.astype(float) - g.astype(float)).max() if w.size else 0
        most = np.abs(w.astype(float)).max() if w.size else 0
        limit = max(case.tolerance, 1e-6) * max(most, 1)
        if w.dtype.kind != "f":  # quantisation levels; float tolerances are below one
            limit = int(case.tolerance)
        if not error <= limit:
            failures.append(f"{name}: {error:g} off, of {most:g}; "
                            f"{np.count_nonzero(w != g)} of {w.size} differ")
        elif only:
            print(f"{name}: {error:g} off, of {most:g}")
    if good == len(failures):
        for op in case.ops:
            passed.setdefault(op, set()).add(case.kind)
if not only:
    failures += document(passed, writes)
finish(failures, f"{count} operators, LiteRT refuses {refused}")
