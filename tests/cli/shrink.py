"""shrink.py - smaller models: the commands of docs/shrinking.md, real models, exit codes."""
import os
import re
import shutil
import struct
import subprocess
import zipfile

from _cli import (CLEAN, ROOT, TMP, TOOL, expect, fails, finish, is_written, npy, parsed, path,
                  succeeds, takt, write)

DATA = os.environ.get("TAKT_DATA", os.path.join(os.path.dirname(ROOT), "shared", "data"))
SPIRALS = ("examples/spirals.takt", "--calib", "examples/spirals.csv")

# ---- the page ----

with open(os.path.join(ROOT, "docs", "shrinking.md"), encoding="utf-8") as file:
    text = file.read()
folder = os.path.join(TMP, "shrinking")
os.makedirs(os.path.join(folder, "build"), exist_ok=True)
for name, target in (("examples", os.path.join(ROOT, "examples")),
                     ("tests", os.path.join(ROOT, "tests")),
                     ("build/takt", os.path.abspath(TOOL))):
    if not os.path.lexists(os.path.join(folder, name)):
        os.symlink(target, os.path.join(folder, name))
lines = "\n".join(re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)).splitlines()
expect(len(lines) >= 5, "the page has lost its commands")
for line in filter(None, lines):
    run = subprocess.run(["sh", "-ec", line], cwd=folder, env=CLEAN, text=True, capture_output=True,
                         timeout=120, check=False)
    expect(run.returncode == 0 and run.stdout, f"{line}: exit {run.returncode}: {run.stderr}")
lineage = succeeds("lineage", os.path.join(folder, "small.onnx"))
for words in ("takt quantize", "takt train", "spirals.csv"):
    expect(words in lineage, f"`{words}` is not in the lineage: {lineage}")

# ---- every type, and formats ----

for name in ("int8.onnx", "int8.takt", "w8.onnx", "w4.onnx", "w4.taktp", "int16x8.onnx",
             "w4a8.onnx"):
    succeeds("quantize", *SPIRALS, "--type", name.split(".", maxsplit=1)[0], "--size-first", "-o",
             path(name))
    succeeds("run", path(name), "-D", "batch=3", "--random")
report = parsed("quantize", *SPIRALS, "--size-first", "--json", "--keep", "dense_1")
expect(report.get("taken") == 2 and len(report.get("rows", [])) == 3, f"--keep: {report}")
expect([row["taken"] for row in report["rows"]] == [True, False, True], f"--keep: {report}")

calib = write("x.npy", npy((11, 784), [i % 13 / 13 for i in range(11 * 784)]))
succeeds("quantize", "examples/mlp.takt", "--calib", calib, "--size-first")

# ---- trained as integers ----

AWARE = ("train", "examples/spirals.takt", "--data", "examples/spirals.csv", "--quiet")
for name in ("int8.tflite", "w4a8.takt", "w8.taktp"):
    kind = name.split(".", maxsplit=1)[0]
    succeeds(*AWARE, "--qat", kind, "-o", path("aware_" + name))
    succeeds("run", path("aware_" + name), "--random")
lineage = succeeds("lineage", path("aware_w8.taktp"))
expect("--qat w8" in lineage, f"the lineage of a model trained as integers: {lineage}")
half = ("--qat", "int8", "--checkpoint", path("aware_steps"), "--seed", "3")
succeeds(*AWARE, *half, "--epochs", "1", "-o", path("aware_1.taktp"))
succeeds(*AWARE, *half, "--epochs", "2", "--resume", "-o", path("aware_2.taktp"))
succeeds(*AWARE, "--qat", "int8", "--seed", "3", "--epochs", "2", "-o", path("aware_3.taktp"))
expect(" 0 findings" in succeeds("diff", path("aware_2.taktp"), path("aware_3.taktp")),
       "a training that goes on gives other integers")
every = [word for word in succeeds(*AWARE[:-1], "--qat", "int8", "--keep", "dense_[02]", "-o",
                                   path("kept.taktp")).splitlines() if "parameters" in word]
expect(every and "1251 parameters" in every[0], f"kept layers are not trained: {every}")
fails(2, *AWARE, "--qat", "int3", says=["w4a8"])
fails(1, *AWARE, "--qat", "int8", "--keep", ".*", says=["TAKT7502"])
fails(2, *AWARE, "--keep", "dense", says=["--keep", "--qat"])
for flags in ((), ("--qat", "int8")):
    fails(2, *AWARE, *flags, "--checkpoint", path("too_late"), "-o", path("x.safetensors"),
          says=["x.safetensors"])
