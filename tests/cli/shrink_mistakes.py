"""shrink_mistakes.py - bad data, wrong flags and wrong files of the verbs that make smaller models:
each is one sentence with a hint and an exit code, and nothing is written."""
import math
import os
import re

from _cli import expect, finish, npy, path, takt, write

SPIRALS, TABLE, MLP = "examples/spirals.takt", "examples/spirals.csv", "examples/mlp.takt"
FOLDER = path("written")
os.makedirs(FOLDER, exist_ok=True)


def refused(code, says, *args, out="out.taktp", has_report=False):
    """Fails with one error, which has a hint, and leaves no file."""
    for name in os.listdir(FOLDER):
        os.remove(os.path.join(FOLDER, name))
    run = takt(*args, *(("-o", os.path.join(FOLDER, out)) if out else ()))
    call, text = "takt " + " ".join(args), run.stderr
    expect(run.returncode == code, f"{call}: exit {run.returncode}, not {code}: {text}")
    expect(says in text, f"{call}: `{says}` is not in {text}")
    expect(len(re.findall(r"error\[", text)) == 1 and "hint: " in text, f"{call}: {text}")
    expect("\0" not in text, f"{call}: a NUL in {text!r}")
    expect(has_report or run.stdout == "", f"{call}: printed {run.stdout}")
    expect(not os.listdir(FOLDER), f"{call}: wrote {os.listdir(FOLDER)}")


def samples(name, *rows):
    return write(name + ".npy", npy((len(rows), len(rows[0])), [v for row in rows for v in row]))


# ---- data ----

constant = samples("constant", *[[3, 3]] * 9)
wide = samples("wide", [1, 2, 3], [4, 5, 6])
short = write("short.npy", npy((0, 2), []))
good = samples("good", *[[i / 9, -i / 5] for i in range(20)])
for number in (math.nan, math.inf):
    broken = samples("broken", [1, 2], [number, 4], [5, 6])
    refused(1, "x has 1 NaN or infinite values", "quantize", SPIRALS, "--calib", broken)
refused(1, "every element of x is 3", "quantize", SPIRALS, "--calib", constant)
refused(1, "x has no elements", "quantize", SPIRALS, "--calib", short)
refused(1, "a sample of x has 3 elements, the input x takes 2", "quantize", SPIRALS, "--calib",
        wide)
refused(1, "batch counts the samples", "quantize", SPIRALS, "--calib", good, "-D", "batch=3")
refused(1, "needs data", "quantize", SPIRALS)
refused(1, "no labels to score with", "quantize", SPIRALS, "--calib", good, "--data", good)
refused(1, "gptq needs data", "quantize", SPIRALS, "--type", "w4", "--rounding", "gptq")
refused(1, "smoothing needs data", "quantize", SPIRALS, "--type", "w8", "--smooth", "0.5")
refused(1, "taylor needs samples", "prune", SPIRALS, "--criterion", "taylor")
refused(1, "has no field for the input labels", "prune", SPIRALS, "--criterion", "taylor", "--data",
        good)
refused(1, "the model takes [2]", "prune", SPIRALS, "--finetune", wide, has_report=True)

# ---- what is asked for ----

eye = write("eye.takt", "model eye(x: f32[batch, 4]) -> f32[batch, 4] { return relu(x) }\n")
for verb in (("quantize", "--calib", good), ("lowrank",), ("prune",)):
    refused(1, "TAKT7502", verb[0], eye, *verb[1:])
CALIB = ("--calib", TABLE)
refused(1, "every layer of the model is to be kept", "quantize", SPIRALS, *CALIB, "--keep", ".")
refused(1, "every layer of the model is to be kept", "lowrank", MLP, "--size-first", "--keep", ".",
        has_report=True)
for verb in (("quantize", SPIRALS, *CALIB, "--size-first"), ("prune", SPIRALS),
             ("lowrank", MLP, "--rank", "8", "--size-first"),
             ("train", SPIRALS, "--data", TABLE, "--qat", "int8")):
    refused(2, "--keep dense_7 matches no layer", *verb, "--keep", "dense_7", has_report=True)
    refused(2, "--keep (", *verb, "--keep", "(")
