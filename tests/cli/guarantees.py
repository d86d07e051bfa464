"""guarantees.py - the commands of docs/guarantees.md work; clauses and `takt check` from outside.
"""
import os
import re
import subprocess

from _cli import CLEAN, ROOT, TMP, TOOL, expect, fails, finish, parsed, path, succeeds, takt

# ---- the page ----

with open(os.path.join(ROOT, "docs", "guarantees.md"), encoding="utf-8") as file:
    page = file.read()
blocks = re.findall(r"^```sh( fails| differs| cancels| violated)?\n(.*?)^```", page,
                    re.DOTALL | re.MULTILINE)
expect(len(blocks) >= 6, "the page has lost its commands")
folder = os.path.join(TMP, "page")
os.makedirs(os.path.join(folder, "build"), exist_ok=True)
for name, target in (("examples", os.path.join(ROOT, "examples")),
                     ("build/takt", os.path.abspath(TOOL))):
    link = os.path.join(folder, name)
    if os.path.lexists(link):
        os.remove(link)
    os.symlink(target, link)
for mark, block in blocks:
    for line in filter(None, block.splitlines()):
        run = subprocess.run(["sh", "-ec", line], cwd=folder, env=CLEAN, text=True,
                             capture_output=True, timeout=120, check=False)
        if mark == " differs":
            expect(run.returncode == 1 and "first: h (gelu)" in run.stdout and
                   "attribute or semantics" in run.stdout, f"{line}: {run}")
        elif mark == " cancels":
            expect(run.returncode == 1 and "first: h (sub): cancellation" in run.stdout,
                   f"{line}: {run}")
        elif mark == " violated":
            expect(run.returncode == 1 and "counterexample.npy" in run.stdout, f"{line}: {run}")
        elif mark:
            expect(run.returncode == 1 and "ensure y < 2" in run.stderr and
                   "line 3" in run.stderr, f"{line}: exit {run.returncode}: {run.stderr}")
        else:
            expect(run.returncode == 0, f"{line}: exit {run.returncode}: {run.stderr}")
proved = page[page.index("## What *proved*"):page.index("## Clauses")].split("\n", 1)[1]
expect(len(re.findall(r"[.](?=\s|$)", proved)) == 5, "five sentences say what proved means")

# ---- clauses ----

model = path("clause.takt")
with open(model, "w", encoding="utf-8") as file:
    file.write('model m(x: f32[n, 2]) {\n  require x > 0, "positive"\n  y = x * 60000\n'
               '  ensure y < 1e9\n  return y\n}\n')
fails(1, "run", model, says=("error[TAKT5010]", "require x > 0 (line 2)", "positive"))
succeeds("run", model, "--checks", "off")
fails(1, "run", model, "--checks", "sample=5", says=("TAKT5010",))
fails(2, "run", model, "--checks", "sample=0", says=("sample=100",))
fails(2, "run", model, "--checks", "perhaps", says=("on or off",))
outputs = parsed("run", model, "--checks", "off", "--json")["outputs"]
expect(list(outputs) == ["out"], f"clauses are not outputs: {list(outputs)}")
steps = [len(parsed("plan", model, "--json", "--checks", word)["steps"]) for word in ("on", "off")]
expect(steps[0] > steps[1], f"steps with and without clauses: {steps}")

# ---- check ----

run = takt("check", model)
expect(run.returncode == 5 and "may overflow" in run.stdout, f"check: {run}")
rows = takt("check", model, "--json")
expect('"may": 2' in rows.stdout or '"may":2' in rows.stdout, rows.stdout)
fails(2, "check", model, "--precision", "f12", says=("f16, bf16, f32 or int8",))
fails(2, "check", model, "--data", "z=x.npy", says=("no input called z",))
fails(1, "check", model, "--data", "x=" + path("nothing.npy"), says=("nothing.npy",))
data = path("two.npy")
succeeds("run", "-", "-o", data, input="model m(x: f32[6, 2]) {\n  return 3 * abs(x) + 0.1\n}\n")
run = takt("check", model, "--data", data)
expect(run.returncode == 1 and "does overflow" in run.stdout and "measured in 6 runs" in run.stdout,
       f"check --data: {run}")
run = takt("check", model, "--data", data, "--precision", "bf16")
expect(run.returncode == 0, f"check --precision bf16: {run}")
wrong = path("wrong.npy")
succeeds("run", "-", "-o", wrong, input="model m(x: f32[6, 3]) {\n  return x\n}\n")
fails(1, "check", model, "--data", wrong, says=("type and shape",))

# ---- diff ----

rows = parsed("diff", model, model, "--layers", "--json")
expect(rows["findings"] == 0 and rows["rows"] and rows["rows"][0]["cause"] == "none", f"{rows}")
fails(1, "diff", model, path("absent.takt"), says=("absent.takt",))
fails(1, "diff", model, model, "--data", wrong, says=("does not have its shape",))

net = path("net.takt")
with open(net, "w", encoding="utf-8") as file:
    file.write("model net(x: f32[2, 3]) {\n  h = tanh(x)\n  y = h * 2\n  return y\n}\n")
values, inputs = path("values.npz"), path("net_x.npy")
succeeds("run", "-", "-o", inputs, input="model m(x: f32[2, 3]) {\n  return x\n}\n")
succeeds("run", net, "-i", inputs, "--outputs", "h,y", "-o", values)
same = succeeds("diff", values, net, "--data", inputs)
expect("2 values compared, 0 without a counterpart: 0 findings" in same, same)
with open(net, "w", encoding="utf-8") as file:
    file.write("model net(x: f32[2, 3]) {\n  h = sigmoid(x)\n  y = h * 2\n  return y\n}\n")
run = takt("diff", values, net, "--data", inputs)
expect(run.returncode == 1 and "first: h (sigmoid)" in run.stdout and "1 finding" in run.stdout,
       f"diff with values: {run}")
fails(1, "diff", path("absent.npz"), net, says=("absent.npz",))

# ---- lineage ----

source, first, second, third = (path(name) for name in ("l.takt", "l.taktp", "l.onnx", "l2.taktp"))
with open(source, "w", encoding="utf-8") as file:
    file.write("model l(x: f32[2]) {\n  param w: [2] = 1\n  return x * w\n}\n")
weights = path("l.safetensors")
succeeds("convert", source, "-o", weights)
succeeds("compile", source, "-w", weights, "-o", first)
succeeds("convert", first, "-o", second)
succeeds("compile", second, "-o", third)
chain = parsed("lineage", third, "--verify", "--json")
commands = [link["command"] for link in chain["links"]]
expect(commands == ["takt compile", "takt convert", "takt compile"], f"lineage: {chain}")
files = [[f["file"] for f in link["reads"]] for link in chain["links"]]
expect(files == [["l.onnx"], ["l.taktp"], ["l.takt", "l.safetensors"]], f"lineage: {files}")
expect(all(f["verdict"] == "same" for link in chain["links"] for f in link["reads"]), f"{chain}")
with open(source, "a", encoding="utf-8") as file:
    file.write("# changed\n")
os.remove(second)
run = takt("lineage", third, "--verify")
expect(run.returncode == 1 and "2 same, 1 changed, 1 not here" in run.stdout, f"lineage: {run}")
expect("the file has no lineage" in succeeds("lineage", source), "the lineage of a text")
fails(1, "lineage", path("absent.taktp"), says=("absent.taktp",))

# ---- ops ----

without = parsed("ops", "--without", "bound", "--json")["without"]
expect("custom" in without and "add" not in without, f"ops --without bound: {without}")
fails(2, "ops", "--without", "cause", says=("relax or gradient",))
finish()
