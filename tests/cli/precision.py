"""precision.py - reports name how weights are stored and products computed."""
import json
import struct

from _cli import MLP, expect, fails, finish, npy, parsed, path, succeeds, takt, write

LSTM = write("lstm.takt", "model l(x: f32[2, 5, 16]) seed=1 {\n  return lstm(x, 16)\n}\n")
ONE = write("one.takt", "model one(x: f32[4]) {\n  return relu(x)\n}\n")
QUICK = ("--duration", "30ms", "--threads", "1")

# Plans, kernels and explanations name the type that weights are stored in; f32 is not mentioned.
for verb in ("plan", "kernels", "explain"):
    expect("bf16" in succeeds(verb, MLP, "--precision", "bf16", "--isa", "scalar"), verb)
    expect("weights" not in succeeds(verb, MLP).replace("packed weights", "").replace(
        "  weights ", ""), f"{verb} says nothing of f32")
plan = parsed("plan", MLP, "--precision", "f16", "--json")
expect(plan["config"] == {"backend": "cpu", "precision": "f16", "numerics": "exact"},
       plan["config"])
expect([step["weights"] for step in plan["steps"]] == ["f16", "f16", None], plan["steps"])
compiled = path("half.taktp")
succeeds("compile", MLP, "--precision", "bf16", "-o", compiled, "--quiet")
expect(parsed("plan", compiled, "--json")["config"]["precision"] == "bf16", "a compiled model's")

# A flag without effect is reported.
for backend, flag, words in (("ref", "--numerics=fast", "numerics fast changes nothing"),
                             ("ref", "--precision=bf16", "only backend cpu stores them so")):
    said = succeeds("plan", MLP, "--backend", backend, flag)
    expect(words in said, f"plan on {backend} {flag}: {said}")
    run = takt("benchmark", "run", MLP, "--iterations", "5", "--backend", backend, flag)
    expect(run.returncode == 0 and words in run.stderr, f"run {flag}: {run.stderr}")
ATTENTION = write("attention.takt", "model a(q: f32[1, 32, 64]) {\n"
                  "  return op.attention(q, q, q, heads=4)\n}\n")
nothing = "note: numerics fast changes nothing: "
said = succeeds("kernels", ATTENTION, "--numerics", "fast")
expect(nothing + "no step is a product of 16 bits (takt kernels says why for each)" in said and
       "numerics fast: attention as one step is computed in f32" in said, said)
expect("numerics" not in succeeds("kernels", ATTENTION), "not asked for")
said = succeeds("kernels", ONE, "--numerics", "fast")
expect(nothing + "no step is a product that 16 bits could do\n" in said and
       "says why" not in said, said)
said = succeeds("kernels", LSTM, "--precision", "bf16")
expect("leaves recurrent weights as they are" in said, said)

# Results record it, and a comparison of different ones says so.
results = {}
for name, flags in (("exact", ()), ("fast", ("--numerics", "fast")),
                    ("half", ("--precision", "bf16")), ("ref", ("--backend", "ref"))):
    results[name] = path(name + ".json")
    said = succeeds("benchmark", "run", MLP, "--iterations", "40", "-o", results[name], *flags)
    expect(("  backend " in said) == (name != "exact"), f"{name}: {said}")
    with open(results[name], encoding="utf-8") as file:
        config = json.load(file)["benchmark_info"]["config"]
    expect((config["numerics"], config["precision"], config["backend"]) ==
           ("fast" if name == "fast" else "exact", "bf16" if name == "half" else "f32",
            "ref" if name == "ref" else "cpu"), f"{name}: {config}")
for name, words in (("fast", "numerics exact and fast"), ("half", "weights stored in f32 and bf16"),
                    ("ref", "backend cpu and ref")):
    said = takt("benchmark", "compare", results["exact"], results[name]).stdout
    expect("they are not computed alike: " + words in said, f"{name}: {said}")
said = takt("benchmark", "compare", results["exact"], results["exact"]).stdout
expect("computed alike" not in said and "interval" in said, said)
for name, words in (("fast", "numerics fast, not exact"), ("ref", "backend ref, not cpu"),
                    ("half", "weights stored in bf16, not f32")):
    fails(4, "benchmark", "trends", results["exact"], results[name],
          says=["TAKT8003", "result 2, of ", words, "one backend, precision and numerics"])
    expect("no step" in succeeds("benchmark", "trends", *[results[name]] * 2), f"{name} twice")