refused(1, "top5 of 3 classes", "quantize", SPIRALS, *CALIB, "--data", TABLE, "--metric", "top5")
refused(2, "--metric is that of --data", "quantize", SPIRALS, *CALIB, "--metric", "top5")
refused(1, "a budget needs samples", "quantize", SPIRALS, *CALIB, "--accuracy-drop", "1%")
for drop in ("200%", "1.5", "-1%", "half", "nan"):
    refused(2, f"an accuracy drop of {drop} ", "quantize", SPIRALS, *CALIB, "--data", TABLE,
            "--accuracy-drop", drop)
for amount in ("101%", "-1%", "50 %", "%", "half"):
    refused(2, f"--amount is a number from 0 to 1, not {amount}", "prune", SPIRALS, "--amount",
            amount)
refused(1, "would lose its last channel", "prune", SPIRALS, "--amount", "1")
refused(1, "would lose nothing", "prune", SPIRALS, "--amount", "0")
refused(1, "the model has none", "prune", SPIRALS, "--criterion", "bn")
refused(2, "--epochs is that of --finetune", "prune", SPIRALS, "--epochs", "3")
refused(2, "only --criterion taylor reads --data", "prune", SPIRALS, "--data", TABLE)
refused(2, "are about channels", "prune", SPIRALS, "--unstructured", "--keep", "dense_0")
refused(1, "no layer is smaller as two factors", "lowrank", MLP, "--rank", "784", "--size-first",
        has_report=True)
refused(1, "only one of them can decide", "lowrank", MLP, "--rank", "8", "--energy", "0.5")
refused(1, "keep nothing of a layer", "lowrank", MLP, "--energy", "0")

# ---- teachers ----

with open(os.path.join(os.path.dirname(__file__), "..", "..", SPIRALS), encoding="utf-8") as file:
    text = file.read()
five = write("five.takt", text.replace("dense(h, 3,", "dense(h, 5,"))
three = write("three.takt", text.replace("batch, 2]", "batch, 3]"))
DATA = ("--data", TABLE)
refused(1, "other classes", "distill", "--teacher", five, "--student", SPIRALS, *DATA)
refused(1, "other types or shapes", "distill", "--teacher", three, "--student", SPIRALS, *DATA)
refused(2, "there is no teacher", "distill", "--student", SPIRALS, *DATA)
refused(2, "a sample of the data is [3]", "distill", "--teacher", SPIRALS, "--student", SPIRALS,
        "--data", wide)
bare = write("bare.takt", "model b(x: f32[batch, 2]) {\n"
             "  return op.concat(x, op.reduce_sum(x, axes=[1], keep=true), axis=1)\n}\n")
refused(1, "no parameter is left to train", "distill", "--teacher", SPIRALS, "--student", bare,
        *DATA)
refused(1, "is NaN", "distill", "--teacher", SPIRALS, "--student", SPIRALS, *DATA, "--lr", "1e6",
        "--epochs", "5")

# ---- a model that is quantised already ----

integers = write("integers.tflite", b"")
takt("convert", "zoo:motor_fault", "-o", integers)
for out in ("out.tflite", "out.onnx", "out.taktp"):
    for verb in (("quantize", "--type", "w4"), ("prune",), ("lowrank", "--rank", "2")):
        refused(1, "is quantised already", verb[0], integers,
                *verb[1:], out=out)
refused(1, "is quantised already", "quantize", "zoo:motor_fault", "--type", "w8")

# ---- files ----

refused(2, "did you mean gesture?", "zoo", "get", "zoo:gestur")
refused(2, "names no format of models", "quantize", SPIRALS, *CALIB, out="out.bin")
erf = write("erf.takt", "model e(x: f32[4]) -> f32[4] { return erf(x) }\n")
double = write("double.takt", "model d(x: f64[4]) -> f64[4] { return relu(x) }\n")
refused(1, "has no operator for it", "convert", erf, out="out.tflite")
refused(1, "does not compute with f64", "convert", double, out="out.tflite")
same = write("same.takt", text)
for verb in (("quantize", same, *CALIB, "--size-first"), ("prune", same), ("lowrank", same),
             ("distill", "--teacher", SPIRALS, "--student", same, *DATA),
             ("distill", "--teacher", same, "--student", SPIRALS, *DATA)):
    refused(2, "would be written over", *verb, "-o", same, out="")
with open(same, encoding="utf-8") as file:
    expect(file.read() == text, "a model was written over")
finish()