expect(not os.path.exists(path("too_late")), "a model that cannot be written was trained")

# ---- language models ----

TINY = "tests/corpus/gguf/tiny.gguf"
report = parsed("imatrix", TINY, "-p", "a b a b", "-c", "4", "-o", path("im.gguf"), "--json")
expect(report["matrices"] > 0, f"imatrix: {report}")
succeeds("quantize", TINY, "--type", "q4_k", "--imatrix", path("im.gguf"), "-o", path("k.gguf"))
succeeds("generate", path("k.gguf"), "-p", "a b", "-n", "4", "--seed", "1")
report = parsed("imatrix", TINY, "-p", "a b a b a b a", "-c", "5", "-o", path('i"m.gguf'), "--json")
expect(report["tokens"] == 5 and report["file"] == path('i"m.gguf'), f"imatrix: {report}")
report = parsed("quantize", TINY, "--type", "Q4_0", "-o", path('a"b.gguf'), "--json")
expect(report == {"file": path('a"b.gguf'), "type": "Q4_0"}, f"quantize: {report}")
for verb in (("quantize", TINY, "--type"), ("convert", TINY, "--outtype")):
    run = takt(*verb, "q2_k", "-o", path("k2.gguf"))
    told = re.search(r"\d+ matri\w+ as IQ4_NL, not Q2_K: .* 256", run.stderr)
    expect(run.returncode == 0 and told, f"rows that are not a multiple of 256: {run.stderr}")
succeeds("quantize", TINY, "--type", "Q4_0", "--tensor-type", "attn=f16", "-o", path("x.gguf"))
for flags in (("--calib", "x.csv"), ("--method", "minmax"), ("--rounding", "up"), ("--keep", "a"),
              ("--accuracy-drop", "1%"), ("--size-first",), ("-D", "batch=1")):
    fails(2, "quantize", TINY, "--type", "Q4_0", *flags, "-o", path("x.gguf"),
          says=["block types"])
with open(os.path.join(ROOT, TINY), "rb") as file:
    weights = file.read()
for number in ("nan", "inf", "1e30"):
    broken = write("broken.gguf", weights[:-64] + struct.pack("<f", float(number)) + weights[-60:])
    fails(1, "quantize", broken, "--type", "Q4_0", "-o", path("never.gguf"),
          says=["TAKT7501", "Q4_0"])
    if number != "1e30":  # a norm makes that finite again
        fails(1, "imatrix", broken, "-p", "a b a b", "-o", path("never.gguf"), says=["TAKT7501"])
expect(not is_written(path("never.gguf")), "weights that blocks cannot hold were written")
fails(2, "imatrix", TINY, "-p", "a b", says=["-o F.gguf"])
fails(2, "quantize", TINY, "--type", "Q4_0", "-o", path("k.onnx"), says=["GGUF"])
fails(2, "quantize", TINY, "--type", "Q4_0", "--tensor-type", "a=Q9", "-o", path("x.gguf"),
      says=["REGEX=TYPE"])
fails(2, "quantize", TINY, "--type", "Q4_0", "--tensor-type", "(=Q4_0", "-o", path("x.gguf"),
      says=["--tensor-type"])
fails(1, "quantize", TINY, "--type", "Q4_0", "--imatrix", TINY, "-o", path("x.gguf"),
      says=["TAKT7501"])
fails(2, "quantize", *SPIRALS, "--imatrix", path("im.gguf"), says=["block types"])

# ---- fewer channels, thin factors, a teacher ----

report = parsed("prune", "examples/cnn.takt", "--amount", "0.5", "--json", "-o", path("thin.onnx"))
expect(report["macs_after"] < 0.4 * report["macs_before"], f"prune: {report}")
expect(report["parameters_after"] < 0.52 * report["parameters_before"], f"prune: {report}")
succeeds("run", path("thin.onnx"), "-D", "batch=2", "--random")
expect(parsed("prune", "examples/cnn.takt", "--amount", "50%", "--json")["macs_after"] ==
       report["macs_after"], "50% is not 0.5")
report = parsed("prune", "examples/encoder.takt", "--amount", "0.5", "--json", "-o",
                path("heads.takt"))
