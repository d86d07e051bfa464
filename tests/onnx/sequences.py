"""sequences.py - test data that is not a tensor: sequences and optionals of ONNX's suite."""
import os
import sys

import corners
from _pb import Graph, field, floats, ints, many, model, node, tensor, value
from corners import F32, I64, fail, store, takt, write


def kind(name, dims, wrapper):
    """A value whose type is a sequence (4) or optional (9) of tensors, or both: outermost first."""
    shape = many(1, [field(1, d) for d in dims])
    inner = field(1, field(1, F32) + field(2, shape))
    for number in reversed(wrapper):
        inner = field(number, field(1, inner))
    return field(1, name) + field(2, inner)


def sequence(name, *tensors):
    return field(1, name) + field(2, 1) + many(3, tensors)


def pair():
    return [tensor("", [2], F32, floats(1, 2)), tensor("", [2], F32, floats(3, 4))]


def case(name, graph, files, code=0, says=""):
    corners.count += 1
    path, folder = store(18, [], {}, {})
    write(path, model(graph, 18))
    for key, body in files.items():
        write(os.path.join(folder, f"{key}.pb"), body)
    run = takt("run", path, "--test", folder)
    if run.returncode != code or says not in run.stdout + run.stderr:
        fail(name, f"exit code {run.returncode}: {run.stdout + run.stderr}")
    return path, folder


def counts(path):
    """How many items there are is enough to read a model; their values and lengths come later."""
    corners.count += 4
    run = takt("inspect", path, "-D", "s=1..3")
    if run.returncode == 0 or "-D s=N" not in run.stdout + run.stderr:
        fail("a sequence of a range", run.stdout + run.stderr)
    run = takt("inspect", path)
    if run.returncode == 0 or "-D s=N" not in run.stdout + run.stderr:
        fail("a sequence without a count", run.stdout + run.stderr)
    run = takt("inspect", path, "-D", "s=3")
    if run.returncode != 0 or "s.2: f32[2]" not in run.stdout or "s.3" in run.stdout:
        fail("a sequence of three", run.stdout + run.stderr)
    run = takt("inspect", path, "-D", "s=5000")
    if run.returncode == 0 or "5000 items" not in run.stdout + run.stderr:
        fail("a sequence of too many", run.stdout + run.stderr)
    named = field(1, "s") + field(2, field(4, field(1, field(1, field(1, F32) + field(
        2, many(1, [field(2, "N")]))))))
    joined = Graph([node("ConcatFromSequence", ["s"], ["y"], axis=0)], [named],
                   [value("y", ["all"])])
    path, folder = store(18, [], {}, {})
    write(path, model(joined, 18))
    out = os.path.join(folder, "m.taktp")
    run = takt("convert", path, "-D", "s=2", "-o", out)
    for lengths in ((1, 4), (3, 0), (2, 2)):
        corners.count += 1
        given = [word for i, n in enumerate(lengths) for word in ("-D", f"s.{i}_0={n}")]
        one = takt("run", out, *given)
        if run.returncode != 0 or one.returncode != 0 or f"f32[{sum(lengths)}]" not in one.stdout:
            fail(f"items of {lengths}", run.stdout + run.stderr + one.stdout + one.stderr)


def main():
    one = [tensor("one", [], I64, ints(1))]
    at = Graph([node("SequenceAt", ["s", "one"], ["y"])], [kind("s", [2], [4])],
               [value("y", [2])], one)
    want = tensor("y", [2], F32, floats(3, 4))
    path, folder = case("a sequence", at, {"input_0": sequence("s", *pair()), "output_0": want},
                        says="y: 2 elements agree")
    case("a sequence with other results", at,
         {"input_0": sequence("s", *reversed(pair())), "output_0": want}, 1, "2 of 2 elements")
    case("a tensor instead of a sequence", at, {"input_0": want, "output_0": want}, 1, "input_0.pb")
    run = takt("run", path, "-i", "s=" + os.path.join(folder, "input_0.pb"))
    if run.returncode == 0:
        fail("a tensor for a sequence", run.stdout)
    counts(path)
    both = Graph([node("SequenceInsert", ["s", "x", "zero"], ["y"])],
                 [kind("s", [2], [4]), value("x", [2])], [kind("y", [2], [4])],
                 [tensor("zero", [], I64, ints(0))])
    extra = tensor("x", [2], F32, floats(5, 6))
    case("a sequence as a result", both,
         {"input_0": sequence("s", *pair()), "input_1": extra,
          "output_0": sequence("y", extra, *pair())}, says="y.2: 2 elements agree")
    case("one element too few", both,
         {"input_0": sequence("s", *pair()), "input_1": extra,
          "output_0": sequence("y", *pair())}, 2, "3 inputs and 2 outputs, the model 3 and 3")
    case("an empty sequence", both, {"input_0": sequence("s"), "input_1": extra,
                                     "output_0": sequence("y", extra)}, says="y.0: 2 elements")
    has = Graph([node("OptionalHasElement", ["o"], ["y"])], [kind("o", [2], [9])],
                [value("y", [], 9)])
    for item, answer in ((field(1, "o") + field(2, 1) + field(3, pair()[0]), b"\1"),
                         (field(1, "o"), b"\0"), (b"", b"\0")):
        case("an optional", has, {"input_0": item, "output_0": tensor("y", [], 9, answer)},
             says="y: 1 elements agree")
    get = Graph([node("OptionalGetElement", ["o"], ["t"]),
                 node("SequenceAt", ["t", "one"], ["y"])], [kind("o", [2], [9, 4])],
                [value("y", [2])], one)
    case("an optional sequence", get,
         {"input_0": field(1, "o") + field(2, 3) + field(5, sequence("", *pair())),
          "output_0": want}, says="y: 2 elements agree")
    path, folder = case("a tensor", Graph([node("Neg", ["x"], ["y"])], [value("x", [2])],
                                          [value("y", [2])]),
                        {"input_0": tensor("x", [2], F32, floats(-3, -4)), "output_0": want,
                         "s": sequence("s", *pair())})
    run = takt("run", path, "-i", "x=" + os.path.join(folder, "s.pb"))
    if run.returncode == 0 or "holds a sequence or an optional, not a tensor" not in run.stderr:
        fail("a sequence for a tensor", run.stdout + run.stderr)


if __name__ == "__main__":
    main()
    print(f"{corners.count} cases, {len(corners.failures)} failed")
    sys.exit(1 if corners.failures or corners.count < 10 else 0)
