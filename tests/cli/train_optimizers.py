"""train_optimizers.py - every optimiser and schedule against its formula, in double, 20 steps.

The model is linear, so that gradients are easy: loss = mean over samples of (w x + b - t)^2."""
import json
import math
import struct

from _cli import expect, finish, parsed, path, succeeds, write

MODEL = """model linear(x: f32[batch, 3]) {
  return dense(x, 2)
}
"""
STEPS, ROWS = 20, 4
X = [[math.sin(1 + i * 3 + k) for k in range(3)] for i in range(ROWS)]
T = [[math.cos(i * 2 + k) * 2 for k in range(2)] for i in range(ROWS)]
W = [[0.3 * math.sin(5 + i * 2 + k) for k in range(2)] for i in range(3)]


def npz(name, arrays):
    """A stored archive of arrays of f32."""
    import io
    import zipfile
    file = path(name)
    with zipfile.ZipFile(file, "w") as archive:
        for key, rows in arrays.items():
            shape = f"({len(rows)}, {len(rows[0])})"
            head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
            head = head + " " * (64 - (len(head) + 11) % 64) + "\n"
            out = io.BytesIO()
            out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
            for row in rows:
                out.write(struct.pack(f"<{len(row)}f", *row))
            archive.writestr(key + ".npy", out.getvalue())
    return file


