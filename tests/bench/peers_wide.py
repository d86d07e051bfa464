"""peers_wide.py - `make peers ROWS=wide`: its rows, files without weights, losses, the limit; and,
where numpy and onnxruntime are in build/venv, two rows of a folder of files."""
import math
import os
import shutil
import subprocess
import sys

ROOT = os.getcwd()
PEERS = os.path.join(ROOT, "bench", "peers")
TMP = os.path.join(os.environ["TAKT_TEST_TMP"], "wide")
BUILD = os.path.dirname(os.environ["TAKT_TOOL"])
sys.dont_write_bytecode = True
sys.path.insert(0, PEERS)
import wide_files  # noqa: E402
import wide_models  # noqa: E402
import wide_row  # noqa: E402
import wide_table  # noqa: E402
from process import Failed  # noqa: E402
from wide import renewed  # noqa: E402

names = [row.name for row in wide_models.ROWS]
assert len(set(names)) == len(names), "names are unique"
assert sum(row.source in ("torchvision", "timm") for row in wide_models.ROWS) >= 40
assert sum(row.batch == 8 for row in wide_models.ROWS) == 10
assert sum(row.group == "audio" for row in wide_models.ROWS) >= 10
assert len({r.model for r in wide_models.ROWS if r.source == "transformers"}) == 6

found, absent = wide_files.models()
assert len(set(wide_files.PACKAGES)) == 20 and set(absent) <= set(wide_files.PACKAGES)
assert all(os.path.isfile(path) and name.split("/")[0] in wide_files.PACKAGES
           for name, path in found)

for name, kind in (("FusedConv", "convolution"), ("depthwise", "convolution"),
                   ("LSTM", "recurrence"), ("ConvTranspose", "transposed convolution"),
                   ("MatMulNBits", "product"), ("move", "moving"), ("GridSample", "sampling"),
                   ("map", "elementwise"), ("LayerNormalization", "normalisation")):
    assert wide_table.kind_of(name) == kind, (name, wide_table.kind_of(name))


def row(name, threads, ratio, verdict, **more):
    return {"row": name, "threads": threads, "takt": 10.0, "onnxruntime": 10 * ratio,
            "ratio": ratio, "interval": [ratio, ratio], "verdict": verdict, "agree": True,
            "plan_ms_takt": 1, "plan_ms_onnxruntime": 2, "memory_takt": 3e6,
            "memory_onnxruntime": 2e6, **more}


result = {"cpu": "C", "made": "M", "quick": True, "threads": [1, 2], "failed": [["f", "why"]],
          "left_out": ["z"], "absent": ["p", "q"],
          "rows": [row("a", 1, 2, "faster", openvino={"problem": "dynamic"}),
                   row("b", 1, 0.5, "slower", loses={
                       "kind": "convolution", "takt_us": 9, "onnxruntime_us": 4,
                       "step": "Conv_7: conv"})]}
text = wide_table.markdown(result)
assert "1T: 2 rows, 1 faster, 1 slower; geometric mean 1.00, least 0.50; made ready sooner 2, " \
    "less memory 0" in text, text
assert "2 packages with models are not installed" in text, text
assert "1 left out" in text and "1 failed" in text and "| f |" in text and "2T" not in text, text
assert "convolution 9 against 4 us (`Conv_7: conv`)" in text, text
assert "against OpenVINO" not in text, text
result["rows"][1]["openvino"] = {"us": 12.5, "ratio": 1.25, "error": 0, "verdict": "faster"}
text = wide_table.markdown(result)
assert "1T against OpenVINO: 1 rows, 0 slower; geometric mean 1.25" in text, text
assert "| 1.25 faster |  |  | convolution" in text, text
assert "1T: behind the best peer on 1 of 2 rows, 50.0 % are not" in text, text
result["rows"][0]["ncnn"] = {"us": 8, "ratio": 0.8, "error": 0, "verdict": "slower"}
text = wide_table.markdown(result)
assert "1T against ncnn: 1 rows, 1 slower; geometric mean 0.80" in text, text
assert "1T: behind the best peer on 2 of 2 rows" in text, text
columns = {line.count("|") for line in text.splitlines() if line.startswith("|")}
assert columns == {16}, columns
both = {"cpu": "C", "threads": [1, 2], "rows": [
    row("u", count, 2, "faster", error=0.1 * count, own_error=0.5) for count in (1, 2)]}
text = wide_table.summary(both)
assert "u differ by 0.10 with 1T" in text and "u differ by 0.20 with 2T" in text, text


class Own(wide_row.Wide):
    """ONNX Runtime is as far from itself as it is told, or fails."""

    def __init__(self, error):  # pylint: disable=super-init-not-called
        self.error = error

    def own_error(self, *_):
        if self.error is None:
            raise Failed("plain: no such file")
        return self.error


for mine, own, is_good in ((0.5, 0.6, True), (0.6, 0.5, False), (0.5, math.inf, False),
                           (math.inf, math.inf, False), (math.nan, 1, False), (0.5, None, False)):
    out = row("u", 1, 2, "faster", error=mine) | {"agree": False}
    Own(own).compare_with_own(out, None, "")
    assert out["agree"] == is_good and ("own_problem" in out) == (own is None), (mine, own, out)

