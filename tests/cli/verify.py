"""verify.py - `takt verify`: verdicts, counterexamples, exit codes, and bounds stored from other
tools."""
import gzip
import hashlib
import json
import os
import signal
import subprocess
import time

from _cli import (ROOT, TOOL, expect, fails, finish, npy, parsed, path, read_npy, succeeds, takt,
                  write)

DATA = os.path.join(os.environ.get("TAKT_DATA", os.path.join(ROOT, "..", "shared", "data")), "vnn")
ONE = ("--threads", "2")
NET = write("net.takt", "model net(x: f32[1, 2]) -> f32[1, 2] {\n"
            "  a = x[:, 0:1]\n  b = x[:, 1:2]\n  low = relu(b - a)\n"
            "  return concat(relu(a + b) + low, low, axis=1)\n}\n")


def prop(name, low, high, *asserts):
    """Two inputs between `low` and `high`, two outputs."""
    text = "".join(f"(declare-const {v} Real)\n" for v in ("X_0", "X_1", "Y_0", "Y_1"))
    for i in range(2):
        text += f"(assert (>= X_{i} {low}))\n(assert (<= X_{i} {high}))\n"
    return write(name, text + "".join(f"(assert {a})\n" for a in asserts))


# ---- verdicts ----

# y0 = relu(a + b) + relu(b - a), y1 = relu(b - a): y0 >= y1 always.
HOLDS = prop("holds.vnnlib", -1, 1, "(<= Y_0 (- Y_1 0.001))")
BROKEN = prop("broken.vnnlib", -1, 1, "(>= Y_1 1.5)")
EMPTY = prop("empty.vnnlib", 1, -1, "(>= Y_1 0)")
said = succeeds("verify", NET, "--property", HOLDS)
expect("proved for the bits of f32" in said, said)
report = parsed("verify", NET, "--property", HOLDS, "--arithmetic", "real", "--json")
expect(report["verdict"] == "proved" and report["arithmetic"] == "real", report)
expect("no input" in succeeds("verify", NET, "--property", EMPTY), "an empty box")
WITNESS, CONTEST = path("witness.npy"), path("contest.txt")
run = takt("verify", NET, "--property", BROKEN, "--counterexample", WITNESS, "--vnncomp", CONTEST)
expect(run.returncode == 1 and "violated by" in run.stdout and WITNESS in run.stdout, run)
with open(CONTEST, encoding="ascii") as file:
    lines = file.read().splitlines()
expect(lines[0] == "sat" and lines[1].startswith("((X_0 ") and lines[-1].endswith("))"), lines)
OUT = path("out.npy")
succeeds("run", NET, "--input", f"x={WITNESS}", "-o", OUT, "--quiet")
with open(OUT, "rb") as file:
    values = read_npy(file.read())[1]
expect(values[-1] >= 1.5, f"takt run breaks it: {values}")
succeeds("verify", NET, "--property", HOLDS, "--vnncomp", CONTEST)
with open(CONTEST, encoding="ascii") as file:
    expect(file.read() == "unsat\n", "the contest's word")
run = takt("verify", NET, "--property", HOLDS, "--method", "ibp")
expect(run.returncode == 5 and "best bound" in run.stdout, f"intervals alone: {run}")

# A few relus, and something that no split of relus settles: two half-spaces, or curves.
BOTH = prop("both.vnnlib", -1, 1, "(>= Y_0 0.1)", "(>= Y_1 0.1)")
CURVED = prop("curved.vnnlib", -1, 1, "(>= Y_0 1.05)")
for body, given in (("h, -h", BOTH), ("sigmoid(9 * h) + sigmoid(-9 * h), h", CURVED)):
    net = write("few.takt", "model few(x: f32[1, 2]) -> f32[1, 2] {\n  a = x[:, 0:1]\n"
                f"  h = relu(a + 2) - 2\n  return concat({body}, axis=1)\n}}\n")
    said = takt("verify", net, "--property", given)
    expect(said.returncode == 0, f"{body} by splits of inputs: {said.stdout}{said.stderr}")

