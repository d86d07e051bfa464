"""train_losses.py - losses and parameter groups: value and gradient against plain Python.

One step of SGD with rate 1 on a linear model shows the gradient; central differences in double show
what it should be."""
import io
import json
import math
import struct
import zipfile

from _cli import expect, fails, finish, parsed, path, succeeds, write

ROWS, WIDE = 6, 3


def npz(name, arrays):
    """Arrays by name: (shape, flat values, "f4" or "i8")."""
    file = path(name)
    with zipfile.ZipFile(file, "w") as archive:
        for key, (shape, values, kind) in arrays.items():
            dims = "".join(f"{d}, " for d in shape)
            head = f"{{'descr': '<{kind}', 'fortran_order': False, 'shape': ({dims}), }}"
            head = head + " " * (64 - (len(head) + 11) % 64) + "\n"
            out = io.BytesIO()
            out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
            out.write(struct.pack(f"<{len(values)}{'f' if kind == 'f4' else 'q'}", *values))
            archive.writestr(key + ".npy", out.getvalue())
    return file


X = [[math.sin(1 + i * 3 + k) for k in range(WIDE)] for i in range(ROWS)]


def weights(file):
    succeeds("convert", file, "-o", file + ".safetensors")
    with open(file + ".safetensors", "rb") as source:
        raw = source.read()
    size, = struct.unpack("<Q", raw[:8])
    return {name: list(struct.unpack(f"<{(e['data_offsets'][1] - e['data_offsets'][0]) // 4}f",
                                     raw[8 + size + e["data_offsets"][0]:
                                         8 + size + e["data_offsets"][1]]))
            for name, e in json.loads(raw[8:8 + size]).items() if name != "__metadata__"}


def outputs(w, wide):
    return [[sum(x[i] * w[i * wide + k] for i in range(WIDE)) for k in range(wide)] for x in X]


def log_softmax(x, t=1.0):
    most = max(v / t for v in x)
    total = math.log(sum(math.exp(v / t - most) for v in x)) + most
    return [v / t - total for v in x]


def check(name, loss, wide, arrays, formula, shape=None, end="h", flags=()):
    """`formula`: rows of outputs to the mean loss; `end`: what the model returns of them."""
    tail = f"\n  return reshape(h, [{shape}])" if shape else f"\n  return {end}"
    model = write(name + ".takt", f"model m(x: f32[{ROWS}, {WIDE}]) seed=4 {{\n"
                  f"  param w: f32[{WIDE}, {wide}] = normal(0, 0.7)\n"
                  f"  h = matmul(x, w){tail}\n}}\n")
    data = npz(name + ".npz", {"x": ([ROWS, WIDE], [v for row in X for v in row], "f4"), **arrays})
    succeeds("compile", model, "-o", path("before.taktp"))
    before = weights(path("before.taktp"))["w"]
    log, out = path(name + ".jsonl"), path(name + ".taktp")
    succeeds("train", model, "--data", data, "--loss", loss, "--optimizer", "sgd", "--lr", "1",
             "--batch-size", str(ROWS), "--no-shuffle", "-q", "--log", log, "-o", out, *flags)
    with open(log) as file:
        got = json.loads(file.readline())["loss"]
    want = formula(outputs(before, wide))
    expect(abs(got - want) < 1e-5 * max(1, abs(want)), f"{name}: loss {got}, want {want}")
    after = weights(out)["w"]
    for i in range(len(before)):
        sides = []
        for step in (1e-5, -1e-5):
            moved = list(before)
            moved[i] += step
            sides.append(formula(outputs(moved, wide)))
        slope = (sides[0] - sides[1]) / 2e-5
        expect(abs(before[i] - after[i] - slope) < 2e-5 * max(1, abs(slope)),
               f"{name}: gradient {i} is {before[i] - after[i]}, want {slope}")


