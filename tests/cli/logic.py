"""logic.py - the commands of docs/logic.md work; relations in files, the example in C; the closure
of a real graph, the same bits by any number of threads and any vector code."""
import json
import os
import re
import shutil
import subprocess

from _cli import CLEAN, ROOT, TMP, TOOL, expect, finish, npy, succeeds, takt, write

# ---- the document ----

folder = os.path.join(TMP, "document")
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(os.path.join(folder, "bin"))
os.symlink(os.path.abspath(TOOL), os.path.join(folder, "bin", "takt"))
env = {**CLEAN, "PATH": os.path.join(folder, "bin") + os.pathsep + CLEAN["PATH"]}
with open(os.path.join(ROOT, "docs", "logic.md"), encoding="utf-8") as file:
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", file.read(), re.DOTALL | re.MULTILINE)
asked, printed = 0, ""
for kind, text in blocks:
    if kind in ("takt", "txt"):
        name = re.match(r"# (\S+)\n", text)
        if expect(name, f"a block has no file name: {text}"):
            with open(os.path.join(folder, name.group(1)), "w", encoding="utf-8") as file:
                file.write(text)
            if kind == "takt" and "circle" not in name.group(1):
                run = subprocess.run(["takt", "run", name.group(1)], cwd=folder, env=env, text=True,
                                     capture_output=True, timeout=120, check=False)
                expect(run.returncode == 0, f"{name.group(1)}: {run.stderr}")
    elif kind == "sh":
        printed = subprocess.run(["sh", "-c", text], cwd=folder, env=env, text=True, timeout=120,
                                 stdout=subprocess.PIPE, check=False).stdout
    elif kind == "text":
        asked += 1
        if text.endswith("...\n"):
            expect(printed.startswith(text[:-4]), f"{printed}\ninstead of\n{text}")
        else:
            expect(printed == text, f"{printed}\ninstead of\n{text}")
expect(asked >= 8, "docs/logic.md has lost its commands")

# ---- the programs of Tensor Logic ----

EMBEDDED = "examples/embedded.takt"
expect(succeeds("query", "examples/aunts.takt", "aunt(x, z)") == "ann\tcy\nbo\teve\neve\tcy\n",
       "an aunt is missing")
succeeds("run", "examples/aunts.takt")  # ensures that the einsum agrees
succeeds("run", "examples/equations.takt", "-D", "batch=2")
told = takt("query", "examples/family.takt", "ancestor(anne, x)").stderr
expect("anne is a variable" in told and "did you mean ann?" in told, f"a misspelt name: {told}")
told = takt("query", "examples/family.takt", "ancestor(who, x)").stderr
expect(told == "", f"a variable: {told}")
exact = succeeds("query", EMBEDDED, "ancestor(x, z)").splitlines()
with open(os.path.join(ROOT, EMBEDDED), encoding="utf-8") as file:
    warm = file.read().replace("objects(), 0.0)", "objects(), 0.25)")
with open(os.path.join(TMP, "warm.takt"), "w", encoding="utf-8") as file:
    file.write(warm)
guessed = succeeds("query", os.path.join(TMP, "warm.takt"), "ancestor(x, z)").splitlines()
expect(len(exact) == 6 and all(line.endswith("\t1") for line in exact), f"deduced: {exact}")
expect(len(guessed) == 25, f"nothing is guessed: {guessed}")

# ---- relations in files ----

FAMILY = "examples/family.takt"
tsv = os.path.join(TMP, "ancestor.tsv")
succeeds("run", FAMILY, "-o", "ancestor=" + tsv)
with open(tsv, encoding="utf-8") as file:
    expect(file.read().splitlines()[0] == "ann\tbo", "the relation's first tuple is another")
model = os.path.join(TMP, "closure.takt")
with open(model, "w", encoding="utf-8") as file:
    file.write('domain person = ["ann", "bo", "cy", "dee", "eve", "finn"]\nmodel closure() {\n'
               "  relation edge(person, person)\n"
               "  rule path(x, z) = edge(x, z) or exists y: path(x, y) and edge(y, z)\n"
               "  return path\n}\n")
