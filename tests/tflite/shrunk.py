"""shrunk.py - a model that is partly quantised, made smaller and written as .tflite: layers of
integers stay as they are, the others are rounded or factored, and LiteRT runs the file.

Needs the Python packages numpy and ai-edge-litert, in build/venv, and the shared data; without them
this is skipped.
"""
import os
import subprocess

from _litert import DATA, SKIP, TMP, TOOL, finish, np, reference, takt_run

MODEL = os.path.join(DATA, "tflite", "mlperf-kws01-hybrid", "model.tflite")
SAMPLE = os.path.join(DATA, "tflite", "mlperf-kws01-hybrid", "in0.npy")
if not os.path.exists(MODEL):
    SKIP(f"there is no {MODEL}")

failures = []
x = np.load(SAMPLE)
want = reference(MODEL, [x])[0]
# a factored layer loses more than its rounding
for limit, *flags in ((0.05, "quantize", "--type", "w8"), (0.05, "quantize", "--calib", SAMPLE),
                      (0.2, "lowrank", "--rank", "10")):
    made, name = os.path.join(TMP, "shrunk.tflite"), " ".join(flags[:2])
    run = subprocess.run([TOOL, flags[0], MODEL, *flags[1:], "--size-first", "-q", "-o", made],
                         text=True, capture_output=True, check=False)
    if run.returncode != 0:
        failures.append(f"{name}: {run.stderr.strip()[:300]}")
        continue
    got = reference(made, [x])
    if got is None:
        failures.append(f"{name}: LiteRT refuses it: {reference.error.strip()[:200]}")
        continue
    far, mine = np.abs(got[0] - want).max(), np.abs(takt_run(made, [x], 1)[0] - got[0]).max()
    if far > limit or mine > 0.01:
        failures.append(f"{name}: {far:.3g} from LiteRT on the original, {mine:.3g} in Takt")
    if os.path.getsize(made) > os.path.getsize(MODEL):
        failures.append(f"{name}: {os.path.getsize(made)} bytes, {os.path.getsize(MODEL)} before")

finish(failures, "a hybrid model is written in 3 smaller forms")
