"""ops.py - one operator at a time, against LiteRT's reference kernels: integers bit for bit.

    ops.py           all cases
    ops.py NAME      those whose names contain NAME, one line each

Needs the Python packages numpy and ai-edge-litert, in build/venv; without them this is skipped.
"""
import sys

from _litert import SKIP, finish, np, reference, takt_run

if np is None:
    SKIP("no numpy")
import _cases  # needs numpy
import _cases_more

for group in _cases.GROUPS + _cases_more.GROUPS:
    group()

failures, refused, count = [], 0, 0
only = sys.argv[1] if len(sys.argv) > 1 else ""
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
    for w, g in zip(want, got):
        if w.dtype != g.dtype or w.shape != g.shape:
            failures.append(f"{name}: {g.dtype}{g.shape}, not {w.dtype}{w.shape}")
            continue
        error = np.abs(w.astype(float) - g.astype(float)).max() if w.size else 0
        most = np.abs(w.astype(float)).max() if w.size else 0
        limit = 0 if w.dtype.kind != "f" else max(case.tolerance, 1e-6) * max(most, 1)
        if not error <= limit:
            failures.append(f"{name}: {error:g} off, of {most:g}; "
                            f"{np.count_nonzero(w != g)} of {w.size} differ")
        elif only:
            print(f"{name}: {error:g} off, of {most:g}")
finish(failures, f"{count} operators, LiteRT refuses {refused}")