# The last op is a relu. Where it is on, its slope is 1. Where it is open, the part in which it is
# off has nothing of the property left, and is proved by splits that show it to be empty.
TIE = prop("tie.vnnlib", -1, 1, "(>= Y_0 Y_1)")
for body, method in (("relu(a + 0.1) + relu(-a - 0.1) + 0.3", "alpha"),
                     ("relu(a) - relu(a - 0.5) + 0.1", "search")):
    net = write("last.takt", "model last(x: f32[1, 2]) -> f32[1, 2] {\n  a = x[:, 0:1]\n"
                f"  return relu(concat(x[:, 1:2] - 2, {body}, axis=1))\n}}\n")
    said = takt("verify", net, "--property", TIE, "--method", method)
    expect(said.returncode == 0, f"{body} and a relu: {said.stdout}{said.stderr}")



def wide(count, least):
    """Inputs from -0.3 to 0.3, and one output that is never `least` or more."""
    return write("wide.vnnlib", "".join(
        f"(declare-const X_{i} Real)\n(assert (<= X_{i} 0.3))\n(assert (>= X_{i} -0.3))\n"
        for i in range(count)) + f"(declare-const Y_0 Real)\n(assert (>= Y_0 {least}))\n")


# Where the last relu is off, the claim follows from that side alone, which depends on the others.
SIDES = write("sides.takt", "model sides(x: f32[1, 4]) seed=35 {\n"
              "  h = relu(dense(relu(dense(x, 8) - 0.1), 3))\n"
              "  return dense(x, 1) - 9 * relu(dense(h, 1))\n}\n")
said = takt("verify", SIDES, "--property", wide(4, 0.5546))
expect(said.returncode == 0, f"relus of a side: {said.stdout}{said.stderr}")
# The proof on the whole box counts for the margin too: 0.3 is smaller than the margins of the
# splits.
PAIR = write("margins.takt", "model margins(x: f32[1, 4]) seed=35 {\n"
             "  h = relu(dense(relu(dense(x, 8) - 0.1), 3))\n"
             "  return concat(x[:, 0:1], dense(x, 1) - 9 * relu(dense(h, 1)), axis=1)\n}\n")
with open(wide(4, 0), encoding="ascii") as file:
    lines = file.read().splitlines()[:-1]
given = write("margins.vnnlib", "\n".join(lines) + "\n(declare-const Y_1 Real)\n"
              "(assert (or (and (>= Y_0 0.30002)) (and (>= Y_1 0.555))))\n")
report = parsed("verify", PAIR, "--property", given, "--json")
expect(report["regions"] > 1 and 0 < report["bound"] < 2.1e-5, f"a margin of two: {report}")
# Lines cut off parts that hold with an unknown margin: the largest output is 0.2931.
CUTS = write("cuts.takt", "model cuts(x: f32[1, 2]) seed=4 {\n"
             "  h = leaky_relu(dense(leaky_relu(dense(x, 6), slope=1.5), 5), slope=1.5)\n"
             "  return dense(h, 1)\n}\n")
report = parsed("verify", CUTS, "--property", wide(2, 0.2961), "--json")
expect(report["verdict"] == "proved" and 0 <= report["bound"] < 0.00301, f"cut off: {report}")
# A leaky relu that falls below 0: its slopes are negative, and it is split nevertheless. The
# largest y0 of 24 inputs is between the two bounds; lines alone prove 1.15.
FALLS = write("falls.takt", "model falls(x: f32[1, 24]) seed=1 {\n"
              "  h = leaky_relu(dense(x, 10), slope=-0.1)\n"
              "  return dense(leaky_relu(dense(h, 8), slope=-0.1), 1)\n}\n")
for least, verdict in ((0.755, 0), (0.74, 1)):
    said = takt("verify", FALLS, "--property", wide(24, least), "--counterexample", WITNESS)
    expect(said.returncode == verdict, f"{least}: {said.stdout}{said.stderr}")
TURNS = write("turns.takt", "model turns(x: f32[1, 2]) -> f32[1, 2] {\n"
              "  return leaky_relu(x, slope=-1)\n}\n")
said = takt("verify", TURNS, "--property", prop("turns.vnnlib", -1, 1, "(<= Y_0 -0.001)"))
expect(said.returncode == 0, f"a slope of -1: {said.stdout}{said.stderr}")

# ---- nets that sense rounding (after arXiv 2506.01054): true of reals, false of f32 ----