again = takt("query", model, "path(x, y)", "-i", "edge=" + tsv)
with open(tsv, encoding="utf-8") as file:
    expect(again.stdout == file.read(), f"a closure of a closure is another: {again}")
TUPLES = write("tuples.takt", "domain n = 10\nmodel m() {\n  relation e(n, n) sparse capacity=3\n"
               "  rule p(x, y) capacity=9 = e(x, y)\n  return p\n}\n")
NONE = 2**32 - 1
for last, code in ((9, 0), (10, 1)):
    tuples = write("tuples.npy", npy((3, 2), (1, 2, 3, last, NONE, NONE), "<u4", "I"))
    run = takt("run", TUPLES, "-i", "e=" + tuples)
    expect(run.returncode == code, f"a tuple with {last} of 10: {run}")
expect("row 1, column 1 is 10, and domain n has 10" in run.stderr, f"it says {run.stderr}")
succeeds("benchmark", "run", TUPLES, "--dense-limit", "1K", "-i", "e=" + write(
    "good.npy", npy((3, 2), (1, 2, 3, 4, NONE, NONE), "<u4", "I")))
wrong = takt("query", model, "path(x, y)", "-i", "edge=" + model)
expect(wrong.returncode != 0, "a model is taken for facts")
for question, code in (("path(zoe, x)", 0), ("path(ann)", 2), ("pth(ann, x)", 2), ("path(", 2)):
    run = takt("query", model, question, "-i", "edge=" + tsv)
    expect((run.returncode == 0) == (code == 0), f"{question}: {run}")
expect(takt("query", "examples/mlp.takt").returncode != 0, "a model without rules has relations")
expect(takt("query", FAMILY, "parent(x, y)", "--format", "xml").returncode != 0, "xml is a format")

# ---- proofs ----

proof = json.loads(succeeds("explain", FAMILY, "--fact", "ancestor(ann, eve)", "--json"))
expect(proof["holds"] and proof["steps"][0]["height"] == 3, f"another proof: {proof}")
proof = json.loads(succeeds("explain", FAMILY, "--fact", "ancestor(eve, ann)", "--json"))
expect(proof == {"holds": False, "steps": []}, f"a proof of what is false: {proof}")
proof = json.loads(succeeds("explain", FAMILY, "--fact", "ancestor(eve, ann)", "--why-not",
                            "--json"))
expect([rule["fails"] for rule in proof["rules"]] == ["parent(eve, ann)", "parent(eve, y)"],
       f"another reason: {proof}")
expect("path(ann, eve)" in succeeds("explain", model, "--fact", "path(ann, eve)", "-i",
                                    "edge=" + tsv), "an input relation has no proofs")
for fact in ("ancestor(ann, x)", "ancestor(ann)", "heirs(ann)", "nobody(ann)"):
    expect(takt("explain", FAMILY, "--fact", fact).returncode != 0, f"{fact} is a fact")
expect(takt("explain", "examples/mlp.takt", "--fact", "p(1)").returncode != 0,
       "a model without rules has facts")
for flags in ((), ("--why-not",)):
    run = takt("explain", model, "--fact", "path(ann, eve)", *flags)
    expect(run.returncode == 2 and "no file for input edge" in run.stderr and not run.stdout,
           f"a proof from nothing: {run}")
for seed in range(8):
    flags = ("explain", model, "--fact", "edge(ann, bo)", "--random", "--seed", str(seed))
    text, proof = succeeds(*flags), json.loads(succeeds(*flags, "--json"))
    expect(text.endswith("filled by --random: edge\n") and "  fact\n" not in text, text)
    expect(proof["random"] == ["edge"], f"nothing is random: {proof}")
    expect(("edge(ann, bo)  random\n" in text) == proof["holds"], f"{text}, but {proof}")
for flags in (("--why-not",), ("--fact", "ancestor(ann, eve)", "--fusions"),
              ("--fact", "ancestor(ann, eve)", "--node", "a"),
              ("--fact", "ancestor(ann, eve)", "--outputs", "ancestor"),
              ("--fact", "ancestor(ann, eve)", "--list")):
    run = takt("explain", FAMILY, *flags)
    expect(run.returncode == 2 and not run.stdout, f"{flags} do something: {run}")
