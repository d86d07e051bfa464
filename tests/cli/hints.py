"""hints.py - hints lead to the right answer, or there is none."""
import os
import subprocess

from _cli import CNN, MLP, TOOL, expect, fails, finish, path, succeeds, write

# A verb of a group is judged by the words after the group.
said = fails(2, "benchmark-everything",
             says=["no verb benchmark everything", "takt benchmark --help"])
expect("did you mean" not in said, said)
fails(2, "benchmark-comapre", says=["did you mean `takt benchmark compare`?"])
for said in ("bench", "benchmark"):
    fails(2, said, "-m", MLP, says=["takt benchmark is a group of verbs and needs one of them",
                                    "`takt benchmark --help` lists them"])

# The cast that loses less, whichever side it is on.
for types, hint in ((("i32", "f32"), "convert the i32 one: cast(x, dtype=f32)"),
                    (("f32", "i32"), "convert the i32 one: cast(x, dtype=f32)"),
                    (("f32", "f64"), "convert the f32 one: cast(x, dtype=f64)"),
                    (("u8", "i8"), "convert the u8 one: cast(x, dtype=i8)"),
                    (("bool", "i64"), "convert the bool one: cast(x, dtype=i64)")):
    text = write("types.takt", f"model m(x: {types[0]}[3], y: {types[1]}[3]) -> {types[1]}[3] "
                               "{ return concat(x, y, axis=0) }\n")
    fails(1, "inspect", text, says=[hint])

# Methods.
for call, hint in (("x.relu()", "write relu(x)"), ("x.reshape([3])", "write reshape(x, ...)")):
    text = write("method.takt", f"model m(x: f32[3]) -> f32[3] {{ return {call} }}\n")
    expect("prelu" not in fails(1, "inspect", text, says=[hint]), call)

# Bytes without control characters are not read as text if they are not text.
for name in ("garbage.onnx", "garbage.taktp"):
    garbage = write(name, bytes(range(128, 256)) * 3)
    answer = fails(1, "inspect", garbage, says=["is not a model that Takt can read"])
    expect("UTF-8" not in answer, name)
for name, said in (("noise.onnx", "ONNX"), ("noise.tflite", "TensorFlow Lite"),
                   ("noise.gguf", "GGUF"), ("noise.taktp", "a compiled model")):
    for bytes_ in (bytes(range(128, 256)) * 3, b"no such page\n", b"abc"):
        fails(1, "inspect", write(name, bytes_),
              says=["is not a model that Takt can read", f"its name says {said}, but"])

# Files that came instead of the model, whatever they are called.
for name in ("model", "model.onnx", "model.tflite", "model.takt"):
    for text, said in (("version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "Git LFS"),
                       ("<!DOCTYPE html>\n<html></html>\n", "a web page"),
                       ('<?xml version="1.0"?>\n<net name="m"></net>\n', "OpenVINO")):
        fails(1, "inspect", write(name, text), says=["is not a model that Takt can read", said])

# The contents decide: a text under another format's name is read, and its mistakes are shown.
comment = "# a model\n\n"
succeeds("inspect", write("text.tflite", comment + "model m(x: f32[3]) { return relu(x) }\n"))
fails(1, "inspect", write("text.onnx", comment + "model m(x: f32[3]) { return rleu(x) }\n"),
      says=["did you mean relu?"])
fails(1, "inspect", write("latin.takt", "model gr\xfc\xdfe(x: f32[3])\n".encode("latin-1")),
      says=["UTF-8"])

# A disk that is full.
if os.path.exists("/dev/full"):
    with open("/dev/full", "wb") as full:
        run = subprocess.run([TOOL, "run", CNN, "-D", "batch=512", "-o", "-"], stdout=full,
                             stderr=subprocess.PIPE, text=True, check=False)
    expect(run.returncode == 1 and "cannot write standard output: No space left" in run.stderr,
           f"a full disk: {run.stderr}")

# The command in the hint of --weights lists the parameters.
other = path("other.safetensors")
succeeds("convert", CNN, "-o", other)
answer = fails(1, "run", MLP, "--weights", other, says=["does not fit the model"])
names = path("names.safetensors")
expect("takt convert MODEL -o names.safetensors" in answer, answer)
succeeds("convert", MLP, "-o", names)
expect("dense_0" in succeeds("inspect", names), "the parameters are not listed")
finish()
