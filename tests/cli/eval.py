"""eval.py - metrics and their intervals against plain Python; plans and profiles of training."""
import json
import math
import os
import random
import re
import zlib

from _cli import expect, fails, finish, parsed, path, succeeds, write

SCORES = write("scores.takt", "model scores(x: f32[batch, 6]) { return x }\n")
SHARES = write("shares.takt", "model shares(x: f32[batch, 6]) { return softmax(x) }\n")
PAIR = write("pair.takt", "model pair(x: f32[batch, 1]) { return x }\n")


def draw(rows, width, classes, seed=3):
    """Scores in steps of 1/64, which are exact, with ties; the label's is a little higher."""
    source = random.Random(seed)
    table = []
    for _ in range(rows):
        label = source.randrange(classes)
        x = [source.randrange(-64, 64) / 64 for _ in range(width)]
        if width > 1:
            x[label] += source.randrange(0, 64) / 64
        else:
            x[0] += 0.5 if label else -0.5
        table.append((x, label))
    return table


def csv(name, table):
    return write(name, "\n".join(",".join(map(repr, x)) + f",{label}" for x, label in table) + "\n")


def close(got, want, what, tolerance=1e-6):
    expect(abs(got - want) <= tolerance * max(1, abs(want)), f"{what}: {got}, want {want}")


def wilson(share, n):
    z = 1.959963984540054
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return middle - half, middle + half


def area(pairs):
    """The area under the curve of (score, is the class), by its definition over all pairs."""
    own = [s for s, is_own in pairs if is_own]
    rest = [s for s, is_own in pairs if not is_own]
    return sum((a > b) + 0.5 * (a == b) for a in own for b in rest) / (len(own) * len(rest))


def f1(pairs, of):
    right = sum(label == best == of for label, best in pairs)
    return 2 * right / sum((label == of) + (best == of) for label, best in pairs)


def figures(model, data, metrics, *flags):
    out = parsed("eval", model, "--data", data, "--metric", metrics, "--json", *flags)
    return out, {row["metric"]: row for row in out["metrics"]}


def classes():
    table = draw(301, 6, 6)
    data = csv("scores.csv", table)
    best = [(label, x.index(max(x))) for x, label in table]
    out, got = figures(SCORES, data, "top1,top5,f1,auc,ppl")
    n = len(table)
    expect(out["samples"] == n and all(row["rows"] == n for row in got.values()), out)
    right = sum(a == b for a, b in best) / n
    close(got["top1"]["value"], right, "top1")
    for key, want in zip(("low", "high"), wilson(right, n)):
        close(got["top1"][key], want, "top1 " + key)
    fifth = sum(sum(y > x[k] or (y == x[k] and i < k) for i, y in enumerate(x)) < 5
                for x, k in table) / n
    close(got["top5"]["value"], fifth, "top5")
    close(got["f1"]["value"], sum(f1(best, c) for c in range(6)) / 6, "f1")
    close(got["auc"]["value"],
          sum(area([(x[c], k == c) for x, k in table]) for c in range(6)) / 6, "auc")
    nll = [math.log(sum(math.exp(v) for v in x)) - x[k] for x, k in table]
    mean = sum(nll) / n
    error = math.sqrt(sum((v - mean) ** 2 for v in nll) / (n - 1) / n)
    close(got["ppl"]["value"], math.exp(mean), "ppl")
    close(got["ppl"]["high"], math.exp(mean + 1.9679 * error), "ppl high", 1e-4)  # t of 300
    for row in got.values():
        expect(row["low"] < row["value"] < row["high"], row)
    for flags in (["--batch-size", "7"], ["--threads", "2"], ["--isa", "scalar"]):
        expect(figures(SCORES, data, "top1,top5,f1,auc,ppl", *flags)[0] == out, flags)
    _, shares = figures(SHARES, data, "ppl,top1")
    close(shares["ppl"]["value"], math.exp(mean), "ppl of probabilities", 1e-5)
    expect("95 %" in succeeds("eval", SCORES, "--data", data), "no interval is reported")