expect(report["parameters_after"] < 0.52 * report["parameters_before"], f"heads: {report}")
succeeds("run", path("heads.takt"), "-D", "seq=5", "--random")
fails(1, "prune", "examples/cnn.takt", "--amount", "1", says=["TAKT7504"])
fails(2, "prune", "examples/cnn.takt", "--structured", "rows", says=["--unstructured"])
fails(2, "prune", "examples/spirals.takt", "--unstructured", "--amount", "0.5", "--finetune",
      "examples/spirals.csv", "-o", path("dense.taktp"), says=["fill the zeros"])
expect(not is_written(path("dense.taktp")), "zeros were to be trained")
zeros = [parsed("prune", "examples/spirals.takt", "--unstructured", "--amount", "0.5", "--json",
                "--rounds", rounds).get("zeros", 0) for rounds in ("1", "2", "8")]
expect(zeros[0] > 0 and zeros == zeros[:1] * 3, f"zeros in rounds: {zeros}")
small = write("sixteen.takt", "model sixteen(x: f32[batch, 4]) seed=1 {\n"
              "  return dense(dense(x, 16, act=relu), 3)\n}\n")
report = parsed("prune", small, "--amount", "0.5", "--rounds", "8", "--json", "-o",
                path("nine.taktp"))
expect(8 <= report["rows"][0]["after"] <= 9, f"a layer of 16 in rounds: {report}")
expect("nothing can go in this round" in succeeds("prune", small, "--amount", "0.5", "--rounds",
                                                  "8"), "rounds without a channel")
fails(1, "prune", small, "--amount", "0.01", "--rounds", "3", says=["TAKT7502"])
said = {s: succeeds("prune", small, "--amount", "0.5", "--schedule", s)
        for s in ("cubic", "linear")}
expect(all("round 4 of 4" in text for text in said.values()), f"rounds of a schedule: {said}")
expect(said["cubic"] != said["linear"], "schedules differ in what a round takes")
fails(2, "prune", small, "--amount", "0.5", "--schedule", "square", says=["TAKT1003", "linear"])
report = parsed("lowrank", "examples/mlp.takt", "--rank", "8", "--size-first", "--json", "-o",
                path("low.onnx"))
expect(report["taken"] >= 1 and report["parameters_after"] < report["parameters_before"],
       f"lowrank: {report}")
succeeds("run", path("low.onnx"), "-D", "batch=2", "--random")
arms = os.path.join(folder, "arms.taktp")
pruned = ("prune", arms, "--amount", "0.5", "--json", "--rounds", "2", "-o")
report = parsed(*pruned, path("cut.taktp"))
expect(report["parameters_after"] < report["parameters_before"], f"prune in rounds: {report}")
parsed(*pruned, path("tuned.taktp"), "--finetune", "examples/spirals.csv", "--epochs", "8", "--lr",
       "1e-2")
scores = [parsed("eval", path(f"{name}.taktp"), "--data", "examples/spirals.csv", "--json")
          for name in ("cut", "tuned")]
right = [score["metrics"][0]["value"] for score in scores]
expect(right[1] > right[0] + 0.05, f"finetuning: {scores}")
succeeds("distill", "--teacher", arms, "--student", "examples/spirals.takt", "--data",
         "examples/spirals.csv", "--epochs", "30", "--lr", "1e-2", "-o", path("taught.taktp"))
taught = parsed("eval", path("taught.taktp"), "--data", "examples/spirals.csv", "--json")
expect(taught["metrics"][0]["value"] > 0.9, f"a student that learnt nothing: {taught}")
report = parsed("prune", "examples/cnn.takt", "--amount", "0.3", "--json", "--multiple", "1")
expect([row["after"] for row in report["rows"]][:2] == [6, 12], f"--multiple 1: {report}")
report = parsed("prune", "examples/cnn.takt", "--amount", "0.3", "--global", "--json")
expect(report["channels_after"] < report["channels_before"], f"--global: {report}")
wide = write("wide48.takt", "model m(x: f32[batch, 2]) {\n"
             "  return dense(dense(x, 48, act=relu), 3)\n}\n")