CLASSES = [0, 2, 1, 2, 0, 2]
LABELS = {"labels": ([ROWS], CLASSES, "i8")}
TARGETS = [math.cos(i * 2.5) for i in range(ROWS * 4)]
ALIKE = {"labels": ([ROWS, 4], TARGETS, "f4")}


def by_rows(f):
    return lambda y: sum(f(row, i) for i, row in enumerate(y)) / ROWS


def elements(f):
    return lambda y: sum(f(v, struct.unpack("<f", struct.pack("<f", TARGETS[i * 4 + k]))[0])
                         for i, row in enumerate(y) for k, v in enumerate(row)) / (ROWS * 4)


def classes():
    check("ce", "cross_entropy", 4, LABELS, by_rows(lambda x, i: -log_softmax(x)[CLASSES[i]]))
    check("smooth", "cross_entropy:smoothing=0.2", 4, LABELS, by_rows(
        lambda x, i: -0.8 * log_softmax(x)[CLASSES[i]] - 0.2 * sum(log_softmax(x)) / 4))
    check("ignore", "cross_entropy:ignore=1", 4, LABELS, lambda y: sum(
        -log_softmax(x)[k] for x, k in zip(y, CLASSES) if k != 1) / 5)
    shares = [[0.7, 0.1, 0, 0.2], [0, 0, 1, 0], [0.25] * 4, [0.5, 0.5, 0, 0], [0, 0.1, 0.9, 0],
              [0.3, 0.3, 0.3, 0.1]]
    check("soft", "cross_entropy:soft=1", 4,
          {"labels": ([ROWS, 4], [v for row in shares for v in row], "f4")},
          by_rows(lambda x, i: -sum(p * v for p, v in zip(shares[i], log_softmax(x)))))
    check("focal", "focal", 4, LABELS, by_rows(
        lambda x, i: -(1 - math.exp(log_softmax(x)[CLASSES[i]])) ** 2 * log_softmax(x)[CLASSES[i]]))
    check("hinge", "hinge", 4, LABELS, by_rows(lambda x, i: sum(
        max(0, 1 + v - x[CLASSES[i]]) for k, v in enumerate(x) if k != CLASSES[i]) / 4))


def planes():
    """Classes on axis 1, as segmentation returns them: named, or shown by the labels' shape."""
    marks = [(2 * i + k) % 3 for i in range(ROWS) for k in range(2)]
    labels = {"labels": ([ROWS, 2], marks, "i8")}

    def each(y):
        return [(log_softmax(x[k::2]), marks[2 * i + k]) for i, x in enumerate(y)
                for k in range(2)]

    def mean(weight):
        return lambda y: (sum(-weight[k] * p[k] for p, k in each(y))
                          / sum(weight[k] for _, k in each(y)))
    shape = f"{ROWS}, 3, 2"
    check("planes", "cross_entropy", 6, labels, mean([1, 1, 1]), shape=shape)
    check("planes", "cross_entropy:axis=1", 6, labels, mean([1, 1, 1]), shape=shape)
    check("planes", "cross_entropy:ignore=0", 6, labels, mean([0, 1, 1]), shape=shape)
    check("planes", "cross_entropy", 6, labels, mean([1, 2, 3]), shape=shape,
          flags=["--class-weights", "1,2,3"])
    check("planes", "cross_entropy", 6, labels, mean([1, 1, 1]), shape=shape,
          flags=["--class-weights", "balanced"])
    check("planes", "focal", 6, labels, lambda y: sum(
        -(1 - math.exp(p[k])) ** 2 * p[k] for p, k in each(y)) / 12, shape=shape)
    net = write("maps.takt", f"model m(x: f32[batch, {WIDE}]) seed=4 {{\n"
                f"  param w: f32[{WIDE}, 6] = normal(0, 0.7)\n"
                "  return softmax(reshape(matmul(x, w), [batch, 3, 2]), axis=1)\n}\n")
    out = succeeds("train", net, "--data", path("planes.npz"), "--epochs", "80", "--lr", "0.1",
                   "-o", path("maps.taktp"))
    expect("the classes are axis 1" in out and "softmax was taken off" in out, out)
    told = parsed("eval", path("maps.taktp"), "--data", path("planes.npz"), "--metric", "top1,ppl",
                  "--json")["metrics"]
    last = float(out.splitlines()[-2].split("accuracy ")[1].split(";")[0])
    expect(told[0]["value"] > 0.7 and abs(told[0]["value"] - last) < 0.1, (told, last))
    fails(1, "train", net, "--data", path("planes.npz"), "--loss", "cross_entropy:axis=3",
          says=["axis 3 of the output", "3 axes"])


