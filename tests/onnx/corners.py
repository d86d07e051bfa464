"""corners.py - corners in which Takt once differed from onnxruntime: whole numbers where floats are
usual, sizes of 0 and 1, loops that may end early. Results are onnxruntime's or the standard's."""
import os
import struct
import subprocess
import sys

from _pb import Graph, ints, model, node, tensor, value

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.environ.get("TAKT_TOOL", os.path.join(ROOT, "build", "takt"))
TMP = os.environ.get("TAKT_TEST_TMP", "/tmp")
F32, U8, I8, I32, I64, BOOL = 1, 2, 3, 6, 7, 9
FORMATS = {F32: "f", U8: "B", I8: "b", I32: "i", I64: "q", BOOL: "?"}
failures = []
count = 0


def data(name, dims, items, dtype):
    return tensor(name, dims, dtype, struct.pack(f"<{len(items)}{FORMATS[dtype]}", *items))


def write(path, body):
    with open(path, "wb") as file:
        file.write(body)
    return path


def takt(*words):
    return subprocess.run([TOOL, *words], text=True, capture_output=True, check=False)


def fail(name, why):
    failures.append(name)
    print(f"FAILED: {name}: {why.strip()[:400]}")


def store(opset, nodes, given, results, weights=(), names=None):
    """A model and its test data. `given` and `results`: {name: (dims, numbers, type)}; `names`: the
    dimensions of inputs that differ in the file."""
    folder, path = os.path.join(TMP, "corner"), os.path.join(TMP, "corner.onnx")
    os.makedirs(folder, exist_ok=True)
    for file in os.listdir(folder):
        os.remove(os.path.join(folder, file))
    inputs = [value(key, (names or {}).get(key, dims), kind)
              for key, (dims, _, kind) in given.items()]
    outputs = [value(key, [f"{key}_{i}" for i in range(len(dims))], kind)
               for key, (dims, _, kind) in results.items()]
    write(path, model(Graph(nodes, inputs, outputs, weights), opset))
    for kind, values in (("input", given), ("output", results)):
        for i, (key, (dims, items, dtype)) in enumerate(values.items()):
            write(os.path.join(folder, f"{kind}_{i}.pb"), data(key, dims, items, dtype))
    return path, folder


def check(name, opset, nodes, given, results, weights=(), names=None):
    global count
    count += 1
    path, folder = store(opset, nodes, given, results, weights, names)
    for backend in ("ref", "cpu"):
        run = takt("run", path, "--test", folder, "--backend", backend, "--rtol", "1e-5",
                   "--bound", "64")
        if run.returncode != 0:
            fail(name, run.stdout + run.stderr)
            return


def dropout():
    """Outside of training the rate has no effect, so a model without one is read."""
    check("Dropout by a rate that is given", 13, [node("Dropout", ["x", "rate", "mode"], ["y"])],
          {"x": ([2], [3.0, 4], F32), "rate": ([], [0.5], F32)}, {"y": ([2], [3.0, 4], F32)},
          [tensor("mode", [], BOOL, b"\0")])
    run = takt("inspect", os.path.join(TMP, "corner.onnx"))
    if run.returncode != 0:
        fail("Dropout without its rate", run.stderr)


def slices():
    """Backwards from before the first element is from the first one; Python takes nothing."""
    for start, stop, step, want in ((-9, -99, -1, [0.0]), (-5, -6, -2, [0.0]), (-4, -99, -1, [0.0]),
                                    (2, -99, -1, [2.0, 1, 0]), (-9, 2, 1, [0.0, 1])):
        settings = [tensor(key, [1], I64, ints(v))
                    for key, v in (("a", start), ("b", stop), ("c", 0), ("d", step))]
        check(f"Slice {start}:{stop}:{step}", 13, [node("Slice", ["x", "a", "b", "c", "d"], ["y"])],
              {"x": ([4], [0.0, 1, 2, 3], F32)}, {"y": ([len(want)], want, F32)}, settings)
    settings = [tensor("b", [1], I64, ints(-99)), tensor("c", [1], I64, ints(0)),
                tensor("d", [1], I64, ints(-1))]
    check("Slice from a number that is given", 13,
          [node("Slice", ["x", "a", "b", "c", "d"], ["y"])],
          {"x": ([2, 1], [5.0, 6], F32), "a": ([1], [-3], I64)}, {"y": ([1, 1], [5.0], F32)},
          settings)


