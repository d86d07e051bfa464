"""resize_named.py - Resize of dimensions with names: the bits of the same model with numbers.

A run knows the sizes when it loads the model and makes tables of numbers. A model that is converted
keeps its names, and has nodes that compute the tables: both must agree to the last bit.
"""
import itertools
import os
import struct
import subprocess
import sys

from _pb import Graph, floats, ints, model, node, tensor, value

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.environ.get("TAKT_TOOL", os.path.join(ROOT, "build", "takt"))
TMP = os.environ.get("TAKT_TEST_TMP", "/tmp")
PLACES = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
          "asymmetric", "tf_half_pixel_for_nn")
ROUNDS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
SHAPE = (2, 3, 9, 7)
failures = []


def path(name):
    return os.path.join(TMP, name)


def takt(*args):
    run = subprocess.run([TOOL, *args], text=True, capture_output=True, check=False)
    return run.returncode, run.stdout + run.stderr


def write_npy():
    count = SHAPE[0] * SHAPE[1] * SHAPE[2] * SHAPE[3]
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {SHAPE}, }}".encode()
    head += b" " * (63 - (len(head) + 10) % 64) + b"\n"
    with open(path("x.npy"), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
        file.write(floats(*[(37 * i % 101) / 7 - 5 for i in range(count)]))


def digest(name, *more):
    code, text = takt("run", path(name), "-i", "x=" + path("x.npy"), *more)
    lines = [line for line in text.splitlines() if line.startswith(("y:", "digest"))]
    return code, "\n".join(lines), text


def convert(name, nodes, weights, words=None):
    """False: it is refused, and that is as it should be or a failure."""
    graph = Graph(nodes, [value("x", ["n", 3, "h", "w"])], [value("y", ["a", "b", "c", "d"])],
                  weights)
    with open(path("m.onnx"), "wb") as file:
        file.write(model(graph, 18))
    code, text = takt("convert", path("m.onnx"), "-o", path("m.taktp"))
    if words is not None:
        if code == 0 or words not in text:
            failures.append(f"{name}: refused with {text.strip()[:200]!r}")
        return False
    if code != 0:
        failures.append(f"{name}: {text.strip()[:300]}")
    return code == 0


def check(name, nodes, weights, words=None):
    """Same bits with names and with numbers; or the refusal has these words."""
    if not convert(name, nodes, weights, words):
        return
    known, named = digest("m.onnx"), digest("m.taktp", "--bound", "64")
    if known[0] != 0 or named[0] != 0 or known[1] != named[1] or "digest" not in known[1]:
        failures.append(f"{name}: {known[2][:200]} and {named[2][:200]}")


def near(name):
    """A run-time number of taps is summed in a different order: the last bits may differ."""
    found = []
    for file, more in (("m.onnx", ()), ("m.taktp", ("--bound", "64"))):
        code, text = takt("run", path(file), "-i", "x=" + path("x.npy"), "-o",
                          "y=" + path("y.npy"), *more)
        if code != 0:
            failures.append(f"{name}: {text.strip()[:300]}")
            return
        with open(path("y.npy"), "rb") as result:
            body = result.read()
        start = 10 + struct.unpack("<H", body[8:10])[0]
        found.append((body[:start], struct.unpack(f"<{(len(body) - start) // 4}f",
                                                       body[start:])))
    (head, known), (other, named) = found
    if head != other or any(abs(a - b) > 1e-5 for a, b in zip(known, named)):
        failures.append(f"{name}: {head} and {other}, {known[:4]} and {named[:4]}")


def check_windows(sizes, lists):
    """Antialias, exclude_outside and crops along dimensions without a number."""
    count = 0
    roi = tensor("roi", [8], 1, floats(0, 0, 0.1, -0.2, 1, 1, 0.9, 1.1))
    ways = [(["x", "roi", "k"], [], [tensor("k", [4], 1, floats(1, 1, by, by))])
            for by in (2, 0.5, 0.25)] + [(["x", "roi", "", "z"], sizes, lists)]
    for (inputs, before, numbers), mode in itertools.product(ways, ("linear", "cubic", "nearest")):
        for attrs in ({"coordinate_transformation_mode": "tf_crop_and_resize",
                       "extrapolation_value": 99.0}, {"exclude_outside": 1}, {"antialias": 1},
                      {"antialias": 1, "exclude_outside": 1, "cubic_coeff_a": -0.5}):
            name = f"{mode} {attrs} {inputs}"
            nodes = before + [node("Resize", inputs, ["y"], mode=mode, **attrs)]
            if "antialias" in attrs and mode != "nearest":
                if convert(name, nodes, numbers + [roi]):
                    near(name)
            else:
                check(name, nodes, numbers + [roi])
            count += 1
    return count


def check_proportions(sizes, lists):
    """One scale for all axes, or for height and width, which only a run can find."""
    count = 0
    for way in ("not_larger", "not_smaller"):
        check(f"{way} in all axes", sizes + [node("Resize", ["x", "", "", "z"], ["y"],
                                                  keep_aspect_ratio_policy=way)], lists)
        for k, place in enumerate(PLACES):
            for mode, size in (("nearest", (16, 5)), ("linear", (5, 16)), ("cubic", (4, 4))):
                attrs = {"mode": mode, "coordinate_transformation_mode": place, "axes": [2, 3],
                         "nearest_mode": ROUNDS[k % 4], "keep_aspect_ratio_policy": way}
                check(f"{way} than {size}, {mode} {place}",
                      [node("Resize", ["x", "", "", "hw"], ["y"], **attrs)],
                      [tensor("hw", [2], 7, ints(*size))])
                count += 1
    return count


def check_border(height, width, **attrs):
    """Scales that are a little too small in f32 give the same result as the sizes they represent:
    the last row and column are on the border, not beyond it."""
    roi = tensor("roi", [8], 1, floats(0, 0, 0, 0, 1, 1, 1, 1))
    ways = ((["x", "roi", "k"], tensor("k", [4], 1, floats(1, 1, height / SHAPE[2],
                                                           width / SHAPE[3]))),
            (["x", "roi", "", "z"], tensor("z", [4], 7, ints(*SHAPE[:2], height, width))))
    found = []
    for inputs, numbers in ways:
        graph = Graph([node("Resize", inputs, ["y"], **attrs)], [value("x", list(SHAPE))],
                      [value("y", ["a", "b", "c", "d"])], [roi, numbers])
        with open(path("m.onnx"), "wb") as file:
            file.write(model(graph, 18))
        found.append(digest("m.onnx"))
    if found[0][0] != 0 or "digest" not in found[0][1] or found[0][1] != found[1][1]:
        failures.append(f"{attrs} to {height} x {width}: {found[0][2][:200]}, {found[1][2][:200]}")


def main():
    write_npy()
    for height, width in ((13, 5), (14, 10), (25, 17), (5, 3)):
        check_border(height, width, mode="linear", extrapolation_value=99.0,
                     coordinate_transformation_mode="tf_crop_and_resize")
        for k, place in enumerate(("half_pixel_symmetric", "align_corners")):
            check_border(height, width, mode="nearest", nearest_mode=ROUNDS[2 + k],
                         coordinate_transformation_mode=place)
    count = 0
    sizes = [node("Shape", ["x"], ["s"]), node("Slice", ["s", "zero", "two"], ["nc"]),
             node("Concat", ["nc", "hw"], ["z"], axis=0)]
    lists = [tensor("zero", [1], 7, ints(0)), tensor("two", [1], 7, ints(2)),
             tensor("hw", [2], 7, ints(16, 5))]
    for mode, place in itertools.product(("nearest", "linear", "cubic"), PLACES):
        for k, scale in enumerate((2.0, 0.5, 1.3, 16 / 9, 5 / 7)):
            attrs = {"mode": mode, "coordinate_transformation_mode": place,
                     "nearest_mode": ROUNDS[(k + PLACES.index(place)) % 4]}
            check(f"{mode} {place} by {scale}", [node("Resize", ["x", "", "k"], ["y"], **attrs)],
                  [tensor("k", [4], 1, floats(1, 1, scale, scale))])
            count += 1
        check(f"{mode} {place} to sizes", sizes + [node("Resize", ["x", "", "", "z"], ["y"],
                                                        **attrs)], lists)
        count += 1
    # As in feature pyramids: back up to the size before pooling.
    pooled = [node("MaxPool", ["x"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
              node("Shape", ["x"], ["s"]), node("Resize", ["p", "", "", "s"], ["u"]),
              node("Add", ["x", "u"], ["y"])]
    check("pyramid", pooled, [])
    check("a scale of nothing", [node("Resize", ["x", "", "k"], ["y"])],
          [tensor("k", [4], 1, floats(1, 1, 0, 2))], "a scale of 0")
    check("a scale that is not a fraction", [node("Resize", ["x", "", "k"], ["y"])],
          [tensor("k", [4], 1, floats(1, 1, 2, 1.2345678))], "a scale of 1.23457 along a dimension")
    count += check_proportions(sizes, lists)
    count += check_windows(sizes, lists)
    for failure in failures:
        print(f"FAILED: {failure}")
    print(f"{count + 16} models, {len(failures)} failed")
    sys.exit(1 if failures or count < 100 else 0)


if __name__ == "__main__":
    main()
