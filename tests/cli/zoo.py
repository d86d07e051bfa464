"""zoo.py - models that come with Takt: every listed model exists, has its SHA-256, gives the digest
of tests/cli/zoo.tsv, and is reproduced from its data bit for bit; and the commands of docs/zoo.md.
zoo_slow.py trains all of them again."""
import hashlib
import json
import os
import re
import signal
import struct
import subprocess
import time

from _cli import CLEAN, ROOT, TMP, TOOL, expect, fails, finish, parsed, path, succeeds, takt

DATA = os.environ.get("TAKT_DATA", os.path.join(ROOT, "..", "shared", "data"))

# ---- what is listed ----

with open(os.path.join(ROOT, "tests", "cli", "zoo.tsv"), encoding="utf-8") as f:
    digests = dict(line.rstrip("\n").split("\t") for line in f if line[0] != "#")
with open(os.path.join(ROOT, "docs", "zoo.md"), encoding="utf-8") as f:
    page = f.read()
models = parsed("zoo", "list", "--json")
names = [m["name"] for m in models]
folders = sorted(d for d in os.listdir(os.path.join(ROOT, "zoo"))
                 if os.path.isdir(os.path.join(ROOT, "zoo", d)))
expect(names == folders == sorted(digests), f"zoo list has {names}, the folder {folders}")
expect(len(names) == 30, f"there are {len(names)} models, not thirty")
KINDS = ("real", "recomposed", "derived", "synthetic")


def figure(score):
    """97.6 of "97.60 % of 125", 0.853 of "F1 0.853 of 960", 0.03 of "MAE 0.0312"."""
    return float(re.search(r"[\d.]+", score.split()[1] if score[0] in "FM" else score).group())


for m in models:
    name = m["name"]
    expect(m["category"] in ("vision", "audio", "sensor", "text"), f"{name}: {m['category']}")
    expect(m["data"] in KINDS, f"{name}: {m['data']}")
    text = succeeds("convert", f"zoo:{name}", "-o", "-")
    expect(hashlib.sha256(text.encode()).hexdigest() == m["sha256"], f"{name}: another SHA-256")
    before, after = figure(m["floats"]), figure(m["score"])
    if m["score"].startswith("MAE"):
        expect(after <= 1.1 * before, f"{name}: integers lose more than a tenth: {m}")
        expect(not m["chance"] or after < figure(m["chance"]), f"{name}: no better than chance")
    else:
        point = 0.0101 if m["score"].startswith("F1") else 1
        expect(before - after <= point, f"{name}: integers lose more than a point: {m}")
        expect(not m["chance"] or after > figure(m["chance"]), f"{name}: no better than chance")
    shown = succeeds("zoo", "show", name)
    expect(m["sha256"] in shown and f"model {name}(" in shown, f"zoo show {name}: {shown[:200]}")
    digest = parsed("run", f"zoo:{name}", "--random", "--seed", "1", "--json")["digest"]
    expect(digest == "sha256:" + digests[name], f"{name}: {digest} is not the one in zoo.tsv")
    expect(m["bytes"] < 100000, f"{name} has {m['bytes']} bytes")
    row = f"| `{name}` | {m['category']} | {m['task']} | {m['data']}: "
    expect(row in page and f"| {m['floats']} | {m['score']} |" in page, f"docs/zoo.md lacks {row}")
expect(sum(m["bytes"] for m in models) < 4000000, "the zoo has more than 4 MB")

# ---- other formats, and refusals ----

for ending in ("taktp", "onnx", "tflite", "takt"):
    succeeds("zoo", "get", "motor_fault", "-o", path(f"got.{ending}"), "--quiet")
    succeeds("run", path(f"got.{ending}"), "--random", "--quiet")
fails(2, "zoo", "get", "motor_falt", says=["motor_falt", "motor_fault"])
fails(2, "zoo", "show", "nothing", says=["zoo"])
fails(1, "run", "zoo:motor_falt", says=["did you mean zoo:motor_fault?"])
fails(2, "zoo", "train", "gesture", "--data", path("nowhere"), says=["MNIST"])
told = succeeds("zoo", "train", "motor_fault", "--samples", path("motor"))
expect(path("motor/train.npz") in told, f"--samples does not say what it wrote: {told}")
for part, rows in (("train", 4), ("test", 1)):
    expect(os.path.getsize(path(f"motor/{part}.npz")) > 100000 * rows, f"--samples: {part}.npz")
for flags in (("--verify",), ("-o", path("no.taktp"))):
    fails(2, "zoo", "train", "motor_fault", "--samples", path("none"), *flags,
          says=["--samples trains nothing", flags[0]])
    expect(not os.path.exists(path("none")), f"--samples with {flags[0]} writes")
for where in ("motor/train.npz", "motor/train.npz/below"):
    fails(1, "zoo", "train", "motor_fault", "--samples", path(where), says=["train.npz"])
fails(2, "zoo", "train", "motor_fault", "--samples", path("long/" + "/".join(["x" * 99] * 6)),
      says=["--samples", "at most 511 fit"])