def named_slices():
    """Slices of an axis that has a name: reversed, and empty."""
    x = ([4], [0.0, 1, 2, 3], F32)
    far = 2**31 - 1
    for start, stop, step, want in (
            (-1, -99, -1, [3.0, 2, 1, 0]), (-1, -3, -1, [3.0, 2]), (far, -99, -2, [3.0, 1]),
            (-1, 0, -1, [3.0, 2, 1]), (2, 0, -1, [2.0, 1]), (9, -far, -1, [3.0, 2, 1, 0]),
            (-far - 1, -far - 1, -1, [0.0]), (3, 1, 1, []), (-1, -3, 1, []), (1, 3, -1, []),
            (far, 99, 1, []), (-far, 2, 1, [0.0, 1])):
        settings = [tensor(key, [1], I64, ints(v))
                    for key, v in (("a", start), ("b", stop), ("c", 0), ("d", step))]
        sized(f"Slice {start}:{stop}:{step} of a name",
              [node("Slice", ["x", "a", "b", "c", "d"], ["y"])], x,
              {"y": ([len(want)], want, F32)}, settings, ("n",))


def whole_numbers():
    x = ([2, 3], [1, 2, 4, -1, -2, -5], I32)
    for op, want in (("ReduceMean", [2, -2]), ("ReduceL2", [4, 5]), ("ReduceLogSumExp", [4, 0])):
        given = x if op != "ReduceLogSumExp" else ([2, 3], [1, 2, 4, -1, -2, 0], I32)
        check(f"{op} of i32", 13, [node(op, ["x"], ["y"], axes=[1], keepdims=0)], {"x": given},
              {"y": ([2], want, I32)})
    check("ReduceLogSum of i64", 18, [node("ReduceLogSum", ["x", "a"], ["y"])],
          {"x": ([1, 3], [3, 4, 14], I64)}, {"y": ([1, 1], [3], I64)},
          [tensor("a", [1], I64, ints(1))])
    check("ReduceL2 of each", 18, [node("ReduceL2", ["x"], ["y"], noop_with_empty_axes=1)],
          {"x": ([2], [-3, 4], I32)}, {"y": ([2], [3, 4], I32)})
    # Between two bytes the lower one; where neighbours are equal, their value.
    half = {"mode": "linear", "coordinate_transformation_mode": "asymmetric"}
    scales = tensor("s", [4], F32, struct.pack("<4f", 1, 1, 1, 3))
    check("Resize of bytes", 13, [node("Resize", ["x", "", "s"], ["y"], **half)],
          {"x": ([1, 1, 1, 3], [0, 4, 4], U8)},
          {"y": ([1, 1, 1, 9], [0, 1, 2, 4, 4, 4, 4, 4, 4], U8)}, [scales])
    check("Upsample of signed bytes", 9, [node("Upsample", ["x", "s"], ["y"], mode="linear")],
          {"x": ([1, 1, 1, 2], [-4, 1], I8)}, {"y": ([1, 1, 1, 6], [-4, -2, 0, 1, 1, 1], I8)},
          [scales])