def targets():
    check("mse", "mse", 4, ALIKE, elements(lambda a, b: (a - b) ** 2))
    check("mae", "mae", 4, ALIKE, elements(lambda a, b: abs(a - b)))
    check("huber", "huber:delta=0.5", 4, ALIKE, elements(
        lambda a, b: (a - b) ** 2 / 2 if abs(a - b) <= 0.5 else 0.5 * (abs(a - b) - 0.25)))


def probabilities():
    """Targets from 0 to 1, and distributions."""
    shares = [[0.7, 0.1, 0, 0.2], [0, 0, 1, 0], [0.25] * 4, [0.5, 0.5, 0, 0], [0, 0.1, 0.9, 0],
              [0.3, 0.3, 0.3, 0.1]]
    exact = [[struct.unpack("<f", struct.pack("<f", v))[0] for v in row] for row in shares]
    labels = {"labels": ([ROWS, 4], [v for row in shares for v in row], "f4")}

    def cross(x, i):
        return -sum(p * math.log(1 / (1 + math.exp(-v))) + (1 - p) * math.log(1 / (1 + math.exp(v)))
                    for p, v in zip(exact[i], x)) / 4
    check("bce_logits", "bce_logits", 4, labels, by_rows(cross))
    check("bce", "bce", 4, labels, by_rows(cross), end="1 / (1 + exp(-h))")
    check("kl_div", "kl_div", 4, labels, by_rows(lambda x, i: sum(
        p * (math.log(p) - v) for p, v in zip(exact[i], log_softmax(x)) if p > 0) / 4),
        end="log(softmax(h))")
    check("cosine", "cosine", 4, ALIKE, by_rows(lambda x, i: 1 - sum(
        a * b for a, b in zip(x, TARGETS[i * 4:])) / math.hypot(*x)
        / math.hypot(*TARGETS[i * 4:i * 4 + 4])))


def weighted():
    """The divisor is the sum of the weights of the labels."""
    def formula(weight):
        def mean(y):
            total = sum(weight[k] for k in CLASSES)
            return sum(-weight[k] * log_softmax(x)[k] for x, k in zip(y, CLASSES)) / total
        return mean
    check("weighted", "cross_entropy", 3, LABELS, formula([1, 0.5, 3]),
          flags=["--class-weights", "1,0.5,3"])
    check("balanced", "cross_entropy", 3, LABELS, formula([6 / (3 * n) for n in (2, 1, 3)]),
          flags=["--class-weights", "balanced"])
    args = ["train", path("weighted.takt"), "--data", path("weighted.npz"), "--class-weights"]
    for given, says in (("1,2", "2 numbers, the model has outputs for 3"), ("1,x,2", "x is not a"),
                        ("1,-1,2", "-1 is not a weight"), ("1,nan,2", "nan is not a weight")):
        fails(2, *args, given, says=["1003", "--class-weights", says, "hint: "])
    fails(2, *args, "1,1,1", "--loss", "focal", says=["class weights", "cross_entropy"])


def triplet():
    def formula(y):
        total, count = 0.0, 0
        for a, k in zip(y, CLASSES):
            apart = [(math.dist(a, b), c) for b, c in zip(y, CLASSES)]
            same = [d for d, c in apart if c == k]
            other = [d for d, c in apart if c != k]
            if len(same) > 1 and other:
                total += max(0, max(same) - min(other) + 0.5)
                count += 1
        return total / count
    check("triplet", "triplet:margin=0.5", 4, LABELS, formula)


