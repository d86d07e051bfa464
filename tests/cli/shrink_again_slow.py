"""shrink_again_slow.py - reports of `quantize`, `prune` and `lowrank` are confirmed by a second
measurement.

200 random convolutional networks: each verb's result is valid and planned, and where its report
says "faster", models that run alternately again (`takt benchmark compare`) do not say "slower".
Then one model for each verb, and for `distill`, that becomes smaller and faster within its budget.
    shrink_again_slow.py [COUNT [FIRST]]
With a FIRST other than 0, networks alone: a long run can be made in pieces.
"""
import json
import os
import random
import sys

from _cli import expect, finish, npy, parsed, path, succeeds, takt, write

SIDE, CHANNELS = 16, 8
TYPES = ("int8", "w4a8", "int8", "w8")
COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 200
FIRST = int(sys.argv[2]) if len(sys.argv) > 2 else 0
THREAD = ("--threads", "1")


def stage(draw, width):
    """Adds one more stage after h, and returns its number of channels."""
    act, filters = draw.choice(("relu", "relu6", "sigmoid", "silu")), 8 * draw.randint(1, 6)
    return draw.choice((
        (f"h = {act}(conv(h, {width}) + h)", width),
        (f"h = concat(conv(h, {filters}, kernel=1), h, axis=1)", width + filters),
        (f"h = conv(h, {width}, groups={width}) |> batch_norm() |> {act}()", width),
        (f"h = h * sigmoid(conv(op.global_avg_pool(h), {width}, kernel=1))", width),
        (f"h = conv(h, {filters}, kernel=1) |> batch_norm()", filters),
        (f"h = conv(h, {filters}, act={act})", filters)))


def network(index):
    draw, lines, width = random.Random(index), ["h = conv(x, 32, act=relu)"], 32
    for _ in range(draw.randint(1, 4)):
        line, width = stage(draw, width)
        lines.append(line)
    end = draw.choice(("flatten(h)", "reduce_mean(h, axes=[2, 3])"))
    return (f"model m(x: f32[batch, {CHANNELS}, {SIDE}, {SIDE}]) seed={index} {{\n  "
            + "\n  ".join(lines) + f"\n  return dense({end}, 10)\n}}\n")


def verdict(before, after):
    """The verdict on the second model, and its time over the first's, with its interval."""
    run = takt("benchmark", "compare", before, after, *THREAD, "--json")
    if run.returncode not in (0, 3, 5):
        expect(False, f"compare {before} {after}: {run.stderr}")
        return "failed", [0, 0]
    told = json.loads(run.stdout)
    return told["verdict"], told["ci95"]


def one(index, calib, counts):
    model = write(f"again{index}.takt", network(index))
    for verb, flags in (("quantize", ("--calib", calib, "--type", TYPES[index % len(TYPES)])),
                        ("prune", ("--amount", "0.3")), ("lowrank", ("--energy", "0.6"))):
        made = path(f"again{index}-{verb}.taktp")
        run = takt(verb, model, *flags, *THREAD, "--json", "-o", made)
        if run.returncode != 0:  # no layer is measured faster
            expect("7502" in run.stdout + run.stderr, f"{verb} {model}: {run.stderr}")
            counts["left"] = counts.get("left", 0) + 1
            continue
        report = json.loads(run.stdout)
        succeeds("plan", made, *THREAD)
        told = report.get("time", report)["verdict"]
        again, between = verdict(model, made)
        counts[f"{told}, again {again}"] = counts.get(f"{told}, again {again}", 0) + 1
        expect(not (told == "faster" and again == "slower" and between[0] > 1.02),
               f"{verb} {model}: faster in the report, {between} again")
        os.remove(made)


draws = random.Random(1)
samples = write("again.npy", npy((4, CHANNELS, SIDE, SIDE),
                                 [draws.gauss(0, 1) for _ in range(4 * CHANNELS * SIDE * SIDE)]))
found = {}
for number in range(FIRST, FIRST + COUNT):
    one(number, samples, found)
print(", ".join(f"{n} {what}" for what, n in sorted(found.items())), flush=True)
if FIRST > 0:
    finish()
    sys.exit()

# ---- one model each: smaller, faster, and within its budget ----

wide = write("wide.takt", "model wide(x: f32[batch, 2]) seed=3 {\n  h = dense(x, 256, act=relu)\n"
             "  h = dense(h, 512, act=relu)\n  return dense(h, 3)\n}\n")
DATA = ("--data", "examples/spirals.csv")
succeeds("train", wide, *DATA, "--epochs", "15", "--lr", "3e-3", "--quiet", "-o", path("w.taktp"))
base = path("w.taktp")


def score(model):
    return parsed("eval", model, *DATA, "--json")["metrics"][0]["value"]


floats = score(base)
for verb, flags, drop in (
        ("quantize", ("--calib", "examples/spirals.csv", *DATA, "--accuracy-drop", "1%"), 0.01),
        ("prune", ("--amount", "0.5", "--finetune", "examples/spirals.csv", "--epochs", "12",
                   "--lr", "3e-3"), 0.01),
        ("lowrank", ("--rank", "32", "--keep", "dense_0|dense_2"), 0.02)):
    small = path(f"small-{verb}.taktp")
    succeeds(verb, base, *flags, *THREAD, "-o", small, "--quiet")
    word, ratio = verdict(base, small)
    expect(word == "faster" and os.path.getsize(small) < os.path.getsize(base),
           f"{verb}: {word} {ratio}, {os.path.getsize(small)} bytes")
    expect(score(small) >= floats - drop, f"{verb}: {score(small)} after {floats}")
    print(f"{verb}: {ratio} of the time, {os.path.getsize(small) / os.path.getsize(base):.2f} of "
          f"the bytes, {floats:.4f} before, {score(small):.4f} after", flush=True)
pupil = path("pupil.taktp")
succeeds("distill", "--teacher", base, "--student", "examples/spirals.takt", *DATA, "--epochs",
         "40", "--lr", "1e-2", "--quiet", "-o", pupil)
word, ratio = verdict(base, pupil)
expect(word == "faster" and os.path.getsize(pupil) < os.path.getsize(base),
       f"distill: {word} {ratio}")
expect(score(pupil) >= floats - 0.03, f"distill: {score(pupil)} after {floats}")
print(f"distill: {ratio} of the time, {floats:.4f} before, {score(pupil):.4f} after")
finish()
