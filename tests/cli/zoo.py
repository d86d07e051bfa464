"""zoo.py - models that come with Takt: what is listed is there, has its SHA-256, runs, and is made
again from its data with the same bits; and the commands of docs/zoo.md."""
import hashlib
import json
import os
import re

from _cli import ROOT, TMP, expect, fails, finish, parsed, path, succeeds, takt

DATA = os.environ.get("TAKT_DATA", os.path.join(ROOT, "..", "shared", "data"))
CLOTHES = "/usr/share/datasets/fashion-mnist"

# ---- what is listed ----

models = parsed("zoo", "list", "--json")
names = [m["name"] for m in models]
folders = sorted(d for d in os.listdir(os.path.join(ROOT, "zoo"))
                 if os.path.isdir(os.path.join(ROOT, "zoo", d)))
expect(names == folders and len(names) >= 7, f"zoo list has {names}, the folder {folders}")
for m in models:
    name = m["name"]
    expect(m["category"] in ("vision", "audio", "sensor"), f"{name}: {m['category']}")
    expect(m["data"] in ("real", "synthetic"), f"{name}: {m['data']}")
    text = succeeds("convert", f"zoo:{name}", "-o", "-")
    expect(hashlib.sha256(text.encode()).hexdigest() == m["sha256"], f"{name}: another SHA-256")
    lost = [float(m[key].split()[0]) for key in ("floats", "score")]
    expect(lost[0] - lost[1] <= 1, f"{name}: integers lose more than a point: {lost}")
    shown = succeeds("zoo", "show", name)
    expect(m["sha256"] in shown and f"model {name}(" in shown, f"zoo show {name}: {shown[:200]}")
    succeeds("run", f"zoo:{name}", "--random", "--quiet")
    expect(m["bytes"] < 100000, f"{name} has {m['bytes']} bytes")
expect(sum(m["bytes"] for m in models) < 4000000, "the zoo has more than 4 MB")

# ---- other formats, and what is refused ----

for ending in ("taktp", "onnx", "tflite", "takt"):
    succeeds("zoo", "get", "motor_fault", "-o", path(f"got.{ending}"), "--quiet")
    succeeds("run", path(f"got.{ending}"), "--random", "--quiet")
fails(2, "zoo", "get", "motor_falt", says=["motor_falt", "motor_fault"])
fails(2, "zoo", "show", "nothing", says=["zoo"])
fails(1, "run", "zoo:motor_falt", says=["did you mean motor_fault"])
fails(2, "zoo", "train", "gesture", "--data", path("nowhere"), says=["MNIST"])
fails(2, "zoo", "train", "anomaly_detect", "--data", os.path.join(ROOT, "docs"), says=["beats"])
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
run = takt("zoo", "train", "motor_fault", "--verify", env={"TAKT_ZOO": path("zoo")})
expect(run.returncode == 1, f"another SHA-256 verifies: {run.stdout}")

# ---- made again ----


def again(name, *flags):
    made = json.loads(succeeds("zoo", "train", name, "--verify", "--json", *flags) or "{}")
    listed = next(m for m in models if m["name"] == name)
    expect(made.get("same") is True and f"{made['score']:.2f} %" in listed["score"],
           f"{name}: {made}, listed {listed}")


again("motor_fault", "--threads", "1")
for name, folder in (("anomaly_detect", "ts"), ("sensor_fusion", "ts/BasicMotions")):
    if os.path.isdir(os.path.join(DATA, "data", folder)):
        again(name, "--data", DATA)

# ---- time ----

rows = parsed("benchmark", "zoo", "--json")
expect([r["name"] for r in rows] == names and all(r["ns"] > 0 and r["peak"] > 0 for r in rows),
       f"benchmark zoo: {rows}")
table = succeeds("benchmark", "zoo")
expect(all(name in table for name in names) and "seed 002" in table, table)

finish()