def quantised():
    for scale, zero in (([], [1]), ([1], []), ([1], [1]), ([], [])):
        weights = [tensor("s", scale, F32, struct.pack("<f", 0.5)), tensor("z", zero, U8, b"\x03")]
        check(f"a scale of {scale}, a zero point of {zero}", 13,
              [node("QuantizeLinear", ["x", "s", "z"], ["q"]),
               node("DequantizeLinear", ["q", "s", "z"], ["y"])],
              {"x": ([2, 3], [0.0, .5, 1.2, -9, 200, -1], F32)},
              {"y": ([2, 3], [0.0, .5, 1, -1.5, 126, -1], F32)}, weights)


def broadcasts():
    """Dimensions of different names broadcast, and one of them is 1."""
    x, y = ([2, 3], [1.0, 2, 3, 4, 5, 6], F32), ([1, 3], [10.0, 20, 30], F32)
    named = {"x": ["n", "k"], "y": ["m", "l"]}
    want = {"z": ([2, 3], [11.0, 22, 33, 14, 25, 36], F32)}
    nodes = [node("Add", ["x", "y"], ["z"])]
    check("names that broadcast", 13, nodes, {"x": x, "y": y}, want, names=named)
    check("names that broadcast, the other way", 13, [node("Add", ["y", "x"], ["z"])],
          {"x": x, "y": y}, want, names=named)
    check("a name that broadcasts to a number", 13, nodes, {"x": x, "y": y}, want,
          names={"y": ["m", "l"]})
    path, _ = store(13, nodes, {"x": x, "y": y}, want, names=named)
    for shape, code in (("1x3", 0), ("2x1", 0), ("1x1", 0), ("2x3", 0), ("3x3", 2), ("2x2", 2)):
        run = takt("plan", path, "--shape", "x:2x3", "--shape", f"y:{shape}")
        if run.returncode != code or (code != 0 and "but" not in run.stderr):
            fail(f"a plan for [{shape}]", f"exit code {run.returncode}: {run.stderr}")
    path, _ = store(13, nodes, {"x": x, "y": y}, want)
    run = takt("plan", path, "--shape", "x:3x3")
    if run.returncode != 2 or "dimension 0 of input x is 2" not in run.stderr:
        fail("a number of the file", run.stdout + run.stderr)


def loop(condition):
    """s = s + x as long as `condition`, with every s."""
    body = Graph([node("Add", ["s", "x"], ["t"]), node("Identity", ["t"], ["row"]), *condition],
                 [value("i", [], I64), value("c", [], BOOL), value("s", [2])],
                 [value("d", [], BOOL), value("t", [2]), value("row", [2])],
                 [tensor("one", [], I64, ints(1))])
    return node("Loop", ["n", "go", "x"], ["y", "rows"], body=body)


def loops():
    passed, counted = [node("Identity", ["c"], ["d"])], [node("Less", ["i", "one"], ["d"])]
    x, on, off = ([2], [1.0, 2], F32), ([], [True], BOOL), ([], [False], BOOL)
    trips = [tensor("n", [], I64, ints(3))]
    check("a loop that goes on", 13, [loop(passed)], {"x": x, "go": on},
          {"y": ([2], [4.0, 8], F32), "rows": ([3, 2], [2.0, 4, 3, 6, 4, 8], F32)}, trips)
    check("a loop that is ended by its body", 13, [loop(counted)], {"x": x, "go": on},
          {"y": ([2], [3.0, 6], F32), "rows": ([2, 2], [2.0, 4, 3, 6], F32)}, trips)
    check("a loop that does not begin", 13, [loop(passed)], {"x": x, "go": off},
          {"y": x, "rows": ([0, 2], [], F32)}, trips)
    check("a loop of no iteration", 13, [loop(passed)],
          {"x": x, "go": on, "n": ([], [0], I64)}, {"y": x, "rows": ([0, 2], [], F32)})
    # A sum of the input ends it: the number of rows is found at run time.
    ended = [node("ReduceSum", ["t"], ["u"], keepdims=0), node("Cast", ["u"], ["d"], to=BOOL)]
    check("a loop that its data could end", 13, [loop(ended)], {"x": x, "go": on},
          {"y": ([2], [4.0, 8], F32), "rows": ([3, 2], [2.0, 4, 3, 6, 4, 8], F32)}, trips)
    check("a loop that its data ends", 13, [loop(ended)], {"x": ([2], [1.0, -1], F32), "go": on},
          {"y": ([2], [2.0, -2], F32), "rows": ([1, 2], [2.0, -2], F32)}, trips)