BITS = prop("bits.vnnlib", 1.25, 2, "(>= Y_0 0.2)")
for body in ("(x + 1e8) - 1e8 - x", "relu(x - ((x + 16777216) - 16777216))",
             "x - ((x * 1e-30) * 1e-20) * 1e25 * 1e25", "(x * 3e38) / 3e38 - x",
             "(x * 2.5e38 - 3e38) / 2.5e38 - x + 1.2",
             "op.reduce_sum(concat(x - x + 1e8, x, x - x - 1e8, -x, axis=0), axes=[0], keep=true)"):
    net = write("bits.takt", f"model bits(x: f32[1, 2]) {{\n  return abs({body})\n}}\n")
    run = takt("verify", net, "--property", BITS, "--counterexample", path("bits.npy"))
    expect(run.returncode in (1, 5), f"{body} is not proved for f32: {run.stdout}{run.stderr}")
    run = takt("verify", net, "--property", BITS, "--arithmetic", "real")
    expect(run.returncode == 0, f"{body} is proved for real numbers: {run.stdout}{run.stderr}")

# ---- certificates ----

PROOF = path("proof.cert")
LINEAR = write("linear.takt", "model linear(x: f32[1, 2]) -> f32[1, 2] {\n"
               "  return relu(x) + relu(-x)\n}\n")
SPLIT = prop("split.vnnlib", -1, 1, "(>= Y_0 1.01)")
said = succeeds("verify", LINEAR, "--property", SPLIT, "--certificate", PROOF)
expect(f"certificate: {PROOF}" in said, said)
expect("confirmed" in succeeds("verify", LINEAR, "--property", SPLIT, "--check", PROOF), "check")
said = takt("verify", LINEAR, "--property", HOLDS, "--check", PROOF)
expect(said.returncode != 0 and "another property" in said.stderr, said)
said = takt("verify", NET, "--property", SPLIT, "--check", PROOF)
expect(said.returncode != 0 and "another model" in said.stderr, said)
with open(PROOF, encoding="ascii") as file:
    text = file.read()
for damaged in (text[:-3], text.replace("leaf", "laef"), text + "x", ""):
    said = takt("verify", LINEAR, "--property", SPLIT, "--check", write("bad.cert", damaged))
    expect(said.returncode != 0 and "damaged" in said.stderr, f"damage: {said}")
said = succeeds("verify", NET, "--property", HOLDS, "--certificate", PROOF)
expect("no certificate: the checker does not know" in said, said)

# Splits of relus, for more than 20 inputs.
WIDE = write("wide.takt", "model wide(x: f32[1, 24]) seed=3 {\n  h = dense(x, 16, act=relu)\n"
             "  h = dense(h, 16, act=relu)\n  return dense(h, 3)\n}\n")
SPOT = path("spot.npy")
succeeds("run", write("spot.takt", "model p(x: f32[1, 24]) {\n  return tanh(x)\n}\n"),
         "--seed", "5", "-o", SPOT)
AROUND = ("verify", WIDE, "--input", SPOT, "--eps", "0.06", "--timeout", "600")
said = parsed(*AROUND, "--json", "--threads", "1", "--certificate", PROOF)
expect(said["verdict"] == "proved" and said["regions"] > 3, f"by splits: {said}")
again = parsed(*AROUND, "--json", "--threads", "3", "--certificate", PROOF)
expect(again["regions"] == said["regions"], f"the same splits by three threads: {again}")
expect("confirmed" in succeeds(*AROUND, "--check", PROOF), "check")
with open(PROOF, encoding="ascii") as file:
    lines = file.read().splitlines()[:-1]
expect(any(l.startswith("relu ") for l in lines), "a relu is split")


def sealed(changed):
    """The certificate with these lines, and a matching seal."""
    body = "".join(line + "\n" for line in changed)
    digest = hashlib.sha256(body.encode()).hexdigest()
    return write("changed.cert", f"{body}end {digest}\n")


expect("confirmed" in succeeds(*AROUND, "--check", sealed(lines)), "the same seal")
for number, line in enumerate(lines):
    if line.startswith(("relu ", "leaf", "beta ")):  # else it is not a proof, or not read
        said = takt(*AROUND, "--check", sealed(lines[:number] + lines[number + 1:]))
        lost = line.startswith("beta ")  # the slopes alone may be enough
        expect(said.returncode != 0 or lost, f"without {line}: {said}")

# ---- around an input ----

POINT = write("point.npy", npy([1, 2], [0.25, 0.75]))
succeeds("verify", NET, "--input", POINT, "--eps", "0.1")
run = takt("verify", NET, "--input", POINT, "--eps", "2", "--counterexample", WITNESS)
expect(run.returncode == 1, f"too far: {run}")
succeeds("verify", NET, "--input", POINT, "--eps", "0.2", "--norm", "2")

