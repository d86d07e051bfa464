"""loops_nested.py - nested loops, scans and branches with run-time sizes in the innermost: all of
them are planned. Results are compared with Python, the interpreter, and onnxruntime if installed.
"""
import os
import random
import sys

import bodies
import corners
from _pb import Graph, floats, node, tensor, value
from bodies import NAMES, ROWS, WEIGHTS, given, loop, places
from branches import says
from corners import BOOL, F32, I64, TMP, check, fail, store, takt

try:
    import numpy
    import onnx
    import onnxruntime
except ImportError:
    onnxruntime = None

compared = 0


def with_names(graph):
    """Every node has its own name, as onnxruntime requires."""
    for i, one in enumerate(graph.node):
        one.name = f"{i}_{one.output[0]}"
        for attr in one.attribute:
            with_names(attr.g)


def runtime(name, path, inputs, results):
    """The result of onnxruntime for the same file."""
    global compared
    if onnxruntime is None:
        return
    types = {F32: numpy.float32, I64: numpy.int64, BOOL: numpy.bool_}
    onnxruntime.set_default_logger_severity(3)
    file = onnx.load(path)
    with_names(file.graph)
    session = onnxruntime.InferenceSession(file.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    feed = {key: numpy.array(items, types[kind]).reshape(dims)
            for key, (dims, items, kind) in inputs.items()}
    for got, (dims, items, _) in zip(session.run(list(results), feed), results.values()):
        if list(got.shape) != dims or not numpy.allclose(got.ravel(), items, rtol=1e-5):
            fail(name, f"onnxruntime has {got.tolist()}, not {items}")
    compared += 1


def planned(name, nodes, inputs, results, weights=(), names=None):
    """The expected result on all backends, without steps of the interpreter."""
    check(name, 13, nodes, inputs, results, weights, names or NAMES)
    path = os.path.join(TMP, "corner.onnx")
    runtime(name, path, inputs, results)
    if inputs["x"][0][0] != 4:
        return
    run = takt("plan", path, "-D", "n=4", "-D", "m=4", "--bound", "8")
    if run.returncode != 0 or "interpreter" in run.stdout:
        fail(name, run.stdout + run.stderr)


def many_rows():
    """Sizes recur and are new: more of them than plans are cached."""
    generator = random.Random(3)
    rows = [[float(generator.random() < (i % 23) / 22) * (j + 1) for j in range(22)]
            for i in range(60)]
    return ROWS, ROWS[1:2], rows


def body(nodes, carried, results):
    """As in bodies.py; onnxruntime requires the condition to be made by a node of the body."""
    return bodies.body([*nodes, node("Identity", ["yes"], ["go"])], carried, results, "go")


def those():
    """`row` where it is not 0, all of it."""
    return [*places(), node("Gather", ["row", "places"], ["those"], "those", axis=0)]


FIVE = [tensor("five", [], F32, floats(5)), tensor("two", [], F32, floats(2))]


def if_in_loop():
    """A branch takes the found values, of a different size in every iteration."""
    yes = Graph([node("Mul", ["those", "two"], ["twice"], "twice"),
                 node("ReduceSum", ["twice", "zero"], ["a"], "a", keepdims=0)], [],
                [value("a", [])])
    no = Graph([node("Mul", ["those", "those"], ["square"], "square"),
                node("ReduceSum", ["square", "zero"], ["b"], "b", keepdims=0)], [],
               [value("b", [])])
    nodes = [*those(), node("ReduceMax", ["row"], ["top"], keepdims=0),
             node("Less", ["top", "five"], ["few"]),
             node("If", ["few"], ["sum"], "choice", then_branch=yes, else_branch=no)]
    graph = body(nodes, [], [("sum", [])])
    for rows in many_rows():
        want = [2 * sum(r) if max(r) < 5 else sum(v * v for v in r) for r in rows]
        planned(f"If in a Loop of {len(rows)}", loop(graph, [], ["y"]), given(rows),
                {"y": ([len(rows)], want, F32)}, WEIGHTS + FIVE)


def if_of_sizes():
    """Branches find sizes, too, and their results are of other sizes."""
    yes = Graph([node("Concat", ["those", "those"], ["double"], "double", axis=0)], [],
                [value("double", ["k"])])
    no = Graph([node("Identity", ["those"], ["same"], "same")], [], [value("same", ["k"])])
    nodes = [*those(), node("ReduceMax", ["row"], ["top"], keepdims=0),
             node("Less", ["top", "five"], ["few"]),
             node("If", ["few"], ["some"], "choice", then_branch=yes, else_branch=no),
             node("Size", ["some"], ["size"]), node("Cast", ["size"], ["count"], to=F32),
             node("ReduceSum", ["some", "zero"], ["sum"], keepdims=0),
             node("Add", ["sum", "count"], ["both"])]
    graph = body(nodes, [], [("both", [])])
    for rows in many_rows():
        want = [(1 + (max(r) < 5)) * (sum(r) + sum(v != 0 for v in r)) for r in rows]
        planned(f"sizes of branches in a Loop of {len(rows)}", loop(graph, [], ["y"]),
                given(rows), {"y": ([len(rows)], want, F32)}, WEIGHTS + FIVE)


def loop_in_loop():
    """As many inner iterations as the outer one found, each with a different slice."""
    inner = Graph([node("Identity", ["yes"], ["go_on"]),
                   node("Unsqueeze", ["k", "zero"], ["end"]),
                   node("Slice", ["those", "zero", "end", "zero"], ["part"], "part"),
                   node("ReduceSum", ["part", "zero"], ["s"], keepdims=0),
                   node("Add", ["so_far", "s"], ["more"])],
                  [value("k", [], I64), value("d", [], BOOL), value("so_far", [])],
                  [value("go_on", [], BOOL), value("more", [])])
    nodes = [*those(), node("Size", ["places"], ["size"]),
             node("Loop", ["size", "yes", "start"], ["sums"], "inner", body=inner)]
    graph = body(nodes, [], [("sums", [])])
    for rows in many_rows():
        found = [[v for v in r if v != 0] for r in rows]
        want = [sum(sum(f[:k]) for k in range(len(f))) for f in found]
        planned(f"Loop in a Loop of {len(rows)}", loop(graph, [], ["y"]), given(rows),
                {"y": ([len(rows)], want, F32)},
                WEIGHTS + [tensor("start", [], F32, floats(0))])


def loop_in_if():
    """The loop of a branch finds sizes; the other branch has none."""
    nodes = [*those(), node("ReduceSum", ["those", "zero"], ["s"], keepdims=0),
             node("Size", ["places"], ["size"]), node("Cast", ["size"], ["count"], to=F32),
             node("Add", ["s", "count"], ["both"]), node("Add", ["old", "both"], ["new"])]
    graph = body(nodes, [("old", [])], [("new", [])])
    yes = Graph([node("Loop", ["many", "yes", "start"], ["a"], "loop", body=graph)], [],
                [value("a", [])])
    no = Graph([node("ReduceSum", ["x"], ["b"], "b", keepdims=0)], [], [value("b", [])])
    outer = [node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "i0"], ["many"], axis=0),
             node("If", ["flag"], ["y"], "choice", then_branch=yes, else_branch=no)]
    for rows in many_rows():
        for flag in (True, False):
            total = sum(map(sum, rows)) + flag * sum(v != 0 for r in rows for v in r)
            planned(f"Loop in an If of {len(rows)}", outer,
                    given(rows, {"flag": ([], [flag], BOOL)}), {"y": ([], [total], F32)},
                    WEIGHTS + [tensor("start", [], F32, floats(0))], {**NAMES, "flag": []})