def sized(name, nodes, x, results, weights=(), names=("n", "k"), opset=13):
    """Settings that are sizes of x: the model is read without them, written, and read."""
    check(name, opset, nodes, {"x": x}, results, weights, {"x": names})
    folder = os.path.join(TMP, "corner")
    for kind in ("taktp", "onnx"):
        kept = os.path.join(TMP, f"kept.{kind}")
        for words in (("convert", os.path.join(TMP, "corner.onnx"), "-o", kept), ("inspect", kept),
                      ("summary", kept),
                      ("run", kept, "--test", folder, "--rtol", "1e-5")):
            run = takt(*words)
            if run.returncode != 0 or "(null)" in run.stdout:
                fail(f"{name}, {kind}", run.stdout + run.stderr)
                return


def sizes():
    x = ([2, 3], [1.0, 5, 3, 6, 2, 4], F32)
    zero, one, two = (tensor(key, [1], I64, ints(v)) for key, v in (("0", 0), ("1", 1), ("2", 2)))
    size = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "0"], ["n"], axis=0),
            node("Gather", ["s", "1"], ["k"], axis=0)]
    sized("Tile by a size", [*size, node("Concat", ["n", "1"], ["by"], axis=0),
                             node("Tile", ["x", "by"], ["y"])], x,
          {"y": ([4, 3], x[1] * 2, F32)}, [zero, one])
    sized("Tile by a size and a number", [*size, node("Concat", ["2", "n"], ["by"], axis=0),
                                          node("Tile", ["x", "by"], ["y"])], x,
          {"y": ([4, 6], [*x[1][:3] * 2, *x[1][3:] * 2] * 2, F32)}, [zero, one, two])
    sized("TopK of all", [*size, node("TopK", ["x", "k"], ["y", "i"])], x,
          {"y": ([2, 3], [5.0, 3, 1, 6, 4, 2], F32), "i": ([2, 3], [1, 2, 0, 0, 2, 1], I64)},
          [zero, one])
    sized("TopK of as many as there are rows, from below",
          [*size, node("TopK", ["x", "n"], ["y", "i"], largest=0)], x,
          {"y": ([2, 2], [1.0, 3, 2, 4], F32), "i": ([2, 2], [0, 2, 1, 2], I64)}, [zero, one])
    sized("OneHot as wide as x", [*size, node("ArgMax", ["x"], ["i"], axis=1, keepdims=0),
                                  node("OneHot", ["i", "k", "v"], ["y"])], x,
          {"y": ([2, 3], [0.0, 1, 0, 1, 0, 0], F32)},
          [zero, one, tensor("v", [2], F32, struct.pack("<2f", 0, 1))])
    sized("the first column, as wide as x", [
        node("Slice", ["x", "0", "1", "1"], ["c"]), node("Shape", ["x"], ["s"]),
        node("Expand", ["c", "s"], ["y"])], x, {"y": ([2, 3], [1.0] * 3 + [6.0] * 3, F32)},
          [zero, one])
    # n - n / 2 has a subtracted part; its written form must be readable.
    sized("the second half", [*size, node("Div", ["k", "2"], ["h"]),
                              node("Slice", ["x", "h", "most", "1"], ["y"])], x,
          {"y": ([2, 2], [5.0, 3, 2, 4], F32)},
          [zero, one, two, tensor("most", [1], I64, ints(2**63 - 1))])
    most = tensor("most", [1], I64, ints(2**63 - 1))
    for name, of in (("Neg", ["n"]), ("Mul", ["n", "-"]), ("Sub", ["0", "n"])):
        sized(f"as many of the end as there are rows, by {name}",
              [*size, node(name, of, ["m"]), node("Slice", ["x", "m", "most", "1"], ["y"])], x,
              {"y": ([2, 2], [5.0, 3, 2, 4], F32)},
              [zero, one, most, tensor("-", [1], I64, ints(-1))])
    sized("a roll: -1 modulo a size", [
        *size, node("Mod", ["-", "k"], ["m"]), node("Slice", ["x", "m", "k", "1"], ["a"]),
        node("Slice", ["x", "0", "m", "1"], ["b"]), node("Concat", ["a", "b"], ["y"], axis=1)], x,
          {"y": ([2, 3], [3.0, 1, 5, 4, 6, 2], F32)},
          [zero, one, tensor("-", [1], I64, ints(-1))])
    ones = {"value": tensor("", [1], I64, ints(1))}
    sized("0, 1, … as it was written before Range", [
        *size, node("ConstantOfShape", ["k"], ["o"], **ones), node("NonZero", ["o"], ["p"]),
        node("Cast", ["p"], ["f"], to=F32), node("Add", ["x", "f"], ["y"])], x,
          {"y": ([2, 3], [1.0, 6, 5, 6, 3, 6], F32)}, [zero, one])
    sized("every position of x", [
        *size, node("ConstantOfShape", ["s"], ["o"], **ones), node("NonZero", ["o"], ["y"])], x,
          {"y": ([2, 6], [0, 0, 0, 1, 1, 1, 0, 1, 2, 0, 1, 2], I64)}, [zero, one])
    # Up to 4 columns, with the pads turned as PyTorch writes them: pairs, last axis first.
    sized("pads that are worked out in a table", [
        *size, node("Sub", ["4", "k"], ["p"]), node("Concat", ["0", "p", "0", "0"], ["f"], axis=0),
        node("Reshape", ["f", "pairs"], ["t"]),
        node("Slice", ["t", "-", "far", "0", "-"], ["u"]),
        node("Transpose", ["u"], ["v"], perm=[1, 0]), node("Reshape", ["v", "-"], ["pads"]),
        node("Pad", ["x", "pads"], ["y"])], x,
          {"y": ([2, 4], [1.0, 5, 3, 0, 6, 2, 4, 0], F32)},
          [zero, one, tensor("4", [1], I64, ints(4)), tensor("pairs", [2], I64, ints(-1, 2)),
           tensor("-", [1], I64, ints(-1)), tensor("far", [1], I64, ints(1 - 2**63))])
    sized("Col2Im of any number of pictures", [node("Col2Im", ["x", "image", "block"], ["y"])],
          ([2, 2, 2], [1.0, 2, 3, 4, 5, 6, 7, 8], F32),
          {"y": ([2, 1, 1, 3], [1.0, 5, 4, 5, 13, 8], F32)},
          [tensor("image", [2], I64, ints(1, 3)), tensor("block", [2], I64, ints(1, 2))],
          ("n", 2, 2), 18)
    body = Graph([node("Gather", ["x", "i"], ["row"], axis=0), node("Add", ["s", "row"], ["t"]),
                  node("Neg", ["t"], ["u"]), node("Identity", ["c"], ["d"])],
                 [value("i", [], I64), value("c", [], BOOL), value("s", ["k"])],
                 [value("d", [], BOOL), value("t", ["k"]), value("u", ["k"])])
    sized("a loop over rows", [
        node("Shape", ["x"], ["s"]), node("Gather", ["s", "first"], ["n"], axis=0),
        node("Gather", ["x", "first"], ["x0"], axis=0),
        node("Loop", ["n", "", "x0"], ["y", "z"], body=body)], x,
          {"y": ([3], [8.0, 12, 10], F32), "z": ([2, 3], [-2.0, -10, -6, -8, -12, -10], F32)},
          [tensor("first", [], I64, ints(0))])


