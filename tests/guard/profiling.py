"""profiling.py - profiling that is off costs nothing: by instructions and branches, not by time.

Compares runs of a session that was never profiled with runs of one that was profiled before, in
every way. Both must execute the same number, to a thousandth.
"""
import os
import shutil
import sys

from _guard import BUILD, collected, only_plain_release, skip

PROGRAM = os.path.join(BUILD, "guard_watched")
FEW, MANY = 20, 220


def per_run(mode):
    """Instructions and conditional branches of one run; the surroundings cancel out."""
    few, many = (collected(PROGRAM, mode, str(runs), options=["--branch-sim=yes"])
                 for runs in (FEW, MANY))
    return [(b - a) / (MANY - FEW) for a, b in zip(few[:2], many[:2])]


only_plain_release()
if shutil.which("valgrind") is None:
    skip("valgrind is not installed")
never, after = per_run("never"), per_run("after")
watched = per_run("while")
worst = max(abs(b / a - 1) for a, b in zip(never, after))
print(f"a run takes {never[0]:.1f} instructions and {never[1]:.1f} conditional branches; after "
      f"profiling {after[0]:.1f} and {after[1]:.1f}: {100 * worst:.4f} %; while it is on "
      f"{watched[0]:.1f} and {watched[1]:.1f}")
if not all(c > 1.001 * a for a, c in zip(never, watched)):
    sys.exit("what is watched does not show: these counts would show nothing")
sys.exit(worst > 0.001)