os.makedirs(path("digits"), exist_ok=True)
fails(2, "zoo", "train", "gesture", "--data", path("digits"), "--samples", path("motor"),
      says=["samples already"])
NOTHING = path("nothing")
os.makedirs(NOTHING, exist_ok=True)
for name, kind in (("anomaly_detect", "beats"), ("sensor_fusion", "motions"), ("gait", "gait"),
                   ("keyword_spot", "digits"), ("ocr", "strings"), ("face_detect", "faces"),
                   ("sentiment", "moods"), ("named_entity", "entities")):
    fails(2, "zoo", "train", name, "--data", NOTHING, says=[kind])
fails(2, "zoo", "train", "motor_fault", "--verify", "--data", NOTHING, says=["made by code"])
with open(os.path.join(NOTHING, "hmp.tar.gz"), "wb") as f:
    f.write(b"\x1f\x8b\x08\x00 no archive")
fails(2, "zoo", "train", "gait", "--data", NOTHING, says=["gait"])
with open(os.path.join(NOTHING, "0_lucas_1.wav"), "wb") as f:
    f.write(b"RIFF")
fails(2, "zoo", "train", "vad", "--data", NOTHING, says=["voice"])

# Labels that Fashion-MNIST does not have, and groups of classes without a picture.
for label in (0, 9, 10, 200):
    WRONG = path(f"labels{label}")
    os.makedirs(WRONG, exist_ok=True)
    for part in ("train", "t10k"):
        with open(os.path.join(WRONG, f"{part}-images-idx3-ubyte"), "wb") as f:
            f.write(struct.pack(">4I", 0x803, 20, 28, 28) + bytes(20 * 784))
        with open(os.path.join(WRONG, f"{part}-labels-idx1-ubyte"), "wb") as f:
            f.write(struct.pack(">2I", 0x801, 20) + bytes([label]) * 20)
    fails(2, "zoo", "train", "scene", "--data", WRONG, says=["scenes"])
fails(2, "zoo", "train", "ocr", "--data", WRONG, says=["strings"])
expect(takt("zoo", "list", env={"TAKT_ZOO": path("no-zoo")}).returncode == 2,
       "a zoo that is not there is listed")

# A file that was changed is not handed out.
broken = path("zoo/motor_fault")
os.makedirs(broken, exist_ok=True)
for name in ("motor_fault.taktp", "motor_fault.takt", "recipe"):
    with open(os.path.join(ROOT, "zoo", "motor_fault", name), "rb") as f:
        content = f.read()
    if name == "recipe":
        content = re.sub(rb"sha256: .", b"sha256: x", content)
    with open(os.path.join(broken, name), "wb") as f:
        f.write(content)
run = takt("zoo", "get", "motor_fault", "-o", path("no.taktp"), env={"TAKT_ZOO": path("zoo")})
expect(run.returncode == 1 and "SHA-256" in run.stderr and not os.path.exists(path("no.taktp")),
       f"a wrong SHA-256: {run.returncode}, {run.stderr}")

# ---- made again ----


def again(name, *flags, env=None):
    run = takt("zoo", "train", name, "--verify", "--json", *flags, env=env)
    return run.returncode, json.loads(run.stdout or "{}")


code, made = again("intent", "--threads", "1", "-o", path("intent.onnx"))
listed = next(m for m in models if m["name"] == "intent")
expect(code == 0 and made["same"] and f"{made['score']:.2f} %" in listed["score"],
       f"intent: {made}, listed {listed}")
succeeds("run", path("intent.onnx"), "--random", "--quiet")
code, made = again("motor_fault", env={"TAKT_ZOO": path("zoo")})
expect(code == 1 and not made["same"], f"another SHA-256 verifies: {made}")

# A signal ends the training, and leaves nothing behind.
place = path("interrupted")
os.makedirs(place, exist_ok=True)
with subprocess.Popen([TOOL, "zoo", "train", "pose"], cwd=ROOT,
                      env={**CLEAN, "TMPDIR": place}, stdout=subprocess.DEVNULL,
                      stderr=subprocess.PIPE, text=True) as run:
    end = time.monotonic() + 60
    while not os.listdir(place) and run.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.5)
    run.send_signal(signal.SIGTERM)
    said = run.communicate(timeout=60)[1]
expect(run.returncode == 130 and not os.listdir(place),
       f"interrupted: {run.returncode}, {os.listdir(place)}, {said}")

# ---- time ----

rows = parsed("benchmark", "zoo", "--json")
expect([r["name"] for r in rows] == names and
       all(r["ns"] > 0 and r["peak"] >= r["arena"] and r["parameters"] > 0 for r in rows),
       f"benchmark zoo: {rows}")
for r in rows:
    expect(r["below_100_kb"] == (r["bytes"] < 100000) and r["below_2_ms"] == (r["ns"] < 2e6),
           f"benchmark zoo: {r}")
table = succeeds("benchmark", "all30", "--category", "text")
expect("sentiment" in table and "seed 002" in table and "gesture" not in table, table)
fails(2, "benchmark", "zoo", "--category", "smell", says=["smell", "audio"])

finish()