def interval_of_two():
    """One score and two classes, and the width of resampled intervals."""
    table = draw(400, 1, 2, seed=4)
    data = csv("pair.csv", table)
    _, got = figures(PAIR, data, "f1,auc,top1")
    best = [(label, int(x[0] > 0)) for x, label in table]
    close(got["f1"]["value"], f1(best, 1), "f1 of class 1")
    close(got["auc"]["value"], area([(x[0], k == 1) for x, k in table]), "auc of one score")
    close(got["top1"]["value"], sum(a == b for a, b in best) / len(best), "top1 of one score")
    a = got["auc"]["value"]
    own = sum(k for _, k in table)
    rest = len(table) - own
    q1, q2 = a / (2 - a), 2 * a * a / (1 + a)  # Hanley and McNeil, 1982
    error = math.sqrt((a * (1 - a) + (own - 1) * (q1 - a * a) + (rest - 1) * (q2 - a * a)) /
                      (own * rest))
    width = got["auc"]["high"] - got["auc"]["low"]
    expect(0.7 < width / (2 * 1.96 * error) < 1.4, f"auc: {width} against {error}")


def targets():
    source = random.Random(6)
    rows = [(source.randrange(-64, 64) / 64, source.randrange(-64, 64) / 64) for _ in range(50)]
    data = write("targets.csv", "\n".join(f"{a},{b}" for a, b in rows) + "\n")
    _, got = figures(PAIR, data, "mse,mae")
    squares = [(a - b) ** 2 for a, b in rows]
    mean = sum(squares) / 50
    half = 2.009575 * math.sqrt(sum((v - mean) ** 2 for v in squares) / 49 / 50)  # t of 49
    close(got["mse"]["value"], mean, "mse")
    close(got["mse"]["low"], mean - half, "mse low", 1e-5)
    close(got["mae"]["value"], sum(abs(a - b) for a, b in rows) / 50, "mae")
    expect(parsed("eval", PAIR, "--data", data, "--json")["metrics"][0]["metric"] == "mse", "")
    one = parsed("eval", PAIR, "--data", data, "--limit", "1", "--json")["metrics"][0]
    expect(one["low"] is None and one["high"] is None, one)


