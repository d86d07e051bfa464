"""grids_named.py - CenterCropPad, AffineGrid and GridSample with named sizes, or sizes found at run
time: the same bits as with numbers.

A run of the ONNX file knows the sizes when it loads the model. A model that is converted keeps the
names, and an input that says a size is read when it runs.
"""
import os
import struct
import subprocess
import sys

from _pb import Graph, floats, ints, model, node, tensor, value

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.environ.get("TAKT_TOOL", os.path.join(ROOT, "build", "takt"))
TMP = os.environ.get("TAKT_TEST_TMP", "/tmp")
SHAPE = (2, 3, 9, 7)
MAPS = [0.5, -1.25, 0.1, 2, 0.75, -0.3, 1, 0, 0.2, 0, 1, -0.7]
failures = []


def path(name):
    return os.path.join(TMP, name)


def takt(*args):
    run = subprocess.run([TOOL, *args], text=True, capture_output=True, check=False)
    return run.returncode, run.stdout + run.stderr


def write_npy(name, kind, shape, data):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (63 - (len(head) + 10) % 64) + b"\n"
    with open(path(name), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data)


def write(name, nodes, weights, inputs):
    with open(path(name), "wb") as file:
        file.write(model(Graph(nodes, inputs, [value("y", ["a", "b", "c", "d"])], weights), 20))


def result(*args):
    code, text = takt("run", *args, "-i", "x=" + path("x.npy"))
    lines = [line for line in text.splitlines() if line.startswith(("y:", "digest"))]
    return code, "\n".join(lines), text


def same(name, one, other):
    if one[0] != 0 or other[0] != 0 or one[1] != other[1] or "digest" not in one[1]:
        failures.append(f"{name}: {one[2][:300]} and {other[2][:300]}")


def check(name, makes, size):
    """`size` as numbers in the file, for an image whose sizes are numbers and one whose sizes have
    names; then as an input, which only a run knows."""
    known = tensor("z", [len(size)], 7, ints(*size))
    weights = [tensor("theta", [2, 2, 3], 1, floats(*MAPS))]
    write_npy("z.npy", "<i8", (len(size),), ints(*size))
    write("k.onnx", [makes], [known, *weights], [value("x", list(SHAPE))])
    write("m.onnx", [makes], [known, *weights], [value("x", ["n", 3, "h", "w"])])
    write("v.onnx", [makes], weights, [value("x", ["n", 3, "h", "w"]),
                                       value("z", [len(size)], 7)])
    code, text = takt("convert", path("m.onnx"), "-o", path("m.taktp"))
    if code != 0:
        failures.append(f"{name}: {text[:300]}")
        return
    numbers = result(path("k.onnx"))
    same(name + ", names", numbers, result(path("m.taktp")))
    same(name + ", found", numbers, result(path("v.onnx"), "-i", "z=" + path("z.npy"), "--bound",
                                           "32"))


def sample(mode, padding, corners):
    """An image whose sizes are names, at positions inside and outside of it."""
    nodes = [node("AffineGrid", ["theta", "z"], ["grid"]),
             node("GridSample", ["x", "grid"], ["y"], mode=mode, padding_mode=padding,
                  align_corners=corners)]
    weights = [tensor("theta", [2, 2, 3], 1, floats(*MAPS)),
               tensor("z", [4], 7, ints(2, 3, 4, 5))]
    write("k.onnx", nodes, weights, [value("x", list(SHAPE))])
    write("m.onnx", nodes, weights, [value("x", [2, 3, "h", "w"])])
    takt("convert", path("m.onnx"), "-o", path("m.taktp"))
    same(f"sample {mode}, {padding}, {corners}", result(path("k.onnx")), result(path("m.taktp")))


def main():
    count = SHAPE[0] * SHAPE[1] * SHAPE[2] * SHAPE[3]
    write_npy("x.npy", "<f4", SHAPE, floats(*[(37 * i % 101) / 7 - 5 for i in range(count)]))
    crop = node("CenterCropPad", ["x", "z"], ["y"], axes=[2, 3])
    for size in ((9, 7), (4, 3), (12, 10), (5, 14), (14, 2), (8, 8), (0, 7)):
        check(f"crop to {size}", crop, size)
    check("all axes", node("CenterCropPad", ["x", "z"], ["y"]), (3, 2, 8, 8))
    for corners in (0, 1):
        grid = node("AffineGrid", ["theta", "z"], ["y"], align_corners=corners)
        for size in ((2, 3, 4, 5), (2, 1, 1, 6)):
            check(f"grid {size}, {corners}", grid, size)
        shaped = [node("Shape", ["x"], ["z"]), grid]
        weights = [tensor("theta", [2, 2, 3], 1, floats(*MAPS))]
        write("k.onnx", shaped, weights, [value("x", list(SHAPE))])
        write("m.onnx", shaped, weights, [value("x", [2, 3, "h", "w"])])
        takt("convert", path("m.onnx"), "-o", path("m.taktp"))
        same(f"grid of an image, {corners}", result(path("k.onnx")), result(path("m.taktp")))
    for mode in ("linear", "nearest", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            for corners in (0, 1):
                sample(mode, padding, corners)
    for failure in failures:
        print(f"FAILED: {failure}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
