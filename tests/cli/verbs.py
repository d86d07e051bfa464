"""verbs.py - every verb does its work, in text and in JSON, and explains itself on one screen."""
import os
import re
import shutil
import sys
from xml.etree import ElementTree

from _cli import (CNN, MLP, ROOT, STREAM, expect, fails, finish, parsed, path, succeeds, takt,
                  write)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "onnx"))
import _pb  # noqa: E402

overview, short = succeeds("help", "all"), succeeds("help")
headings = re.findall(r"^(\S.*):$", overview, re.MULTILINE)
others = re.findall(r"^(?:  also +|the command itself: )(.*)", short, re.MULTILINE)
others = [name for line in others for name in line.split(", ")]
expect(len(others) == len(set(others)), f"verbs that are named twice: {others}")
expect(len(headings) == len(set(headings)) >= 8, f"verbs stand under their tasks: {headings}")
expect(all(f"\n{heading}:" in short for heading in headings), "the overview lacks a task")
expect(len(short.splitlines()) <= 40 and max(map(len, short.splitlines())) <= 80,
       f"takt help does not fit a screen: {len(short.splitlines())} lines")
for words in (["help", "all"], ["benchmark", "--help"], ["zoo", "--help"]):
    expect(max(map(len, succeeds(*words).splitlines())) <= 80, f"takt {words} is too wide")
for verb in (entry["name"] for entry in parsed("help", "--json")["verbs"]):
    expect(len(re.findall(rf"^  {verb} ", overview, re.MULTILINE)) == 1,
           f"takt help all does not list {verb} once")
    words = verb.split()
    own = re.findall(rf"^  {verb} ", short, re.MULTILINE)
    expect(own or verb.replace(words[-1], "WORD") in others or verb in others,
           f"takt help does not name {verb}")
    text, full = (succeeds(*words, flag) for flag in ("--help", "--help-all"))
    for shown, lines in ((text, 40), (full, 130)):
        expect(len(shown.splitlines()) <= lines, f"takt {verb} --help is longer than a screen")
        expect(max(map(len, shown.splitlines())) <= 80, f"takt {verb} --help is too wide")
        expect("example: " in shown and "--json" in shown, f"takt {verb} --help lacks something")
    flags = set(re.findall(r"^  (?:-\S, |    )(--\S+)", full, re.MULTILINE))
    few = set(re.findall(r"^  (?:-\S, |    )(--\S+)", text, re.MULTILINE))
    more = re.search(r"^(\d+) more: ", text, re.MULTILINE)
    expect(few <= flags and len(flags) - len(few) == (int(more[1]) if more else 0),
           f"takt {verb} --help and --help-all differ by other flags")
    expect(text == succeeds("help", *words), f"takt help {verb} is not takt {verb} --help")
    expect(full == succeeds(*words, "--help", "--help-all"), f"takt {verb} --help --help-all")

# summary
table = succeeds("summary", MLP)
expect(re.search(r"dense_0 \(dense\) +f32\[batch, 256\] +200,960 +200,704", table), table)
expect(re.search(r"Total +203,530 +203,264", table), table)
expect(re.search(r"Total +203,530 +6,504,448", succeeds("summary", "-D", "batch=32", MLP)),
       "-D does not change the multiply-adds")
# Weights of an ONNX model have names of any kind: each is assigned to the node that reads it.
weighted = write("weighted.onnx", _pb.model(_pb.Graph(
    [_pb.node("MatMul", ["x", "w"], ["h"], name="first"),
     _pb.node("Relu", ["h"], ["r"], name="act"),
     _pb.node("MatMul", ["r", "v"], ["y"], name="second")],
    [_pb.value("x", ["n", 3])], [_pb.value("y", ["n", 2])],
    [_pb.tensor("w", [3, 5], 1, _pb.floats(*range(15))),
     _pb.tensor("v", [5, 2], 1, _pb.floats(*range(10)))])))
shown = parsed("summary", "--json", weighted)
expect([(layer["name"], layer["parameters"], layer["macs"]) for layer in shown["layers"]] ==
       [("x", 0, 0), ("first", 15, 15), ("act", 0, 0), ("second", 10, 10)], shown)
expect(shown["parameters"] == 25 and shown["bytes"] == 100, shown)
summary = parsed("summary", "--json", CNN)
expect(summary["parameters"] == 9122 and summary["state"] == 48, summary)
types = [layer["type"] for layer in summary["layers"][:3]]
expect(types == ["input", "conv", "batch_norm"], types)

