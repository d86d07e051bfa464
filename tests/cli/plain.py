"""plain.py - names in foreign files never reach the terminal as control codes."""
import json
import os
import sys

from _cli import expect, finish, npy, path, takt, write

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "onnx"))
from _pb import field  # noqa: E402

EVIL = "\x1b]0;pwned\x07\x1b[31m\r\x08\x7f\x9b31m"


def value(name):
    shape = field(1, field(2, "n" + EVIL)) + field(1, field(1, 4))
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


weights = b"\0\0\x80?" * 16
w = field(1, 4) + field(1, 4) + field(2, 1) + field(8, "w" + EVIL) + field(9, weights)
nodes = [field(1, "x" + EVIL) + field(1, "w" + EVIL) + field(2, "h" + EVIL) + field(3, "m" + EVIL)
         + field(4, "MatMul"),
         field(1, "h" + EVIL) + field(2, "y" + EVIL) + field(3, "r" + EVIL) + field(4, "Relu")]
graph = b"".join(field(1, n) for n in nodes) + field(2, "g" + EVIL) + field(5, w)
graph += field(10, "doc" + EVIL) + field(11, value("x" + EVIL)) + field(12, value("y" + EVIL))
MODEL = write("evil.onnx", field(1, 8) + field(2, "producer" + EVIL) + field(3, "1" + EVIL)
              + field(4, "domain" + EVIL) + field(6, "model doc" + EVIL) + field(7, graph)
              + field(8, field(1, "") + field(2, 17))
              + field(14, field(1, "key" + EVIL) + field(2, "value" + EVIL)))
BAD = write("refused.onnx", field(1, 8) + field(7, field(1, field(1, "x" + EVIL) + field(2, "y")
                                                          + field(4, "No" + EVIL)) + field(2, "g")
                                                + field(11, value("x" + EVIL))
                                                + field(12, value("y"))) + field(8, field(2, 17)))
head = json.dumps({"w" + EVIL: {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})
TENSORS = write("evil.safetensors", len(head).to_bytes(8, "little") + head.encode() + bytes(8))
TEXT = write("evil.takt",
             "# doc " + EVIL.replace("\r", "") + "\nmodel m(x: f32[2]) { return x @ y }\n")

# C0 but for line ends and tabs, DEL, C1.
CONTROLS = set(range(32)) - {9, 10} | {127} | set(range(128, 160))


def check(*args):
    run = takt(*args, text=False)
    call = "takt " + " ".join(a.replace(EVIL, "*") for a in args)
    for name, content in (("stdout", run.stdout), ("stderr", run.stderr)):
        found = [c for c in content.decode("utf-8", "replace") if ord(c) in CONTROLS]
        expect(not found, f"{call}: {name} has {found[:3]}")
    return run


check("compile", MODEL, "-o", path("evil.taktp"))
result = path("evil.json")
check("benchmark", "run", MODEL, "--warmup", "1", "--iterations", "5", "-o", result)
X = write("evil_x.npy", npy((1, 4), [1, 2, 3, 4]))
for model in (MODEL, path("evil.taktp")):
    for verb in (["inspect"], ["summary"], ["plan"], ["kernels"], ["opt"], ["opt", "--trace"],
                 ["explain"], ["explain", "--fusions"], ["run"], ["run", "--random"], ["ops"],
                 ["extract"], ["plan", "--svg"], ["profile", "--brief"], ["batch"]):
        for more in ([], ["--json"]):
            check(verb[0], model, *verb[1:], *more)
check("run", MODEL, "-i", X, "-o", "y" + EVIL + "=" + path("y.npy"))
check("run", MODEL, "-D", "nosuch" + EVIL + "=1")
check("run", MODEL, "--shape", "x:1x2")
check("run", BAD)
check("ops", BAD)
check("inspect", TENSORS)
check("run", TEXT)
check("inspect", TEXT)
check("run", path("missing" + EVIL))
check("convert", MODEL, "-o", "-")
check("explain", MODEL, "--node", "m" + EVIL)
if expect(os.path.exists(result), "a result of a measurement"):
    check("benchmark", "analyze", result)
    check("benchmark", "trends", result, result)

# Bytes that are not text pass through unchanged.
raw = takt("run", MODEL, "-i", X, "-o", "-", text=False).stdout
expect(raw.startswith(b"\x93NUMPY\x01\x00"), f"binary results: {raw[:20]}")
expect(raw == open(path("y.npy"), "rb").read() if os.path.exists(path("y.npy")) else True,
       "binary results are what a file has")
# Letters beyond ASCII stay.
UTF = write("utf.takt", "model m(`größe`: f32[2]) { return `結果` = relu(`größe`) }\n")
out = takt("run", UTF, text=False).stdout.decode()
expect("größe" in out and "結果" in out, f"UTF-8 in names: {out}")
finish()