# ---- a data set ----

FLOWERS = write("flowers.csv", "a,b,label\n0.25,0.75,0\n0.75,0.25,1\n-0.5,0.5,0\n")
counts = parsed("verify", NET, "--data", FLOWERS, "--eps", "0.01", "--json")
expect(counts == {"samples": 3, "clean": 2, "certified": 1, "attacked": 1}, counts)
expect("2 have the right class" in succeeds("verify", NET, "--data", FLOWERS, "--eps", "0.01"),
       "in words")

# A sample interrupted by Ctrl-C is not counted, and the exit code says that some are missing.
HARD = write("hard.takt", "model hard(x: f32[1, 24]) seed=3 {\n  h = dense(x, 90, act=relu)\n"
             "  h = dense(h, 90, act=relu)\n  return dense(dense(h, 90, act=relu), 3)\n}\n")
ROW = ",".join(str((k * 37 % 64) / 64) for k in range(24))
MANY = write("many.csv", ",".join(f"c{k}" for k in range(24)) + ",label\n" +
             "".join(f"{ROW},{k % 3}\n" for k in range(9)))
signal.signal(signal.SIGINT, signal.default_int_handler)  # a child would inherit "ignored"
for delay in (0.5, 2, 8, 32):  # until it has begun
    with subprocess.Popen([TOOL, "verify", HARD, "--data", MANY, "--eps", "0.3", "--json", *ONE],
                          stdout=subprocess.PIPE, text=True) as process:
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=100)[0]
    if process.returncode >= 0:
        counts = json.loads(said)
        expect(process.returncode == 5 and counts["samples"] < 9, f"{process.returncode}: {said}")
        break

# Relus are tried before one is split: by their losses alone this takes 2,476 parts.
said = parsed("verify", HARD, "--input", SPOT, "--eps", "0.08", "--timeout", "600", "--json", *ONE)
expect(said["verdict"] == "proved" and said["regions"] < 800, f"few parts: {said}")

# ---- little memory: the best bound that fits ----

bounds = {}
for size in ("800K", "2M", "64M"):
    run = takt("verify", HARD, "--input", SPOT, "--eps", "0.3", "--method", "alpha", "--max-ram",
               size, "--json", *ONE)
    expect(run.returncode == 5, f"{size}: {run}")
    said = json.loads(run.stdout)
    bounds[size] = said["bound"]
    expect(said["regions"] == 1 and ("memory ran out" in said.get("note", "")) == (size != "64M"),
           f"{size}: {said}")
expect(bounds["800K"] < bounds["2M"] < bounds["64M"] < 0, f"intervals, lines, slopes: {bounds}")
fails(1, "verify", HARD, "--input", SPOT, "--eps", "0.3", "--max-ram", "300K",
      says=("out of memory",))

# ---- mistakes ----

fails(2, "verify", NET, says=("a property or an input",))
fails(2, "verify", NET, "--property", HOLDS, "--input", POINT, says=("not both",))
fails(2, "verify", NET, "--property", HOLDS, "--method", "magic", says=("ibp, crown, alpha",))
fails(2, "verify", NET, "--property", HOLDS, "--arithmetic", "f12", says=("f32 or real",))
fails(2, "verify", NET, "--input", POINT, "--eps", "-1", says=("not negative",))
fails(2, "verify", NET, "--input", POINT, "--eps", "1", "--norm", "7", says=("norm is",))
for text, words in (("(assert", "is expected"), ("(assert (<= Z 0))", "nor declared")):
    bad = write("bad.vnnlib", text)
    run = takt("verify", NET, "--property", bad)
    expect(run.returncode in (1, 2, 3, 4) and words in run.stderr, f"{text}: {run}")

# ---- maxima: linear bounds are within those of intervals ----