# a row that has an old figure is not left out, and none is counted twice
before = {"commit": "c", "rows": [row("a", 1, 2, "faster")], "left_out": ["b", "d", "a 2T"],
          "failed": [["b", "why"], ["e", "why"]]}
after = renewed(before, {"rows": [row("b", 1, 2, "faster")], "left_out": ["a", "d", "a 2T"],
                         "failed": []})
assert after["left_out"] == ["d", "a 2T"] and after["failed"] == [["e", "why"]], after
assert [(r["row"], r.get("commit")) for r in after["rows"]] == [("a", "c"), ("b", None)], after


def wide(*flags, python=sys.executable):
    return subprocess.run([python, os.path.join(PEERS, "wide.py"), *flags], text=True, check=False,
                          capture_output=True, env={**os.environ, "BUILD": BUILD,
                                                    "PYTHONDONTWRITEBYTECODE": "1"})


listed = wide("--list", "--group", "video")
assert listed.returncode == 0 and listed.stdout.split() == ["video", "r3d_18", "video", "mc3_18"]
wrong = wide("--list", "--only", "nothing")
assert wrong.returncode == 1 and "no row or group nothing" in wrong.stderr, wrong.stderr

VENV = os.environ.get("TAKT_VENV", os.path.join(ROOT, "build", "venv"))
PYTHON = os.path.join(VENV, "bin", "python")
if not os.path.exists(PYTHON) or not os.path.isdir(os.path.join(BUILD, "python")) or \
        subprocess.run([PYTHON, "-c", "import numpy, onnxruntime"], check=False,
                       stderr=subprocess.DEVNULL).returncode != 0:
    print("the table holds; without numpy and onnxruntime in build/venv no row is measured")
    sys.exit(77)

shutil.rmtree(TMP, ignore_errors=True)
os.makedirs(os.path.join(TMP, "models"))
with open(os.path.join(TMP, "m.takt"), "w", encoding="ascii") as file:
    file.write("model m(x: f32[4, 64]) { return y = relu(dense(x, 256)) }\n")
FIRST = os.path.join(TMP, "models", "first.onnx")
made = subprocess.run([os.environ["TAKT_TOOL"], "convert", os.path.join(TMP, "m.takt"), "-o",
                       FIRST], capture_output=True, text=True, check=False)
assert made.returncode == 0, made.stderr

# a file without its weights has the same size when it is filled, and the same weights each time
CODE = """
import os, sys
import numpy as np
sys.path[:0] = [sys.argv[1], sys.argv[2]]
import hollow, takt
data = open(sys.argv[3], "rb").read()
raw = max((np.asarray(v).tobytes() for v in takt.load(sys.argv[3]).parameters().values()), key=len)
at = data.find(raw)
assert at > 0 and len(raw) == 64 * 256 * 4
hollow.write(data, [(np.float32, raw)], sys.argv[4])
again = hollow.read(sys.argv[4])
assert again == hollow.read(sys.argv[4]) and len(again) == len(data) and again != data
assert again[:at] == data[:at] and again[at + len(raw):] == data[at + len(raw):]
assert os.path.getsize(sys.argv[4]) < len(data) / 8, os.path.getsize(sys.argv[4])
"""
done = subprocess.run([PYTHON, "-c", CODE, PEERS, os.path.join(BUILD, "python"), FIRST,
                       os.path.join(TMP, "models", "second.hollow")],
                      capture_output=True, text=True, check=False)
assert done.returncode == 0, done.stderr
with open(os.path.join(TMP, "models", "third.onnx"), "wb") as file:
    file.write(b"no model")
ran = wide("--quick", "--threads", "1", "--models", os.path.join(TMP, "models"), "--out", TMP,
           python=PYTHON)
assert ran.returncode == 0, ran.stdout + ran.stderr
assert "1T: 2 rows" in ran.stdout and "1 failed" in ran.stdout, ran.stdout
# a run of the same commit continues with the missing rows, one of another commit starts over
table = next(os.path.join(TMP, name) for name in os.listdir(TMP) if name.endswith(".json"))
again = wide("--quick", "--threads", "1", "--models", os.path.join(TMP, "models"), "--out", TMP,
             "--resume", "--limit", "1e-9", python=PYTHON)
assert again.returncode == 0 and "1T: 2 rows" in again.stdout, again.stdout + again.stderr
assert "1 left out" in again.stdout, again.stdout
with open(table, encoding="utf-8") as file:
    text = file.read()
with open(table, "w", encoding="utf-8") as file:
    file.write(text.replace('"quick": true', '"quick": false'))
again = wide("--quick", "--threads", "1", "--models", os.path.join(TMP, "models"), "--out", TMP,
             "--resume", "--limit", "1e-9", python=PYTHON)
assert again.returncode == 0 and "3 left out" in again.stdout, again.stdout + again.stderr
over = wide("--quick", "--threads", "1", "--models", os.path.join(TMP, "models"), "--out", TMP,
            "--limit", "1e-9", python=PYTHON)
assert over.returncode == 0 and "3 left out" in over.stdout, over.stdout + over.stderr
print("rows are measured, filled, counted, resumed, and left out when the time is over")