def written(name, op, nodes, given, results):
    """It is written as `op` again, for other engines."""
    check(name, 16, nodes, given, results)
    kept = os.path.join(TMP, "kept.onnx")
    for words in (("convert", os.path.join(TMP, "corner.onnx"), "-o", kept),
                  ("run", kept, "--test", os.path.join(TMP, "corner"), "--rtol", "1e-5")):
        run = takt(*words)
        if run.returncode != 0:
            fail(f"{name}, written", run.stdout + run.stderr)
    with open(kept, "rb") as file:
        if op.encode() not in file.read():
            fail(name, f"no {op} is written")


def regions():
    x, rois = ([1, 1, 2, 2], [1.0, 2, 3, 4], F32), ([1, 4], [0.0, 0, 2, 2], F32)
    batch = ([1], [0], I64)
    for mode, shift, want in (("avg", "half_pixel", 2.5), ("avg", "output_half_pixel", 4),
                              ("max", "half_pixel", 1)):
        written(f"RoiAlign, {mode}, {shift}", "RoiAlign", [
            node("RoiAlign", ["x", "r", "b"], ["y"], mode=mode, sampling_ratio=1,
                 coordinate_transformation_mode=shift)], {"x": x, "r": rois, "b": batch},
                {"y": ([1, 1, 1, 1], [want], F32)})
    written("MaxRoiPool", "MaxRoiPool", [
        node("MaxRoiPool", ["x", "r"], ["y"], pooled_shape=[1, 2])],
            {"x": x, "r": ([1, 5], [0.0, 0, 0, 1, 1], F32)}, {"y": ([1, 1, 1, 2], [3.0, 4], F32)})