for seed in range(1, 7):
    window, act = 2 + seed % 2, ("", ", act=relu", ", act=tanh")[seed % 3]
    last = "dense(flatten(h), 3)" if seed % 2 else "flatten(h)"
    pools = write("pools.takt", f"model pools(x: f32[1, 1, 6, 6]) seed={seed} {{\n"
                  f"  h = conv2d(x, 2, kernel=3{act})\n"
                  f"  h = max_pool(h, kernel={window}, stride={1 + seed % 2})\n"
                  f"  return {last}\n}}\n")
    point = write("pools.npy", npy((1, 1, 6, 6), [((i * 37 + seed * 11) % 64 - 32) / 32
                                                  for i in range(36)]))
    by = [json.loads(takt("verify", pools, "--input", point, "--eps",
                          str((0.05, 0.3, 1)[seed % 3]), "--method", method, "--arithmetic",
                          "real", "--json", *ONE).stdout)
          for method in ("ibp", "crown", "alpha")]
    for better in by[1:]:
        for low, high, least, most in zip(by[0]["lower"], by[0]["upper"], better["lower"],
                                          better["upper"]):
            room = 1e-9 * (abs(low) + abs(high) + 1)
            expect(least >= low - room and most <= high + room,
                   f"pools {seed}: [{least}, {most}] beyond [{low}, {high}]")


# ---- results of others ----

if not os.path.isdir(DATA):
    print("skipped: no ../shared/data/vnn")
    finish()


def widths(entry):
    return [u - l for l, u in zip(entry["lower"], entry["upper"])]


with gzip.open(os.path.join(DATA, "lirpa_bounds.json.gz"), "rt") as file:
    stored = json.load(file)["bounds"]
METHODS = {"IBP": "ibp", "CROWN": "crown", "CROWN-Optimized": "alpha"}
keys = [k for k in stored if METHODS[k.split()[2]] != "alpha"]
EVERY = 1 if os.environ.get("TAKT_ALL") else 31  # a sample: each takes a start of the command
with gzip.open(os.path.join(DATA, "lirpa_alpha.json.gz"), "rt") as file:
    better = json.load(file)["bounds"]
stored.update(better)
chosen = keys[::EVERY] + [k for k in better if "acasxu" in k][:None if EVERY == 1 else 2]
for key in chosen:
    net, spec, method = key.split()
    for arithmetic, factor in (("real", 1.01), ("f32", 1.02)):
        mine = json.loads(takt("verify", os.path.join(DATA, net), "--property",
                               os.path.join(DATA, spec + ".gz"), "--method", METHODS[method],
                               "--arithmetic", arithmetic, "--json", *ONE).stdout)
        for own, other in zip(widths(mine), widths(stored[key])):
            expect(own <= factor * other + 1e-9, f"{key} {arithmetic}: {own} against {other}")
verdicts = []
with open(os.path.join(DATA, "acasxu_nnenum_25s.txt"), encoding="ascii") as file:
    for line in file:
        words = line.split()
        if len(words) == 4:
            verdicts.append(words[:3])
CODES = {"holds": (0, 5), "violated": (1, 5)}
decided = 0
for net, spec, verdict in verdicts[::1 if os.environ.get("TAKT_ALL") else 20]:
    run = takt("verify", os.path.join(DATA, "acasxu", net), "--property",
               os.path.join(DATA, "acasxu", spec + ".gz"), "--counterexample", WITNESS,
               "--timeout", os.environ.get("TAKT_TIMEOUT", "0.7"), *ONE)
    expect(run.returncode in CODES[verdict], f"{net} {spec}: {run.stdout}, nnenum: {verdict}")
    decided += run.returncode != 5
# Here a part that is too narrow to split is reached long before an input that violates the
# property.
began = time.monotonic()
run = takt("verify", os.path.join(DATA, "acasxu", "ACASXU_run2a_1_2_batch_2000.onnx"), "--property",
           os.path.join(DATA, "acasxu", "prop_2.vnnlib.gz"), "--counterexample", WITNESS,
           "--timeout", "3", *ONE)
expect(run.returncode == 1 or time.monotonic() - began > 2.9, f"gave up early: {run.stdout}")
# Splits follow the loss of lines: 400 boxes, against 18,000 by the widest input. The violations of
# property 7 lie on a side of the box.
for net, spec, code, most in (("1_7", "prop_2", 0, 1000), ("1_9", "prop_7", 1, 4000)):
    run = takt("verify", os.path.join(DATA, "acasxu", f"ACASXU_run2a_{net}_batch_2000.onnx"),
               "--property", os.path.join(DATA, "acasxu", spec + ".vnnlib.gz"),
               "--counterexample", WITNESS, "--timeout", "60", "--json", *ONE)
    expect(run.returncode == code, f"{net} {spec}: {run.stdout}")
    expect(json.loads(run.stdout)["regions"] <= most, f"{net} {spec}: {run.stdout}")
print(f"{decided} of nnenum's verdicts found again")
expect(decided > 0, "nothing was decided")
finish()