def distillation():
    teacher = [math.sin(i * 1.7) * 2 for i in range(ROWS * 4)]

    def formula(x, i):
        want = log_softmax(teacher[i * 4:i * 4 + 4], 3)
        have = log_softmax(x, 3)
        soft = sum(math.exp(a) * (a - b) for a, b in zip(want, have))
        return 0.7 * 9 * soft - 0.3 * log_softmax(x)[CLASSES[i]]
    check("distil", "distillation:T=3,alpha=0.7", 4,
          {**LABELS, "teacher": ([ROWS, 4], teacher, "f4")}, by_rows(formula))


def ctc():
    """Against all paths: 5 time steps of 3 classes are 243."""
    words = [[1, 2], [2], [1, 1], [], [2, 1], [1]]
    padded = [k for word in words for k in word + [-1] * (2 - len(word))]

    def spelled(at, steps=5):
        path_, last = [], 0
        for _ in range(steps):
            k, at = at % 3, at // 3
            if k not in (0, last):
                path_.append(k)
            last = k
        return path_

    def formula(x, i):
        rows = [log_softmax(x[t * 3:t * 3 + 3]) for t in range(5)]
        total = 0.0
        for at in range(3 ** 5):
            if spelled(at) == words[i]:
                total += math.exp(sum(rows[t][at // 3 ** t % 3] for t in range(5)))
        return -math.log(total)
    check("ctc", "ctc:length=2", 15, {"labels": ([ROWS, 2], padded, "i8")}, by_rows(formula),
          shape=f"{ROWS}, 5, 3")


def groups():
    model = write("groups.takt",
                  "model m(x: f32[batch, 3]) seed=2 { return dense(dense(x, 4), 4) }\n")
    data = npz("groups.npz", {"x": ([ROWS, WIDE], [v for row in X for v in row], "f4"), **ALIKE})
    args = ["train", model, "--data", data, "--loss", "mse", "-q", "--batch-size", str(ROWS), "-o"]
    succeeds("compile", model, "-o", path("start.taktp"))
    start = weights(path("start.taktp"))

    def trained(*flags):
        succeeds(*args, path("grouped.taktp"), *flags)
        return weights(path("grouped.taktp"))
    for optimizer in ("sgd", "adam", "adamw:weight_decay=0.5"):
        base = ["--optimizer", optimizer, "--lr", "0.1"]
        a, b = trained(*base), trained("--optimizer", optimizer, "--lr", "0.02")
        both = trained(*base, "--group", "dense_1:lr=0.02")
        expect(all(both[n] == (b if "dense_1" in n else a)[n] for n in start), optimizer)
    plain = trained("--optimizer", "adamw:weight_decay=0", "--lr", "0.1")
    decayed = trained("--optimizer", "adamw:weight_decay=0.5", "--lr", "0.1")
    mixed = trained("--optimizer", "adamw:weight_decay=0.5", "--lr", "0.1", "--group",
                    "bias:weight_decay=0")
    expect(all(mixed[n] == (plain if "bias" in n else decayed)[n] for n in start), "weight decay")
    fails(2, *args, path("no.taktp"), "--group", "bias", says=["REGEX"])
    fails(2, *args, path("no.taktp"), "--group", "(:lr=1", says=["--group"])
    fails(2, *args, path("no.taktp"), "--group", "bias:lr=fast", says=["learning rate"])
    fails(2, *args, path("no.taktp"), "--group", "bias:beta9=1", says=["beta9"])


classes()
planes()
targets()
probabilities()
weighted()
triplet()
distillation()
ctc()
groups()
fails(1, "train", "examples/spirals.takt", "--data", "examples/spirals.csv", "--loss", "ctc",
      says=["3 axes"])
listed = {row["name"] for row in parsed("train", "--list", "--json")["losses"]}
expect({"triplet", "ctc", "distillation"} <= listed, listed)
finish()