with open(results["fast"], encoding="utf-8") as file:
    untold = json.load(file)
for key in ("backend", "precision", "numerics"):
    del untold["benchmark_info"]["config"][key]
untold = write("untold.json", json.dumps(untold))
for order in ((untold, results["exact"]), (results["exact"], untold)):
    expect("no step" in succeeds("benchmark", "trends", *order), "a result that does not tell")
fails(4, "benchmark", "trends", untold, results["exact"], results["fast"], says=["TAKT8003"])
both = json.loads(takt("benchmark", "compare", MLP, compiled, "--blocks", "4", "--json").stdout)
expect(both["a_config"]["precision"] == "f32" and both["b_config"]["precision"] == "bf16", both)
profile = parsed("profile", MLP, "--json", "--numerics", "fast", *QUICK)
expect(profile["config"]["numerics"] == "fast", profile["config"])

# The error is reported wherever inputs come from and results go.
rows = write("rows.npy", npy((6, 784), [0.001 * (i % 97) for i in range(6 * 784)]))
# A list of precisions is measured in turn, and cases of two results are matched by it.
both = path("both.json")
text = succeeds("benchmark", "run", MLP, "--precision", "f32,bf16", "--batch-size", "1,4", "-t",
                "1", "--iterations", "40", "-o", both)
expect("most samples a second: batch 4 on 1 thread, weights in " in text, text)
with open(both, encoding="utf-8") as file:
    runs = json.load(file)["runs"]
expect([(run["config"]["precision"], run["config"]["batch_size"]) for run in runs] ==
       [("f32", 1), ("f32", 4), ("bf16", 1), ("bf16", 4)], [run["config"] for run in runs])
expect([run["results"]["memory_usage"]["planned_peak"] for run in runs[::2]] !=
       [runs[0]["results"]["memory_usage"]["planned_peak"]] * 2, "both take the same memory")
said = takt("benchmark", "compare", both, both, "--json")
pairs = json.loads(said.stdout)["comparisons"]
expect(len(pairs) == 4 and all(pair["ratio"] == 1 for pair in pairs), said.stdout)
expect("weights in bf16" in pairs[2]["a"] and "not computed alike" not in said.stdout, pairs[2])
for words in ("f32,", ",f32", "f32,,bf16", "f32,a-word-that-is-no-precision"):
    fails(2, "benchmark", "run", MLP, "--precision", words, says=("not a list of precisions",))
said = takt("benchmark", "run", MLP, "--precision", "f32,f17", "--iterations", "5")
expect(said.returncode == 2 and "no precision f17" in said.stderr and said.stdout == "", said)
table = succeeds("benchmark", "run", MLP, "--precision", "f32,f16", "--iterations", "5", "--format",
                 "csv").splitlines()
at = table[0].split(",").index("precision")
expect([row.split(",")[at] for row in table[1:]] == ['"f32"', '"f16"'], table)

half = ("run", MLP, "--precision", "bf16")
words = "weights in bf16: largest error against f32"
cut = succeeds(*half, "-i", f"x={rows}", "--batch-size", "2")
expect("the first batch: " + words in cut, cut)
cut = parsed(*half, "-i", f"x={rows}", "--batch-size", "2", "--json")
whole = parsed(*half, "-i", f"x={rows}", "--json")
expect(0 < cut["deviation"]["max_abs"] <= whole["deviation"]["max_abs"], cut["deviation"])
expect(cut["deviation"]["count"] == 20, cut["deviation"])
expect(words in succeeds(*half, "--random", "-D", "batch=3", "--batch-size", "2"), "random rows")
expect(words in succeeds(*half, "-i", f"x={rows}", "--donate", "x"), "a donated input")
piped = takt(*half, "-i", f"x={rows}", "-o", "-", text=False)
expect(words.encode() in piped.stderr and piped.stdout[:6] == b"\x93NUMPY", "next to a stream")

# Models go to files of known endings only.
for verb in (("compile", MLP), ("batch", ONE), ("extract", MLP, "--to", "dense_0")):
    fails(2, *verb, "-o", path("m.foo"), says=["names no format of models", ".taktp", ".onnx"])
    succeeds(*verb, "-o", path("m.onnx"))
    succeeds("run", path("m.onnx"), "--quiet")