def shifts():
    for direction, want in (("LEFT", [2, 128, 0, 0]), ("RIGHT", [0, 0, 0, 255])):
        written(f"BitShift {direction} by what is given", "BitShift", [
            node("BitShift", ["x", "n"], ["y"], direction=direction)],
                {"x": ([4], [1, 1, 255, 255 if direction == "RIGHT" else 0], U8),
                 "n": ([4], [1, 7, 8, 0], U8)}, {"y": ([4], want, U8)})


def alone():
    """A file without a name belongs to the only input, even if its values are built in."""
    x = ([3], [1.0, 0, 2], F32)
    path, folder = store(13, [node("NonZero", ["x"], ["y"])], {"x": x},
                         {"y": ([1, 2], [0, 2], I64)}, names={"x": ["n"]})
    for words, code, text in ((("-i", os.path.join(folder, "input_0.pb")), 0, "[[0, 2]]"),
                              (("-i", "x=" + os.path.join(folder, "input_0.pb")), 0, "[[0, 2]]"),
                              (("-i", "none.npy"), 2, "none.npy"), ((), 0, "y: i64[1, ")):
        run = takt("run", path, *words)
        if (run.returncode == 0) != (code == 0) or text not in run.stdout + run.stderr:
            fail(f"NonZero with {words}", f"exit code {run.returncode}: {run.stdout + run.stderr}")


def unknown_sizes():
    """Sizes that are all called "?" are not the same: exporters of Paddle write that for any."""
    check("two sizes called ?", 13, [node("Neg", ["x"], ["y"])],
          {"x": ([2, 3], [1.0, 2, 3, 4, 5, 6], F32)},
          {"y": ([2, 3], [-1.0, -2, -3, -4, -5, -6], F32)}, names={"x": ["?", "?"]})


if __name__ == "__main__":
    alone()
    unknown_sizes()
    regions()
    shifts()
    sizes()
    dropout()
    slices()
    named_slices()
    whole_numbers()
    quantised()
    broadcasts()
    loops()
    print(f"{count} models, {len(failures)} failed")
    sys.exit(1 if failures or count < 60 else 0)