report = parsed("prune", wide, "--amount", "0.99", "--global", "--json")
expect(report["rows"][0]["after"] == 8, f"a tenth of 48 stays, in fours: {report}")
run = takt("prune", "examples/cnn.takt", "--unstructured", "--global")
expect(run.returncode == 2 and "are about channels" in run.stderr, f"no channels: {run.stderr}")
run = takt("prune", arms, "--finetune", path("nothing.csv"), "-o", path("never.taktp"))
expect(run.returncode == 1 and "nothing.csv" in run.stderr and not is_written(path("never.taktp")),
       f"finetuning on nothing: {run.returncode}, {run.stderr}")
fails(1, "lowrank", "examples/mlp.takt", "--energy", "0", says=["TAKT7505"])
fails(2, "distill", "examples/spirals.takt", "--data", "examples/spirals.csv", says=["--teacher"])
fails(1, "distill", "examples/spirals.takt", "--teacher", "examples/mlp.takt", "--data",
      "examples/spirals.csv", says=["TAKT7506"])

# ---- what cannot be done ----

fails(1, "quantize", "examples/spirals.takt", says=["TAKT7501", "needs data"])
fails(2, "quantize", "examples/spirals.takt", "--calib", "irs", says=["TAKT7005", "mean iris?"])
os.makedirs(path("named/data/toy"), exist_ok=True)
shutil.copy(os.path.join(ROOT, "examples/spirals.csv"), path("named/data/toy/iris.csv"))
succeeds("quantize", "examples/spirals.takt", "--calib", "iris", "--size-first",
         env={**CLEAN, "TAKT_DATA": path("named")})
fails(2, "quantize", *SPIRALS, "--keep", "(", says=["--keep"])
fails(2, "quantize", *SPIRALS, "--type", "int3", says=["int3", "w4a8", "Q2_K"])
fails(1, "quantize", *SPIRALS, "--keep", "dense", "--size-first", "-o", path("no.taktp"),
      says=["TAKT7502"])
expect(not is_written(path("no.taktp")), "a model was written although nothing was taken")

# ---- real models ----

MNIST = os.path.join(DATA, "onnx", "mnist-8", "model.onnx")
CIFAR = os.path.join(DATA, "data", "cifar10", "test_first500.bin")
RESNET = os.path.join(DATA, "tflite", "mlperf-ic01-fp32", "model.tflite")


def images(name, rows, content):
    """CIFAR's planes as pixels, the model's input."""
    pixels, labels = bytearray(), []
    for row in rows:
        sample = content[row * 3073:(row + 1) * 3073]
        labels.append(sample[0])
        one = bytearray(3072)
        for plane in range(3):
            one[plane::3] = sample[1 + plane * 1024:1 + (plane + 1) * 1024]
        pixels += one
    with zipfile.ZipFile(path(name), "w") as archive:
        archive.writestr("x.npy", npy((len(labels), 32, 32, 3), pixels, "|u1", "B"))
        archive.writestr("labels.npy", npy((len(labels),), labels, "<i8", "q"))
    return path(name)


if os.path.exists(MNIST) and os.path.exists(CIFAR) and os.path.exists(RESNET):
    digits = os.path.join(DATA, "data", "mnist")
    report = parsed("quantize", MNIST, "--calib", digits, "--calib-limit", "100", "--data", digits,
                    "--scale", "1", "--size-first", "--json")
    expect(report["hits_before"] == 9891 and report["hits_after"] >= 9880, f"mnist-8: {report}")
    with open(CIFAR, "rb") as file:
        cifar = file.read()
    calib, test = images("calib.npz", range(100), cifar), images("test.npz", range(100, 500), cifar)
    report = parsed("quantize", RESNET, "--calib", calib, "--data", test, "--scale", "1",
                    "--size-first", "--json", "-o", path("ic01.onnx"))
    expect(report["hits_before"] == 357 and report["hits_after"] >= 355, f"ic01: {report}")
    expect(report["returns"] == 0, f"ic01: {report['returns']} values return to floats")
    expect(report["bytes_after"] <= 0.27 * report["bytes_before"], f"ic01: {report}")
else:
    print("no models; set TAKT_DATA: real models are not quantised")

# A decoder keeps rows of what it has read: its time is that of the first run, however often it is
# measured.
for call in (("quantize", "--type", "w8"), ("lowrank", "--rank", "2")):
    succeeds(call[0], "tests/corpus/gguf/tiny.gguf", *call[1:], "--size-first", "-q", "-o",
             path("decoder.taktp"))
finish()