def rounded(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def gradient(w, b):
    """The gradients of weight [3][2] and bias [2], as flat lists, and the loss."""
    gw, gb, loss = [0.0] * 6, [0.0] * 2, 0.0
    for x, t in zip(X, T):
        for k in range(2):
            error = sum(x[i] * w[i * 2 + k] for i in range(3)) + b[k] - t[k]
            loss += error * error / (ROWS * 2)
            for i in range(3):
                gw[i * 2 + k] += 2 * error * x[i] / (ROWS * 2)
            gb[k] += 2 * error / (ROWS * 2)
    return gw, gb, loss


def norm(v):
    return math.sqrt(sum(x * x for x in v))


# Each takes (w, g, state, step, rate, is_matrix) and returns the new w; lists are flat.
def sgd(momentum=0.0, nesterov=False, decay=0.0):
    def update(w, g, s, step, rate, _):
        g = [a + decay * b for a, b in zip(g, w)]
        if momentum:
            m = [momentum * a + b for a, b in zip(s.get("m", [0] * len(w)), g)]
            s["m"] = m
            g = [a + momentum * b for a, b in zip(g, m)] if nesterov else m
        return [a - rate * b for a, b in zip(w, g)]
    return update


def moments(w, g, s, step, b1, b2, eps):
    s["m"] = [b1 * a + (1 - b1) * b for a, b in zip(s.get("m", [0] * len(w)), g)]
    s["v"] = [b2 * a + (1 - b2) * b * b for a, b in zip(s.get("v", [0] * len(w)), g)]
    return [m / (1 - b1 ** step) / (math.sqrt(v / (1 - b2 ** step)) + eps)
            for m, v in zip(s["m"], s["v"])]


def adam(decay=0.0):
    def update(w, g, s, step, rate, _):
        g = [a + decay * b for a, b in zip(g, w)]
        return [a - rate * b for a, b in zip(w, moments(w, g, s, step, 0.9, 0.999, 1e-8))]
    return update


def adamw(w, g, s, step, rate, _):
    way = moments(w, g, s, step, 0.9, 0.999, 1e-8)
    return [a * (1 - rate * 0.01) - rate * b for a, b in zip(w, way)]


def lamb(w, g, s, step, rate, _):
    way = moments(w, g, s, step, 0.9, 0.999, 1e-6)
    way = [a + 0.1 * b for a, b in zip(way, w)]
    trust = norm(w) / norm(way) if norm(w) > 0 and norm(way) > 0 else 1
    return [a - rate * trust * b for a, b in zip(w, way)]


def rmsprop(w, g, s, step, rate, _):
    s["v"] = [0.9 * a + 0.1 * b * b for a, b in zip(s.get("v", [0] * len(w)), g)]
    s["g"] = [0.9 * a + 0.1 * b for a, b in zip(s.get("g", [0] * len(w)), g)]
    way = [b / (math.sqrt(v - m * m) + 1e-8) for b, v, m in zip(g, s["v"], s["g"])]
    s["m"] = [0.5 * a + b for a, b in zip(s.get("m", [0] * len(w)), way)]
    return [a - rate * b for a, b in zip(w, s["m"])]


def adagrad(w, g, s, step, rate, _):
    s["v"] = [a + b * b for a, b in zip(s.get("v", [0] * len(w)), g)]
    falling = rate / (1 + (step - 1) * 0.1)
    return [a - falling * b / (math.sqrt(v) + 1e-10) for a, b, v in zip(w, g, s["v"])]


def adadelta(w, g, s, step, rate, _):
    old = s.get("d", [0] * len(w))
    s["v"] = [0.9 * a + 0.1 * b * b for a, b in zip(s.get("v", [0] * len(w)), g)]
    way = [math.sqrt(d + 1e-6) / math.sqrt(v + 1e-6) * b for d, v, b in zip(old, s["v"], g)]
    s["d"] = [0.9 * a + 0.1 * b * b for a, b in zip(old, way)]
    return [a - rate * b for a, b in zip(w, way)]


def lion(w, g, s, step, rate, _):
    old = s.get("m", [0] * len(w))
    mixed = [0.9 * a + 0.1 * b for a, b in zip(old, g)]
    way = [(a > 0) - (a < 0) + 1e-3 * b for a, b in zip(mixed, w)]
    s["m"] = [0.99 * a + 0.01 * b for a, b in zip(old, g)]
    return [a - rate * b for a, b in zip(w, way)]


def adafactor(w, g, s, step, rate, is_matrix):
    share, relative = step ** -0.8, min(rate, 1 / math.sqrt(step))
    size = max(1e-3, norm(w) / math.sqrt(len(w))) * relative
    eps = 2.0 ** -23
    if is_matrix:
        rows = [sum(g[i * 2 + k] ** 2 for k in range(2)) / 2 for i in range(3)]
        columns = [sum(g[i * 2 + k] ** 2 for i in range(3)) / 3 for k in range(2)]
        s["r"] = [a + (b - a) * share for a, b in zip(s.get("r", [0] * 3), rows)]
        s["c"] = [a + (b - a) * share for a, b in zip(s.get("c", [0] * 2), columns)]
        mean = max(sum(s["r"]) / 3, eps)
        square = [s["r"][i] * s["c"][k] / mean for i in range(3) for k in range(2)]
    else:
        s["v"] = [a + (b * b - a) * share for a, b in zip(s.get("v", [0] * len(w)), g)]
        square = s["v"]
    way = [b / math.sqrt(max(v, eps * eps)) for b, v in zip(g, square)]
    scale = size / max(1, norm(way) / math.sqrt(len(way)))
    return [a - scale * b for a, b in zip(w, way)]


def matmul(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


def muon(w, g, s, step, rate, is_matrix):
    kept = [a * (1 - rate * 0.1) for a in w]
    if not is_matrix:
        return [a - rate * b for a, b in zip(kept, moments(w, g, s, step, 0.9, 0.999, 1e-8))]
    s["m"] = [0.95 * a + 0.05 * b for a, b in zip(s.get("m", [0] * 6), g)]
    way = [0.05 * a + 0.95 * b for a, b in zip(g, s["m"])]
    x = [[way[i * 2 + k] / max(norm(way), 1e-7) for k in range(2)] for i in range(3)]
    for _ in range(5):
        square = matmul(list(zip(*x)), x)
        fourth = matmul(square, square)
        p = [[-4.7750 * a + 2.0315 * b for a, b in zip(r, q)] for r, q in zip(square, fourth)]
        x = [[3.4445 * a + b for a, b in zip(r, q)] for r, q in zip(x, matmul(x, p))]
    size = rate * math.sqrt(max(1, 3 / 2))
    return [a - size * b for a, b in zip(kept, [v for row in x for v in row])]


OPTIMIZERS = [("sgd", sgd()),
              ("sgd:momentum=0.9,nesterov=1,weight_decay=0.01", sgd(0.9, True, 0.01)),
              ("adam", adam()), ("adam:weight_decay=0.1", adam(0.1)), ("adamw", adamw),
              ("lamb:weight_decay=0.1", lamb),
              ("rmsprop:alpha=0.9,momentum=0.5,centered=1", rmsprop),
              ("adagrad:rate_decay=0.1", adagrad), ("adadelta", adadelta), ("lion", lion),
              ("adafactor", adafactor), ("muon", muon)]
SCHEDULES = {
    "constant": lambda i: 1,
    "step:every=7,factor=0.5": lambda i: 0.5 ** (i // 7),
    "cosine:floor=0.1": lambda i: 0.1 + 0.9 * (1 + math.cos(math.pi * i / STEPS)) / 2,
    "linear": lambda i: 1 - i / STEPS,
    "one_cycle": lambda i: one_cycle(i),
}


def one_cycle(i):
    """As PyTorch's OneCycleLR: both ends of both phases are reached."""
    first, last, top, end = 1 / 25, 1 / 25 / 1e4, 0.3 * STEPS - 1, STEPS - 1
    if i <= top:
        return 1 + (first - 1) * (1 + math.cos(math.pi * i / top)) / 2
    return last + (1 - last) * (1 + math.cos(math.pi * (i - top) / (end - top))) / 2


def losses(*flags):
    log = path("optimizer.jsonl")
    succeeds("train", write("linear.takt", MODEL), "--weights", weights(), "--data",
             npz("data.npz", {"x": X, "y": T}), "--loss", "mse", "--batch-size", str(ROWS),
             "--no-shuffle", "--epochs", str(STEPS), "--log", log, "--quiet", *flags)
    with open(log) as lines:
        return [json.loads(line) for line in lines]


def weights():
    header = {"dense_0.weight": {"dtype": "F32", "shape": [3, 2], "data_offsets": [0, 24]},
              "dense_0.bias": {"dtype": "F32", "shape": [2], "data_offsets": [24, 32]}}
    text = json.dumps(header).encode()
    flat = [v for row in W for v in row] + [0.5, -0.25]
    return write("w.safetensors", struct.pack("<Q", len(text)) + text + struct.pack("<8f", *flat))


def expected(update, rate, factor=lambda i: 1, limit=lambda gw, gb: (gw, gb), average=None):
    w, b = [rounded(v) for row in W for v in row], [0.5, -0.25]
    states, curve = ({}, {}), []
    for step in range(1, STEPS + 1):
        gw, gb, loss = gradient(w, b)
        gw, gb = limit(gw, gb)
        curve.append(loss)
        now = rate * factor(step - 1)
        w = update(w, gw, states[0], step, now, True)
        b = update(b, gb, states[1], step, now, False)
        if average is not None:
            average.append(w + b)
    return curve


def by_norm(most):
    """Of all parameters together, as torch.nn.utils.clip_grad_norm_."""
    def limit(gw, gb):
        share = min(1, most / (norm(gw + gb) + 1e-6))
        return [v * share for v in gw], [v * share for v in gb]
    return limit


def by_value(most):
    return lambda gw, gb: tuple([max(-most, min(most, v)) for v in part] for part in (gw, gb))


def clips():
    """By norm, by value, and both: values first."""
    def both(gw, gb):
        return by_norm(0.5)(*by_value(0.4)(gw, gb))
    for flags, limit in ((["--clip", "0.5"], by_norm(0.5)), (["--clip", "1e9"], by_norm(1e9)),
                         (["--clip-value", "0.4"], by_value(0.4)),
                         (["--clip-value", "0.4", "--clip", "0.5"], both)):
        for name, update in (("sgd", sgd()), ("adam", adam())):
            rows = losses("--optimizer", name, "--lr", "0.05", *flags)
            want = expected(update, 0.05, limit=limit)
            worst = max(abs(row["loss"] - v) / v for row, v in zip(rows, want))
            expect(worst <= 2e-6, f"{name} {flags}: a loss differs by {worst:g} of it")


def averages():
    """--ema: a mean that begins with the first weights, and forgets them soon; it is written."""
    walk, out = [], path("averaged.taktp")
    expected(sgd(), 0.05, average=walk)
    losses("--optimizer", "sgd", "--lr", "0.05", "--ema", "0.5", "-o", out)
    mean = [rounded(v) for row in W for v in row] + [0.5, -0.25]
    for i, now in enumerate(walk):
        keep = min(0.5, (1 + i) / (10 + i))
        mean = [keep * a + (1 - keep) * b for a, b in zip(mean, now)]
    succeeds("convert", out, "-o", path("averaged.safetensors"))
    with open(path("averaged.safetensors"), "rb") as file:
        raw = file.read()
    size, = struct.unpack("<Q", raw[:8])
    table, got = json.loads(raw[8:8 + size]), []
    for name in ("dense_0.weight", "dense_0.bias"):
        begin, end = (8 + size + at for at in table[name]["data_offsets"])
        got += struct.unpack(f"<{(end - begin) // 4}f", raw[begin:end])
    worst = max(abs(a - b) for a, b in zip(got, mean))
    expect(len(got) == 8 and worst <= 1e-6, f"--ema: a weight differs by {worst:g}")


X = [[rounded(v) for v in row] for row in X]
T = [[rounded(v) for v in row] for row in T]
for name, update in OPTIMIZERS:
    got = [row["loss"] for row in losses("--optimizer", name, "--lr", "0.02")]
    worst = max(abs(a - b) / b for a, b in zip(got, expected(update, 0.02)))
    expect(len(got) == STEPS and worst <= 2e-6, f"{name}: a loss differs by {worst:g} of it")
for name, factor in SCHEDULES.items():
    rows = losses("--optimizer", "sgd", "--lr", "0.05", "--schedule", name)
    worst = max(abs(row["rate"] - 0.05 * factor(i)) for i, row in enumerate(rows))
    expect(worst <= 1e-9, f"{name}: a rate differs by {worst:g}")
    worst = max(abs(row["loss"] - want) / want
                for row, want in zip(rows, expected(sgd(), 0.05, factor)))
    expect(worst <= 2e-6, f"{name}: a loss differs by {worst:g} of it")
rows = losses("--optimizer", "sgd", "--lr", "0.05", "--warmup", "10")
expect(all(abs(row["rate"] - 0.05 * min(1, (i + 1) / 10)) < 1e-9 for i, row in enumerate(rows)),
       "the rate grows over ten steps of warm-up")
clips()
averages()
listed = parsed("train", "--list", "--json")
expect({o["name"] for o in listed["optimizers"]} == {name.split(":")[0] for name, _ in OPTIMIZERS},
       "every optimizer is tested")
finish()