def deep():
    """A Loop in an If in a Loop; both loops find sizes."""
    inner = Graph([node("Identity", ["yes"], ["go_on"]),
                   node("Add", ["k", "i1"], ["next"]), node("Unsqueeze", ["next", "zero"], ["end"]),
                   node("Slice", ["those", "zero", "end", "zero"], ["part"], "part"),
                   node("ReduceMax", ["part"], ["s"], keepdims=0)],
                  [value("k", [], I64), value("d", [], BOOL), value("old", [])],
                  [value("go_on", [], BOOL), value("s", [])])
    yes = Graph([node("Loop", ["size", "yes", "start"], ["a"], "inner", body=inner)], [],
                [value("a", [])])
    no = Graph([node("ReduceSum", ["those", "zero"], ["b"], keepdims=0)], [], [value("b", [])])
    nodes = [*those(), node("Size", ["places"], ["size"]),
             node("ReduceMax", ["row"], ["top"], keepdims=0),
             node("Less", ["top", "five"], ["few"]),
             node("If", ["few"], ["sum"], "choice", then_branch=yes, else_branch=no)]
    graph = body(nodes, [], [("sum", [])])
    for rows in many_rows():
        want = [max(r) if max(r) < 5 else sum(r) for r in rows]
        planned(f"Loop in an If in a Loop of {len(rows)}", loop(graph, [], ["y"]), given(rows),
                {"y": ([len(rows)], want, F32)}, WEIGHTS + FIVE + [
                    tensor("start", [], F32, floats(0))])


