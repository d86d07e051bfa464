"""convert.py - models of TensorFlow Lite give the same results as text, as ONNX that is written of
the text, and compiled. (compact.py has the ONNX that is written of the model itself.)"""
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.environ.get("TAKT_TOOL", os.path.join(ROOT, "build", "takt"))
TMP = os.environ.get("TAKT_TEST_TMP", "/tmp")
DATA = os.environ.get("TAKT_DATA", os.path.join(ROOT, "..", "shared", "data"))
MODELS = ("hello-world-int8", "keyword-scrambled-svdf-int16", "mlperf-kws01-int8",
          "mlperf-kws01-hybrid", "mnist-lstm-int8", "mww-vad", "mobilenet-v1-0.25-128-uint8")
# Written as .tflite again with the integers of the file, recurrent layers whole.
INTEGERS = ("hello-world-int8", "keyword-scrambled-svdf-int16", "mlperf-kws01-int8",
            "mnist-lstm-int8", "mww-vad")
failures, count = [], 0


def takt(*args):
    run = subprocess.run([TOOL, *args], cwd=ROOT, text=True, capture_output=True, check=False)
    if run.returncode != 0:
        failures.append(f"takt {' '.join(args)}: {run.stderr.strip()[:300]}")
    return run.stdout


def digest(path):
    text = takt("run", path, "--seed", "3", "--threads", "1", "--json")
    return json.loads(text)["digest"] if text else None


for name in MODELS:
    model = os.path.join(DATA, "tflite", name, "model.tflite")
    if not os.path.exists(model):
        continue
    count += 1
    want = digest(model)
    for ending in ("takt", "onnx", "taktp") + ("tflite",) * (name in INTEGERS):
        made = os.path.join(TMP, f"made.{ending}")
        source = os.path.join(TMP, "made.takt") if ending == "onnx" else model
        takt("compile" if ending == "taktp" else "convert", source, "-o", made)
        if digest(made) != want:
            failures.append(f"{name}: other results as .{ending}")
if count == 0:
    print("skipped: no models; set TAKT_DATA")
    sys.exit(77)
print("\n".join(failures + [f"{count} models"]))
sys.exit(1 if failures else 0)