# inspect
facts = parsed("inspect", "--json", MLP)
expect(facts["inputs"] == [{"name": "x", "dtype": "f32", "shape": ["batch", 784]}], facts)
expect(facts["bytes"] == 4 * 203530 and facts["ops"]["matmul"] == 2, facts)
expect("x: f32[batch, 784]" in succeeds("inspect", MLP), "inspect shows no input")

# opt
before, after = succeeds("opt", "--pass=-all", "--trainable", CNN), succeeds("opt", CNN)
expect("batch_norm(" in before and "batch_norm(" not in after, "batch norm was not folded")
expect("batch_norm(" in succeeds("opt", "--pass=-fold-weights", CNN), "-fold-weights does nothing")
expect("# fold-weights: stage_0.batch_norm_0: " in succeeds("opt", "--trace", CNN), "no trace")
trace = parsed("opt", "--trace", "--json", CNN)
expect(trace["fired"] == sum(e["refused"] is None for e in trace["events"]), "fired is miscounted")
expect("# f32[batch, 10]" in succeeds("opt", "--types", CNN), "--types shows no types")
expect("# f32[4, 10]" in succeeds("opt", "--types", "-D", "batch=4", CNN), "-D is ignored")
succeeds("opt", CNN, "--emit-each-pass", path("each") + "/")
with open(path("each") + "/01-cse.takt", encoding="utf-8") as file:
    expect("model cnn" in file.read(), "--emit-each-pass wrote no graph")
passes = parsed("opt", "--list", "--json")["passes"]
expect({"cse", "fold-weights"} <= {p["name"] for p in passes}, passes)
expect("licence: " in succeeds("opt", "--list"), "opt --list shows no licences")
with open(path("again.takt"), "w", encoding="utf-8") as file:
    file.write(succeeds("opt", "--full", MLP))
again = parsed("run", "--json", path("again.takt"))
expect(again["digest"] == parsed("run", "--json", MLP)["digest"],
       "what opt --full printed computes something else")

# ops
expect(len(parsed("ops", "--json")["ops"]) > 100, "takt ops lists too few")
one = parsed("ops", "--json", "softmax")["ops"]
expect(len(one) == 1 and one[0]["attributes"], one)
expect("example: softmax(" in succeeds("ops", "softmax"), "ops softmax shows no example")

# plan
plan = parsed("plan", "--json", CNN)
memory = plan["memory"]
parts = ("weights", "packed", "state", "io", "arena")
expect(memory["peak"] == sum(memory[part] for part in parts), memory)
expect(memory["lower_bound"] <= memory["arena"] <= max(memory["unshared"], memory["arena"]), memory)
expect(all(b["offset"] + b["bytes"] <= memory["arena"] for b in plan["buffers"] if "offset" in b),
       "a buffer lies outside the arena")
expect("peak" in succeeds("plan", CNN), "takt plan states no peak")
# Layers are listed below their caller, whose row is the sum of theirs and has the last result.
tree = re.findall(r"^  ( *)(\S+) \(.*\) +(f32\S.*\])  +([\d,]+) +([\d,]+)$",
                  succeeds("summary", CNN), re.MULTILINE)
rows = [(len(lead), name, out, int(macs.replace(",", ""))) for lead, name, out, _, macs in tree]
stage = next(i for i, row in enumerate(rows) if row[:2] == (0, "stage_1"))
expect([row[:2] for row in rows[stage + 1:stage + 4]]
       == [(2, "conv_0"), (2, "batch_norm_0"), (2, "max_pool_0")], rows)
expect(rows[stage][3] == sum(row[3] for row in rows[stage + 1:stage + 4]) > 0, rows)
expect(rows[stage][2] == rows[stage + 3][2], rows)

# The picture of the steps: well-formed, a box for every step, nothing on top of anything else.
def boxes_of(model):
    shapes = [e for e in ElementTree.fromstring(succeeds("plan", "--graph", model)).iter()
              if e.tag.endswith("}rect") and "x" in e.attrib]
    return [[float(e.get(k)) for k in ("x", "y", "width", "height")] for e in shapes]


for model in (MLP, CNN, STREAM, "examples/gpt.takt"):
    boxes = boxes_of(model)
    expect(len(boxes) >= len(parsed("plan", "--json", model)["steps"]) + 2, f"{model}: boxes")
    expect(not any(a is not b and a[1] == b[1] and a[0] < b[0] + b[2] and b[0] < a[0] + a[2]
                   for a in boxes for b in boxes), f"{model}: boxes overlap")
