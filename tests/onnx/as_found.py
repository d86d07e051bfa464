"""as_found.py - deviations from the standard in files of exporters and converters, which Takt once
refused: signals without a channel axis, nodes in any order, an output listed twice, tables smaller
than the random numbers that index them, sizes that are those of a sample."""
import cmath
import os
import struct
import sys

import corners
from _pb import Graph, field, floats, ints, many, model, node, tensor, value
from corners import BOOL, F32, I64, TMP, check, fail, store, takt, write


def transformed(signal, step, window):
    """[frame][bin](re, im) of the lower half."""
    size = len(window)
    out = []
    for first in range(0, len(signal) - size + 1, step):
        for k in range(size // 2 + 1):
            y = sum(signal[first + i] * window[i] * cmath.exp(-2j * cmath.pi * i * k / size)
                    for i in range(size))
            out += [y.real, y.imag]
    return out


def signals():
    signal, window = [0.5, 1, -2, 3, 0.25, -1, 2, 4, 1], [0.25, 1, 1, 0.5]
    want = transformed(signal, 2, window)
    x, y = ([1, 9], signal, F32), ([1, 3, 3, 2], want, F32)
    nodes = [node("STFT", ["x", "step", "w"], ["y"])]
    weights = [tensor("step", [], I64, ints(2)), tensor("w", [4], F32, floats(*window))]
    check("STFT of rank 2", 17, nodes, {"x": x}, {"y": y}, weights)
    check("STFT of rank 3", 17, nodes, {"x": ([1, 9, 1], signal, F32)}, {"y": y}, weights)
    check("STFT of any length", 17, nodes, {"x": x}, {"y": y}, weights, {"x": ["batch", "n"]})
    path, _ = store(17, nodes, {"x": x}, {"y": y}, weights, {"x": ["batch", "n"]})
    run = takt("run", path, "-D", "batch=2", "-D", "n=400")
    if run.returncode != 0 or "y: f32[2, 199, 3, 2]" not in run.stdout:
        fail("STFT of another length", run.stdout + run.stderr)


def orders():
    x, y = ([2], [1.0, -2], F32), ([2], [2.0, 1], F32)
    relu, exp = node("Relu", ["x"], ["h"], "a"), node("Add", ["h", "one"], ["y"], "b")
    one = [tensor("one", [], F32, floats(1))]
    check("nodes in the other order", 13, [exp, relu], {"x": x}, {"y": y}, one)
    body = Graph([node("Add", ["t", "one"], ["z"], "d"), node("Add", ["h", "zero"], ["t"], "c")],
                 [], [value("z", [2])], [tensor("zero", [], F32, floats(0))])
    other = Graph([node("Neg", ["h"], ["z"], "e")], [], [value("z", [2])])
    choice = node("If", ["c"], ["y"], "i", then_branch=body, else_branch=other)
    check("what a branch captures comes later", 13, [choice, relu],
          {"x": x, "c": ([], [True], BOOL)}, {"y": y}, one)
    # The branches have a result with the node's own name, so they seem to depend on the node.
    same = Graph([node("Add", ["h", "one"], ["y"], "d")], [], [value("y", [2])])
    choice = node("If", ["c"], ["y"], "i", then_branch=same, else_branch=same)
    check("names of a branch hide those around it", 13, [choice, relu],
          {"x": x, "c": ([], [True], BOOL)}, {"y": y}, one)
    function = (field(1, "F") + field(4, "x") + field(5, "y") + many(7, [exp, relu, node(
        "Constant", [], ["one"], "o", value=tensor("", [], F32, floats(1)))])
        + field(9, field(2, 13)) + field(10, "own"))
    path, folder = store(13, [node("Identity", ["x"], ["y"])], {"x": x}, {"y": y})
    write(path, model(Graph([node("F", ["x"], ["y"], "f", "own")], [value("x", [2])],
                            [value("y", [2])]), 13,
                      field(8, field(1, "own") + field(2, 1)) + field(25, function)))
    run = takt("run", path, "--test", folder)
    if run.returncode != 0:
        fail("a function's nodes in the other order", run.stdout + run.stderr)
    path, _ = store(13, [node("Add", ["x", "b"], ["a"], "p"), node("Neg", ["a"], ["b"], "q")],
                    {"x": x}, {"a": y})
    run = takt("run", path)
    if run.returncode == 0 or "which nothing before it produces" not in run.stderr:
        fail("nodes in a cycle", run.stdout + run.stderr)
    chain = [node("Neg", [f"v{i + 1}"], [f"v{i}"], f"n{i}") for i in range(5000)]
    path, _ = store(13, [*chain, node("Neg", ["x"], ["v5000"], "first")], {"x": x}, {"v0": y})
    run = takt("inspect", path)
    if run.returncode != 0:
        fail("5000 nodes in the other order", run.stdout + run.stderr)


def outputs():
    x, y = ([2], [1.0, -2], F32), ([2], [1.0, 0], F32)
    path, folder = store(13, [node("Relu", ["x"], ["y"])], {"x": x}, {"y": y})
    write(path, model(Graph([node("Relu", ["x"], ["y"])], [value("x", [2])],
                            [value("y", [2])] * 3), 13))
    for i in (1, 2):
        write(os.path.join(folder, f"output_{i}.pb"), corners.data("y", *y))
    run = takt("run", path, "--test", folder)
    if run.returncode != 0 or "y_3: 2 elements agree" not in run.stdout:
        fail("an output that is listed three times", run.stdout + run.stderr)


def tables():
    """Token types are 0 or 1: random indices stay within each table, through a cast and a view."""
    rows = struct.pack("<4f", 1, 2, 3, 4)
    nodes = [node("Gather", ["kinds", "types"], ["a"], "a"),
             node("Cast", ["wide"], ["narrow"], "b", to=6),
             node("Unsqueeze", ["narrow", "zero"], ["index"], "c"),
             node("GatherElements", ["table", "index"], ["b"], "d", axis=1)]
    weights = [tensor("kinds", [2, 2], F32, rows), tensor("table", [1, 3], F32, rows[:12]),
               tensor("zero", [1], I64, ints(0))]
    path, _ = store(13, nodes, {"types": ([64], [0] * 64, I64), "wide": ([64], [0] * 64, I64)},
                    {"a": ([64, 2], [0.0] * 128, F32), "b": ([1, 64], [0.0] * 64, F32)}, weights)
    for verb in (("run",), ("run", "--backend", "ref"), ("benchmark", "run", "--iterations", "3")):
        run = takt(*verb, path)
        if run.returncode != 0:
            fail(f"random indices of {verb}", run.stdout + run.stderr)


def given_sizes():
    """Exporters write the batch of their sample, and scalars for inputs of any shape."""
    nodes = [node("Relu", ["x"], ["y"])]
    x, y = ([2, 3], [1.0, -2, 3, -4, 5, -6], F32), ([2, 3], [1.0, 0, 3, 0, 5, 0], F32)
    for name, dims, note in (("a batch of 1", [1, 3], "dimension 0 is 1 in the file"),
                             ("a scalar", [], "x is a scalar in the file")):
        check(f"{name} in the file, 2 samples given", 13, nodes, {"x": x}, {"y": y},
              names={"x": dims})
        path, folder = store(13, nodes, {"x": x}, {"y": y}, names={"x": dims})
        for words in (("-i", os.path.join(folder, "input_0.pb")), ("--shape", "x:2x3")):
            run = takt("run", path, *words)
            if run.returncode != 0 or "note: input x" not in run.stderr or note not in run.stderr:
                fail(f"{name}, {words[0]}", run.stdout + run.stderr)
        run = takt("run", path, "--shape", "x:2x3", "--quiet")
        if run.returncode != 0 or run.stderr != "":
            fail(f"{name}, quietly", run.stdout + run.stderr)
    fixed = [node("Reshape", ["x", "shape"], ["y"])]
    path, _ = store(13, fixed, {"x": ([1, 3], [0.0] * 3, F32)}, {"y": ([3], [0.0] * 3, F32)},
                    [tensor("shape", [1], I64, ints(3))])
    run = takt("run", path, "--shape", "x:2x3")
    if run.returncode != 2 or "dimension 0 of input x is 1" not in run.stderr \
            or "note:" in run.stderr:
        fail("2 samples that an operator refuses", run.stdout + run.stderr)
    path, _ = store(13, nodes, {"x": x}, {"y": y}, names={"x": [1, 4]})
    run = takt("run", path, "--shape", "x:1x3")
    if run.returncode != 2 or "dimension 1 of input x is 4" not in run.stderr:
        fail("another number than the batch", run.stdout + run.stderr)


if __name__ == "__main__":
    signals()
    orders()
    outputs()
    tables()
    given_sizes()
    print(f"{corners.count} models, {len(corners.failures)} failed")
    sys.exit(1 if corners.failures or corners.count < 8 or not os.path.isdir(TMP) else 0)