def scan_body(nodes, results):
    return Graph(nodes, [value("old", []), value("row", ["m"])],
                 [value(name, []) for name in results])


def scans():
    """Sizes are found in every iteration of a Scan, alone and with a Loop inside it."""
    start = [tensor("start", [], F32, floats(0))]
    count = [node("Size", ["places"], ["size"]), node("Cast", ["size"], ["count"], to=F32)]
    plain = scan_body([*those(), *count, node("ReduceSum", ["those", "zero"], ["s"], keepdims=0),
                       node("Add", ["old", "s"], ["new"])], ["new", "count"])
    inner = Graph([node("Identity", ["yes"], ["go_on"]),
                   node("Gather", ["those", "k"], ["one_of"], axis=0),
                   node("Add", ["so_far", "one_of"], ["more"])],
                  [value("k", [], I64), value("d", [], BOOL), value("so_far", [])],
                  [value("go_on", [], BOOL), value("more", [])])
    nested = scan_body([*those(), *count,
                        node("Loop", ["size", "yes", "old"], ["new"], "inner", body=inner)],
                       ["new", "count"])
    for name, graph in (("plain", plain), ("with a Loop", nested)):
        for rows in many_rows():
            counts = [float(sum(v != 0 for v in r)) for r in rows]
            for back in (0, 1):
                nodes = [node("Scan", ["start", "x"], ["y", "z"], "scan", body=graph,
                              num_scan_inputs=1, scan_input_directions=[back])]
                planned(f"Scan {name} of {len(rows)}", nodes, given(rows),
                        {"y": ([], [sum(map(sum, rows))], F32),
                         "z": ([len(rows)], counts[::-1] if back else counts, F32)},
                        WEIGHTS + start)
    graph = scan_body([*those()], ["old", "those"])
    path, _ = store(13, [node("Scan", ["start", "x"], ["y", "z"], "scan", body=graph,
                              num_scan_inputs=1)], given(ROWS),
                    {"y": ([], [0.0], F32), "z": ([4, 1], [0.0] * 4, F32)}, WEIGHTS + start, NAMES)
    says("rows of a Scan", takt("run", path), 1, "of another size in every iteration")


if __name__ == "__main__":
    for case in (if_in_loop, if_of_sizes, loop_in_loop, loop_in_if, deep, scans):
        case()
    print(f"{corners.count} models, {len(corners.failures)} failed; "
          f"{compared} compared with onnxruntime")
    sys.exit(1 if corners.failures or corners.count < 30 or not os.path.isdir(TMP) else 0)