named = re.findall(r"\S+\.takt", takt("explain", "--help").stdout)
expect(named and all(os.path.exists(os.path.join(ROOT, path)) for path in named),
       f"the help names what is not there: {named}")

# ---- the example in C ----

library = os.path.join(os.environ.get("TAKT_BUILD_DIR", os.path.join(ROOT, "build", "release")),
                       "libtakt.a")
with open(os.path.join(os.path.dirname(library), "CMakeCache.txt"), encoding="utf-8") as file:
    sanitizer = re.search(r"^TAKT_SANITIZE:\w+=(.+)$", file.read(), re.MULTILINE)
with open(os.path.join(ROOT, "examples/c/rules.c"), encoding="utf-8") as file:
    expect(len(file.readlines()) <= 40, "the example has more than 40 lines")
if not sanitizer:
    program = TMP + "/rules"
    subprocess.run([os.environ.get("CC", "cc"), "-std=c17", "-Wall", "-Wextra", "-Werror",
                    "-Iinclude", "examples/c/rules.c", library, "-lm", "-pthread", "-o", program],
                   cwd=ROOT, check=True)
    run = subprocess.run([program, FAMILY, "ancestor(bo, x)"], cwd=ROOT, text=True,
                         capture_output=True, check=False)
    expect(run.stdout == "dee\neve\n" and run.returncode == 0, f"rules.c: {run}")
    run = subprocess.run([program, FAMILY, "ancestr(bo, x)"], cwd=ROOT, text=True,
                         capture_output=True, check=False)
    expect(run.returncode == 1 and "ancestr" in run.stderr, f"rules.c: {run}")

# ---- a real graph ----

data = os.environ.get("TAKT_DATA", os.path.join(ROOT, "..", "shared", "data"))
graph = os.path.join(data, "logic", "graphs", "random2000.csv")
if os.path.exists(graph):
    home = os.path.join(TMP, "graph")
    os.makedirs(home, exist_ok=True)
    shutil.copyfile(graph, os.path.join(home, "edges.csv"))
    os.chmod(os.path.join(home, "edges.csv"), 0o644)
    with open(os.path.join(home, "closure.takt"), "w", encoding="utf-8") as file:
        file.write('domain node = 2000\nmodel closure() {\n'
                   '  relation edge(node, node) = "edges.csv"\n'
                   "  rule path(x, z) = edge(x, z) or exists y: edge(x, y) and path(y, z)\n"
                   "  rule pairs(n: i64) = n == count x, y: path(x, y)\n"
                   "  return path, pairs\n}\n")
    digests = set()
    for flags in (("-t", "1"), ("-t", "2"), ("-t", "3"), ("-t", "8"), ("--isa", "scalar")):
        text = succeeds("run", *flags, os.path.join(home, "closure.takt"))
        expect("2560224" in text, f"{flags}: the closure has another number of pairs")
        digests |= set(re.findall(r"sha256:[0-9a-f]{64}", text))
    expect(len(digests) == 1, f"the closure has several digests: {digests}")
else:
    print(f"1 skipped: {graph} is not there")
graph = os.path.join(data, "logic", "graphs", "dag200k.csv")
if os.path.exists(graph) and not sanitizer:
    home = os.path.join(TMP, "dag")
    os.makedirs(home, exist_ok=True)
    shutil.copyfile(graph, os.path.join(home, "edges.csv"))
    os.chmod(os.path.join(home, "edges.csv"), 0o644)
    with open(os.path.join(home, "closure.takt"), "w", encoding="utf-8") as file:
        file.write('domain node = 200000\nmodel closure() {\n'
                   '  relation edge(node, node) = "edges.csv"\n'
                   "  rule path(x, z) capacity=8000000 = edge(x, z) or "
                   "exists y: edge(x, y) and path(y, z)\n"
                   "  rule pairs(n: i64) = n == count x, y: path(x, y)\n"
                   "  return pairs\n}\n")
    text = succeeds("run", os.path.join(home, "closure.takt"))
    expect("7615546" in text, f"the closure of a large graph has another number of pairs: {text}")
elif not sanitizer:
    print(f"1 skipped: {graph} is not there")
finish()