fails(2, "plan", "--graph", "--json", MLP, says=["--graph is not JSON"])
fails(2, "plan", "--graph", "--svg", MLP, says=["two pictures"])
# Whatever names a file has, pictures are XML.
odd = _pb.model(_pb.Graph([_pb.node("Relu", ["x<&"], ["hid1"], name="nod1"),
                           _pb.node("Softmax", ["hid1"], ["out1"], name="nod1.b")],
                          [_pb.value("x<&", [2])], [_pb.value("out1", [2])]))
for old, new in ((b"hid1", b"h\xff\xc31"), (b"nod1", b"n\xed\xa01"), (b"out1", b"o\xef\xbf\xbf")):
    odd = odd.replace(old, new)
write("odd.onnx", odd)
ElementTree.fromstring(takt("plan", "--graph", path("odd.onnx"), text=False).stdout)
ElementTree.fromstring(takt("plan", "--svg", path("odd.onnx"), text=False).stdout)
takt("profile", path("odd.onnx"), "--duration", "0.02", "--flame", path("odd.svg"), text=False)
ElementTree.parse(path("odd.svg"))
svg = succeeds("plan", "--svg", CNN)
expect(svg.startswith("<svg") and svg.endswith("</svg>\n") and "<rect" in svg, svg[:200])
expect('viewBox="0 0 ' in svg, "a narrow page scales it instead of cutting it off")
for words in (">scratch<", ">bytes<", ">step<", ">0</text>"):
    expect(words in svg, f"the arena's picture does not say {words}")

# kernels
text = succeeds("kernels", MLP, "--isa", "scalar")
expect("gemm_f32/scalar" in text and "instruction sets: scalar\n" in text, text)
expect(parsed("kernels", "--json", MLP)["steps"][0]["candidates"], "no candidates")

# explain
expect(succeeds("explain", "2103") == succeeds("explain", "TAKT2103"), "explain differs")
expect("cast(x" in succeeds("explain", "2103"), "2103 is not explained")
expect(len(parsed("explain", "--list", "--json")["errors"]) > 30, "few errors")
expect(parsed("explain", "--json", "3201")["id"] == 3201, "explain --json 3201")
expect({"passes", "plan"} == set(parsed("explain", "--json", CNN)), "explain --json of a model")
expect("dense_0" in succeeds("explain", "--node", "dense_0", MLP), "explain --node dense_0")
expect("step of" in succeeds("explain", "--fusions", MLP), "explain --fusions")

# backends
expect({"cpu", "ref"} <= {b["name"] for b in parsed("backends", "--json")}, "backends")

# version
expect(re.fullmatch(r"takt \d+\.\d+\.\d+\n", succeeds("version")), "takt version")
build = succeeds("version", "--build")
expect("compiler: " in build and "flags: " in build, build)
expect({"version", "commit", "flags"} <= set(parsed("version", "--build", "--json")),
       "version --build --json")
expect(list(parsed("version", "--json")) == ["version"], "version --json")
listed = {verb["name"]: verb for verb in parsed("help", "--json")["verbs"]}
expect({"run", "benchmark run"} <= set(listed), "help --json lacks verbs")
expect({"name": "threads", "letter": "t", "kind": "count"}.items() <= next(
    flag for flag in listed["run"]["flags"] if flag["name"] == "threads").items(), "a flag")
expect([verb["name"] for verb in parsed("help", "plan", "--json")["verbs"]] == ["plan"], "help")
for words in (("extract", MLP, "--to", "h"), ("extract", MLP), ("batch", STREAM)):
    cut = parsed(*words, "--json")
    expect(cut["text"].startswith(f"model {cut['model']}("), f"{words}: {cut}")
shutil.copy(os.path.join(ROOT, MLP), path("ready.takt"))
ready = parsed("benchmark", "prepare", path("ready.takt"), "--json")
expect(ready["inputs"] == [path("ready.takt.x.npy")] and os.path.exists(ready["settings"]) and
       os.path.exists(ready["compiled"]) and ready["threads"] >= 1, f"prepare --json: {ready}")
expect(succeeds("--version") == succeeds("version"), "takt --version")

# run
result = parsed("run", "--json", STREAM)
expect(set(result["outputs"]) == {"y", "level"}, result)
expect(result["outputs"]["y"]["shape"] == [1, 2, 16], result)
expect(takt("run", MLP, "-q").stdout.startswith("out: f32[1, 10]\n"), "run -q")
expect("runs took" in succeeds("run", MLP, "--repeat", "3"), "--repeat tells no time")
finish()