expect("write the model: .taktp" in succeeds("compile", "--help"), "its own help")

# Wording.
expect("plan of one: 1 step, " in succeeds("plan", ONE), "one step")
expect("\n1 step, " in succeeds("run", ONE), "one step")
expect("\n1 step takes " in succeeds("profile", ONE, *QUICK), "one step")
for kernels in ("gemm_bf16", "gemm_f16", "product_bf16", "depthwise_bf16", "winograd_bf16",
                "gemm_bf16/scalar"):
    fails(2, "plan", MLP, "--simd", f"{kernels}=off",
          says=[f"no kernel family called {kernels}", f"{kernels} kernels are those of --numerics "
                "fast: leave it out, or cap gemm and conv"])
fails(2, "plan", MLP, "--simd", "rows_f32=off", says=["belong to the family rows"])

# explain shows the passes of the graph that is planned: numerics, precision and level decide.
BODY = ("model m(x: f32[1, 9, 9, 32]) seed=1 {\n  param w: f32[32, 3, 3, 32] = normal(0, 0.1)\n"
        "  return y = %s(op.conv(x, w, pad=[1, 1, 1, 1], layout=nhwc))\n}\n")
RELU, SILU = (write(f"{act}.takt", BODY % act) for act in ("relu", "silu"))
FAST = ("--numerics", "fast")


def passes_of(*flags):
    """The events of takt explain, by pass; those that fired match the plan."""
    events = parsed("explain", "--json", *flags)["passes"]["events"]
    steps = succeeds("plan", *flags)
    for name, op in (("winograd", "winograd_conv"), ("narrow-activations", "narrow_conv")):
        fired = any(e["pass"] == name and e["refused"] is None for e in events)
        expect(fired == (op in steps), f"{flags}: {name}: {events}\n{steps}")
    return {e["pass"]: e["refused"] for e in events}


expect(passes_of(RELU) == {"winograd": None} == passes_of(SILU), "winograd under exact")
for flags in (("-O1",), ("--pass=-winograd",), ("--pass=-all",)):
    expect("winograd" not in passes_of(RELU, *flags), f"winograd with {flags}")
expect(not {"winograd", "narrow-activations"} & set(passes_of(RELU, *FAST, "-O1")), "fast at -O1")
expect("precision" in passes_of(RELU, "--precision", "f16"), "no rule of --precision")
is_narrow = "narrow-activations" in passes_of(RELU, *FAST)
expect(not is_narrow or passes_of(RELU, *FAST) == {"narrow-activations": None}, "fast")
expect(not is_narrow or passes_of(SILU, *FAST) ==
       {"narrow-activations": "what follows it is computed in f32"}, "silu under fast")
expect("narrow-activations" not in passes_of(RELU, *FAST, "--pass=-narrow-activations"),
       "-narrow-activations")
expect("winograd" in passes_of(RELU, *FAST, "--pass=+winograd"), "+winograd")
digests = {parsed("run", "--json", RELU, *FAST, *flags)["digest"]
           for flags in ((), ("--pass=-fuse",))}
expect(len(digests) == 1, f"fuse changes bits under fast: {digests}")

# A bound input that is read in place takes none of the session's memory; a copied one does.
MOVES = write("moves.takt", "model m(x: f32[n, 8]) {\n"
                            "  return relu(x) + reduce_sum(x, axes=[0])\n}\n")
head = "{'descr': '<f4', 'fortran_order': True, 'shape': (4, 8), }".ljust(117) + "\n"
turned = write("turned.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode()
               + struct.pack("<32f", *range(32)))
straight = write("straight.npy", npy((4, 8), list(range(32))))
memory = {name: parsed("plan", MOVES, "-i", f"x={file}", "--json")["memory"]
          for name, file in (("moved", turned), ("bound", straight))}
expect(memory["moved"]["session_moved"] == 128 and memory["bound"]["session_moved"] == 0, memory)
expect(memory["moved"]["session_io"] == memory["moved"]["io"] == 256, memory)
expect(memory["bound"]["session_io"] == 128, memory)
expect(memory["moved"]["session_peak"] - memory["bound"]["session_peak"] == 128, memory)
said = succeeds("plan", MOVES, "-i", f"x={turned}")
expect("128 of it for buffers that are moved" in said, said)

finish()