def constraints():
    """Shares of samples that satisfy a constraint, and the first that do not, by hand."""
    soft = write("soft.takt", "model m(x: f32[batch, 3]) semantics=godel {\n"
                 "  constraint all = forall i, j: x(i, j)\n"
                 "  constraint some weight=2 = exists i, j: x(i, j)\n  return x\n}\n")
    exact = write("exact.takt", "model m(x: f32[batch, 3]) {\n"
                  "  constraint all = forall i, j: x[i, j] > 0.5\n  return x\n}\n")
    fixed = write("fixed.takt", "model m(x: f32[4, 3]) semantics=godel {\n"
                  "  constraint all = forall i, j: x(i, j)\n  return x\n}\n")
    source = random.Random(5)
    table = [([source.randrange(128 if n % 3 else 64, 256) / 256 for _ in range(3)], 0)
             for n in range(42)]
    data = csv("truths.csv", table)
    least, most = [min(x) for x, _ in table], [max(x) for x, _ in table]

    def broken(name, step, is_exact):
        """The first ten tuples of `forall` that fail, or samples where there is no `forall`."""
        if name == "some":
            return [(n, [], v) for n, v in enumerate(most) if v < 0.5][:10]
        if is_exact:
            return [(n, [0, j], 0) for n, (x, _) in enumerate(table)
                    for j in range(3) if x[j] <= 0.5][:10]
        return [(n - n % step, [n % step, j], x[j]) for n, (x, _) in enumerate(table)
                for j in range(3) if x[j] < 0.5][:10]
    for model, truth in ((soft, {"all": least, "some": most}),
                         (exact, {"all": [float(v > 0.5) for v in least]}),
                         (fixed, {"all": [min(least[n:n + 4]) for n in range(0, 42, 4)]})):
        out = parsed("eval", model, "--data", data, "--json")
        step = 4 if model == fixed else 1
        expect([row["name"] for row in out["constraints"]] == list(truth), f"{out}")
        expect(out["samples_a_run"] == step, f"{out}")
        for row in out["constraints"]:
            want = truth[row["name"]]
            expect(out["runs"] == len(want), f"{out['runs']} runs")
            close(row["satisfied"], sum(v >= 0.5 for v in want) / len(want), "share")
            close(row["mean_truth"], sum(want) / len(want), "mean")
            bad = broken(row["name"], step, model == exact)
            expect([(e["sample"], e["tuple"], e["truth"]) for e in row["counterexamples"]] == bad,
                   f"{row}, not {bad}")
    text = succeeds("eval", soft, "--data", data)
    expect(re.search(r"counterexample of all: sample \d+, \(0, [012]\), truth", text), text)
    named = write("named.takt", 'domain part = ["left", "middle", "right"]\n'
                  "model m(x: f32[batch, part]) semantics=product {\n  relation on(part) = "
                  '[["left"], ["right"]]\n  constraint all = forall(p=2) i, j in part where '
                  "on(j): x(i, j)\n  return x\n}\n")
    text = succeeds("eval", named, "--data", data)
    expect("(0, left)" in text and "(0, right)" in text and "middle" not in text, text)
    twice = write("twice.takt", 'domain part = ["le\\"ft", "middle", "right"]\n'
                  "model m(x: f32[batch, part]) semantics=godel {\n"
                  + "".join(f"  constraint {name} = forall i, j in part: x(i, j)\n"
                            for name in ("one", "two")) + "  return x\n}\n")
    one, two = parsed("eval", twice, "--data", data, "--json")["constraints"]
    names = ['le"ft', "middle", "right"]
    want = [[0, names[j]] for x, _ in table for j in range(3) if x[j] < 0.5][:10]
    for row in (one, two):  # which share the truth of their tuples
        expect([e["tuple"] for e in row["counterexamples"]] == want, f"{row}, not {want}")
    out, rows = figures(soft, data, "top1")
    expect("top1" in rows, f"--metric asks for a metric all the same: {out}")


def mistakes():
    data = csv("bad.csv", [([0, 0, 0, 0, 0, 0], 6)] + draw(3, 6, 6))
    fails(2, "eval", SCORES, "--data", data, says=["sample 0 has the label 6", "for 6 classes"])
    fails(2, "eval", SCORES, "--data", data, "--metric", "top2", says=["did you mean top"])
    fails(2, "eval", SCORES, "--data", data, "--metric", "mse", says=["mse needs"])
    fails(2, "eval", SCORES, says=["--data"])


def steps():
    """The training step for plan, profile and benchmark."""
    data = csv("steps.csv", draw(300, 6, 3))
    net = write("steps.takt", "model steps(x: f32[batch, 6]) { h = dense(x, 16, act=relu) |> "
                "dropout(0.1)\n return dense(h, 3, act=softmax) }\n")
    plan = parsed("plan", net, "--train", "-D", "batch=8", "--json")
    weights = 4 * (6 * 16 + 16 + 16 * 3 + 3)
    memory = plan["training"]
    expect(weights <= memory["weights"] <= weights + 4 * 64, memory)
    expect(memory["optimizer"] >= 2 * weights, memory)
    expect(memory["activations"] > 0 and memory["gradients"] > 0, memory)
    expect("gradients" in succeeds("plan", net, "--train", "-D", "batch=8"), "no bytes")
    plain = parsed("plan", net, "--train", "--optimizer", "sgd", "-D", "batch=8", "--json")
    expect(plain["training"]["optimizer"] == 0, plain["training"])
    expect("training" not in parsed("plan", net, "-D", "batch=8", "--json"), "of inference")
    profile = parsed("profile", net, "--train", "-D", "batch=64", "--duration", "50ms", "--json")
    phases = profile["phases_ms"]
    expect(set(phases) == {"forward", "gradient", "optimizer"}, phases)
    expect(all(v > 0 for v in phases.values()), phases)
    for flags in ([], ["--data", data]):
        out = parsed("benchmark", "run", net, "--type", "training", "--batch-size", "128",
                     "--iterations", "20", "--json", *flags)
        parts = {key: value["mean"] for key, value in out["parts_ns"].items()}
        whole = parts.pop("iteration")
        expect(out["iterations"] == 20 and out["batch"] == 128, out)
        close(sum(parts.values()), whole, "parts of an iteration")
        expect(all(parts[key] > 0 for key in ("forward", "gradient", "optimizer")), parts)
    fails(2, "benchmark", "run", net, "--type", "training", "--batch-size", "1,2", says=["one"])


def picture(name):
    """A PNG that zlib can read: compressed, white, with smooth lines and letters."""
    with open(name, "rb") as file:
        data = file.read()
    expect(data[:8] == b"\x89PNG\r\n\x1a\n", "no PNG")
    at, found = 8, {}
    while at < len(data):
        size = int.from_bytes(data[at:at + 4], "big")
        body = data[at + 4:at + 8 + size]
        check = int.from_bytes(data[at + 8 + size:at + 12 + size], "big")
        expect(zlib.crc32(body) == check, f"the checksum of {body[:4]}")
        found[body[:4]] = body[4:]
        at += 12 + size
    width, height = (int.from_bytes(found[b"IHDR"][i:i + 4], "big") for i in (0, 4))
    rows = zlib.decompress(found[b"IDAT"])
    expect(len(rows) == height * (3 * width + 1) and len(data) < len(rows) // 20, len(data))
    pixels = [rows[i:i + 3] for y in range(height) for i in range(
        y * (3 * width + 1) + 1, (y + 1) * (3 * width + 1), 3)]
    expect(all(rows[y * (3 * width + 1)] == 0 for y in range(height)), "filters")
    expect(pixels.count(b"\xff\xff\xff") > 0.9 * len(pixels), "it is not white")
    line = b"\x25\x63\xc9"
    top = pixels[:width * height // 10]
    ink = top.count(b"\x1c\x23\x30")
    expect(pixels.count(line) > 500 and ink > 100, (pixels.count(line), ink))
    return top
    smooth = sum(p != line and p[2] > p[0] + 20 for p in pixels)
    expect(smooth > 100, "edges are hard")


def curve():
    data = csv("curve.csv", draw(300, 6, 3))
    net = write("curve.takt", "model curve(x: f32[batch, 6]) { return dense(x, 3) }\n")
    args = ["train", net, "--data", data, "--val-split", "0.2", "-q", "--checkpoint-every", "3",
            "--checkpoint", path("kept")]
    succeeds(*args, "--epochs", "4")
    log = os.path.join(path("kept"), "log.jsonl")
    with open(log) as lines:
        whole = [json.loads(line) for line in lines]
    checks = [row for row in whole if "validation_loss" in row]
    expect(len(whole) == 4 * 9 and len(checks) == 4, len(whole))
    with open(log, "a") as file:
        file.write('{"step": 33, "epoch": 5, "loss": 9, "rate": 1, "ms": 1}\n{"step": 34, "ep')
    succeeds(*args, "--epochs", "6", "--resume")
    with open(log) as lines:
        longer = [json.loads(line) for line in lines]
    steps_of = [row["step"] for row in longer if "loss" in row]
    expect(longer[:len(whole)] == whole and steps_of == list(range(1, 49)), steps_of)
    with open(os.path.join(path("kept"), "curve.svg")) as file:
        svg = file.read()
    expect(svg.startswith("<svg") and "validation" in svg and svg.count("<polyline") == 2, svg[:80])
    succeeds("train", net, "--data", data, "-q", "--curve", path("curve.png"))
    picture(path("curve.png"))
    succeeds("train", net, "--data", data, "-q", "--val-split", "0.2", "--epochs", "4", "--curve",
             path("both.png"))
    top = picture(path("both.png"))
    expect(top.count(b"\x25\x63\xc9") > 20 and top.count(b"\xc2\x41\x0c") > 20, "no legend")
    fails(2, "train", net, "--data", data, "--curve", path("curve.txt"), says=["curve.svg"])


classes()
interval_of_two()
targets()
constraints()
mistakes()
steps()
curve()
finish()
