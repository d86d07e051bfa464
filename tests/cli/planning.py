"""planning.py - the planning flags: their effect, and the messages for mistakes."""
import json
import os
import platform
import re
import shutil
import subprocess

from _cli import (CLEAN, CNN, MLP, ROOT, TMP, TOOL, expect, fails, finish, npy, parsed, succeeds,
                  write)

ENCODER = "examples/encoder.takt"
ARM = platform.machine() in ("aarch64", "arm64")


def kernels(model, *flags):
    report = parsed("kernels", "--json", model, *flags)
    return {step["kind"]: step["kernel"] for step in report["steps"]}


def least_peak(tool, model):
    """How much of the program the system maps at once differs from run to run, and depends on how
    its file was read into the page cache: a new copy is mapped in small pieces."""
    return min(json.loads(subprocess.run([tool, "run", "--json", model], capture_output=True,
                                         check=True, cwd=ROOT, env=CLEAN).stdout)
               ["process_peak_bytes"]
               for _ in range(4))


# --simd: one family is capped, the others are not
usual, capped = kernels(ENCODER), kernels(ENCODER, "--simd", "attention=off,map=on")
expect(capped["attention"].endswith("_f32/scalar"), capped)
expect(capped["gemm"] == usual["gemm"] and capped["rows"] == usual["rows"], capped)
expect(kernels(ENCODER, "--simd", "rows=off")["rows"] == "rows_f32/scalar", "rows=off")
both = kernels(CNN, "--simd", "conv=off", "--simd", "gemm=off")
expect(both["conv"] == "conv_f32/scalar" and both["gemm"] == "gemm_f32/scalar", both)
CONV_OFF = ("--simd", "conv=off")
expect("of conv steps: scalar" in succeeds("kernels", CNN, *CONV_OFF), "kernels tells no cap")
expect(parsed("kernels", "--json", CNN, *CONV_OFF)["families"]["conv"] == ["scalar"], "families")
digests = {parsed("run", "--json", CNN, *flags)["digest"]
           for flags in ((), CONV_OFF, ("--simd", "map=off,pool=off,rows=off"))}
expect(len(digests) == 1, f"--simd changes bits: {digests}")
foreign = "avx2" if ARM else "neon"
for verb in ("run", "plan", "kernels", "explain", "profile", "benchmark-run"):
    fails(2, verb, MLP, "--simd", f"gemm={foreign}",
          says=[f"cannot run {foreign}", "this machine has scalar"])
    fails(2, verb, MLP, "--isa", foreign, says=[f"cannot run {foreign}", "hint"])
fails(2, "kernels", MLP, "--simd", "gem=off", says=["no kernel family called gem", "families are"])
fails(2, "kernels", MLP, "--simd", "gemm=mmx", says=["no instruction set called mmx"])
fails(2, "kernels", MLP, "--simd", "gemm", says=["family=cap"])

# recurrent cells are a separate step and family; a step without a family says so
CELL = write("cell.takt",
             "model m(x: f32[2, 9, 5]) { return x |> lstm(33) |> gru(7, reverse=true) }\n")
capped = kernels(CELL, "--simd", "rnn=off")
expect(capped["rnn"] == "rnn_f32/scalar" and capped["gemm"] != "gemm_f32/scalar", capped)
expect(kernels(CELL)["rnn"].startswith("rnn_f32/"), kernels(CELL))
expect("rnn_f32/" in succeeds("plan", CELL), "plan does not name the cell")
digests = {parsed("run", "--json", CELL, "--random", *flags)["digest"]
           for flags in ((), ("--simd", "rnn=off"), ("-O0",), ("--threads", "2"))}
expect(len(digests) == 1, f"a recurrent cell has several digests: {digests}")
OTHER = write("other.takt", "model m(x: f32[2, 9, 5]) { return x |> rnn(4, act=softsign) }\n")
expect(kernels(OTHER)["scan"] == "generic", kernels(OTHER))
expect("no recurrent cell of a known form" in succeeds("kernels", OTHER), "no reason is given")

# --tile and --prefetch: other blocks, other scratch, the same bits
WIDE = ("-D", "batch=300", "--threads", "1")
small = ("--tile", "16,256,0")
digests = {parsed("run", "--json", MLP, *WIDE, *flags)["digest"]
           for flags in ((), small, ("--prefetch", "0"), ("--prefetch", "64"))}
expect(len(digests) == 1, f"--tile or --prefetch changes bits: {digests}")
arenas = [parsed("plan", "--json", MLP, *WIDE, *flags)["memory"]["arena"] for flags in ((), small)]
expect(arenas[1] < arenas[0], f"--tile has no effect on scratch: {arenas}")
fails(2, "run", MLP, "--tile", "16", says=["is not a tile", "hint", "96,1024,0"])
fails(2, "plan", MLP, "--prefetch", "70000", says=["70000 lines", "at most 65536"])

# multipliers and zero points of that many columns leave with the model, before the report
COLUMNS = 5000
WIDE_BYTES = write("wide_bytes.takt", f"""model m(x: i8[3, 2]) -> (y: i8[3, {COLUMNS}]) {{
  w = constant(i8[2, {COLUMNS}], [{", ".join(["3"] * 2 * COLUMNS)}])
  zero = constant(i8[{COLUMNS}], [{", ".join(["0"] * COLUMNS)}])
  by = constant(i32[{COLUMNS}], [{", ".join([str(1 << 30)] * COLUMNS)}])
  shift = constant(i32[{COLUMNS}], [{", ".join(["-5"] * COLUMNS)}])
  to = constant(i8[], [0])
  y = op.integer_matmul(x, w, none, zero, none, by, to, shift)
  return y
}}
""")
memory = parsed("plan", "--json", WIDE_BYTES)["memory"]
expect(memory["arena"] + memory["stack"] > 0 and
       memory.get("minimum", 0) <= memory["planned"], memory)

# -O0 .. -O3
steps = [len(parsed("plan", "--json", CNN, f"-O{level}")["steps"]) for level in range(4)]
expect(steps[0] > steps[1] > steps[2] == steps[3], f"levels make {steps} steps")
digests = [parsed("run", "--json", CNN, f"-O{level}")["digest"] for level in range(4)]
expect(digests[0] == digests[1] and digests[2] == digests[3], digests)
unlicensed = parsed("run", "--json", CNN, "--pass=-licensed")["digest"]
expect(unlicensed == digests[0], "without licensed passes -O2 differs from -O1")
fails(2, "plan", CNN, "-O4", says=["opt-level"])
fails(2, "plan", CNN, "--pass=-licenced", says=["no pass called licenced"])

# --hint: the plan changes and says how
BRANCHES = """model m(x: f32[n, 64]) -> (y: f32[n]) seed=1 {
  param u: f32[64, 1024] = uniform(-1, 1)
  param v: f32[64, 1024] = uniform(-1, 1)
  a = matmul(x, u)
  b = matmul(x, v)
  return y = reduce_max(a, axes=[1]) + reduce_max(b, axes=[1])
}
"""
MODEL = write("branches.takt", BRANCHES)
SIZE = ("-D", "n=64", "-t", "2")
plans = {hint: parsed("plan", "--json", MODEL, *SIZE, "--hint", hint)
         for hint in ("latency", "memory")}
expect(plans["memory"]["memory"]["arena"] < plans["latency"]["memory"]["arena"], "none is saved")
expect(plans["memory"]["hint"]["moved_steps"] > 0, plans["memory"]["hint"])
said = succeeds("plan", MODEL, *SIZE, "--hint", "memory")
expect("hint memory" in said and "in another place" in said and "instead of" in said, said)
said = succeeds("plan", MODEL, "--hint", "throughput")
expect("hint throughput: work is split for 1 thread a session" in said, said)
expect(parsed("plan", "--json", MODEL, "--hint", "throughput")["threads"] == 1, "throughput")
runs = {parsed("run", "--json", MODEL, *SIZE, "--hint", h)["digest"]
        for h in ("latency", "throughput", "memory")}
expect(len(runs) == 1, f"hints change bits: {runs}")
fails(2, "plan", MODEL, "--hint", "speed", says=["no hint speed", "hints are latency"])

# minimum, planned and maximum; a limit that cannot be kept
memory = plans["latency"]["memory"]
expect(memory["minimum"] < memory["planned"] <= memory["maximum"], memory)
expect(memory["minimum"] == plans["memory"]["memory"]["arena"], "the minimum is not reached")
expect("minimum" in succeeds("plan", MODEL) and "maximum" in succeeds("plan", MODEL), "plan")
LEAST = plans["memory"]["memory"]["peak"]  # of everything, not the arena alone
LIMIT = ("--memory-limit", str(LEAST))
said = fails(4, "run", MODEL, *SIZE, *LIMIT,
             says=["what would fit", f"--hint memory ({LEAST} bytes)", "-D n=", "packed weights"])
fails(4, "run", MODEL, *SIZE, "--memory-limit", str(LEAST - 1), "--hint", "memory")
succeeds("run", MODEL, *SIZE, *LIMIT, "--hint", "memory")
batch = re.search(r"-D (n=\d+) \((\d+) bytes\)", said)
smaller = parsed("plan", "--json", MODEL, "-t", "2", *LIMIT, "-D", batch.group(1))
expect(smaller["memory"]["peak"] == int(batch.group(2)), f"{batch.group(0)} is not true")
fails(4, "run", MODEL, *SIZE, "--memory-limit", "64", says=["nothing was found that fits"])

# --hint memory does without Winograd's weights, reports it, and changes bits only there
WINOGRAD = write("winograd.takt", """model m(x: f32[1, 64, 12, 12]) seed=1 {
  return conv2d(conv2d(x, 64, 3, pad=1, act=relu), 64, 3, pad=1)
}
""")
plans = {hint: parsed("plan", "--json", WINOGRAD, "-t", "1", "--hint", hint)
         for hint in ("latency", "memory")}
kinds = {hint: {step["kind"] for step in plan["steps"]} for hint, plan in plans.items()}
expect("winograd" in kinds["latency"] and "winograd" not in kinds["memory"], kinds)
expect(plans["memory"]["hint"]["direct_convs"] == 2, plans["memory"]["hint"])
expect(plans["latency"]["hint"]["direct_convs"] == 0, plans["latency"]["hint"])
weights = {hint: plan["memory"]["weights"] + plan["memory"]["packed"]
           for hint, plan in plans.items()}
expect(weights["memory"] * 3 < weights["latency"], weights)
for verb in ("plan", "run"):
    said = succeeds(verb, WINOGRAD, "--hint", "memory")
    expect("2 convolutions without Winograd" in said, said)
    expect("without Winograd" not in succeeds(verb, WINOGRAD), f"{verb} without the hint")
runs = {args: parsed("run", "--json", WINOGRAD, *args)["digest"]
        for args in ((), ("--hint", "memory"), ("--pass=-winograd",),
                     ("--hint", "memory", "--pass=+winograd"), ("--hint", "throughput"))}
usual = runs[()]
expect(runs[("--hint", "memory")] == runs[("--pass=-winograd",)] != usual, runs)
expect(runs[("--hint", "memory", "--pass=+winograd")] == usual == runs[("--hint", "throughput")],
       runs)
peak = plans["memory"]["memory"]["peak"]
succeeds("run", WINOGRAD, "-t", "1", "--hint", "memory", "--memory-limit", str(peak))
fails(4, "run", WINOGRAD, "-t", "1", "--memory-limit", str(peak), says=["--hint memory ("])

# donated and static inputs
INPUT = write("x.npy", npy((64, 512), [(i * 37 % 101 - 50) / 32 for i in range(64 * 512)]))
WEIGHTS = write("w.npy", npy((512,), [(i % 7 - 3) / 8 for i in range(512)]))
CHAIN = write("chain.takt", """model m(x: f32[n, 512], w: f32[512]) -> (y: f32[n]) {
  h = cos(tanh(x * exp(w)))
  return y = reduce_sum(cumsum(h, axis=1), axes=[1])
}
""")
X, W = ("-i", f"x={INPUT}"), ("-i", f"w={WEIGHTS}")
plain = parsed("run", "--json", CHAIN, *X, *W)
donated = parsed("run", "--json", CHAIN, *X, *W, "--donate", "x")
fixed = parsed("run", "--json", CHAIN, *X, "--static", f"w={WEIGHTS}")
expect(plain["digest"] == donated["digest"] == fixed["digest"], "donated or static change bits")
usual = parsed("plan", "--json", CHAIN, "-D", "n=64")
given = parsed("plan", "--json", CHAIN, "-D", "n=64", "--donate", "x")
constant = parsed("plan", "--json", CHAIN, "-D", "n=64", "--static", f"w={WEIGHTS}")
expect(given["memory"]["arena"] + 64 * 512 * 4 <= usual["memory"]["arena"], "donating saves none")
flops = [sum(step["flops"] for step in plan["steps"]) for plan in (constant, usual)]
expect(flops[0] < flops[1], f"a static input is not folded: {flops}")
expect("donated inputs: x" in succeeds("plan", CHAIN, "--donate", "x"), "plan does not say it")
fails(2, "plan", CHAIN, "--donate", "z", says=["no input called z"])
fails(2, "run", CHAIN, *X, *W, "--donate", "x", "--repeat", "3", says=["gone after one run"])
fails(2, "run", CHAIN, *X, *W, "--static", f"w={WEIGHTS}", says=["by -i and --static"])
fails(2, "run", CHAIN, *X, "--static", "w", says=["NAME=FILE"])
fails(2, "run", CHAIN, "--static", f"q={WEIGHTS}", says=["no input called q"])

# explain: passes run repeatedly, but a refusal for the same reason is reported once
for model in (MLP, ENCODER):
    passes = parsed("explain", "--json", model)["passes"]
    said = [tuple(event.values()) for event in passes["events"] if event["refused"] is not None]
    expect(0 < len(said) == len(set(said)) == passes["refused"], f"{model}: {said}")

# expm1 and log1p are never decomposed, at any level: the model has the bits of their kernel
for act, inner in (("elu", "expm1"), ("softplus", "log1p")):
    own = write(f"own_{act}.takt", f"model m(x: f32[64]) {{ return y = {act}(x) }}\n")
    for level in ("-O0", "-O2"):
        said = succeeds("explain", own, level)
        expect(f": {inner} ->" in said and ": div ->" not in said, f"{act} {level}: {said}")

# plan tries steps on one thread to save memory, including those with two anchors
with open("first.takt", "w", encoding="utf-8") as out:
    out.write("model m(x: f32[1, 3, 64, 64]) {\n"
              "  return x |> conv(8, 3) |> relu() |> conv(12, 5)\n}\n")
said = succeeds("plan", "--threads", "16", "--isa", "scalar", "first.takt")
expect("conv_planes" in said, said)

# explain --fusions: every opportunity, its gain and its bytes; --pass fuse
rows = parsed("explain", "--json", "--fusions", ENCODER)["fusions"]
expect(any(row["fused"] for row in rows), rows)
expect(all(row["gain"] > 1 and row["bytes_saved"] > 0 for row in rows), rows)
expect(all((row["refused"] is None) == row["fused"] for row in rows), rows)
twice = write("twice.takt", "model m(x: f32[4, 8]) {\n  h = x |> dense(8)\n"
                            "  return h / reduce_sum(relu(h), axes=[0])\n}\n")
said = succeeds("explain", "--fusions", twice)
expect("used elsewhere too" in said and "bytes saved" in said and "fused" in said, said)
middle = sorted(row["gain"] for row in rows if row["fused"])[len(rows) // 2]
fewer = parsed("explain", "--json", "--fusions", ENCODER, "--pass", f"fuse:min-gain={middle}")
expect(0 < sum(row["fused"] for row in fewer["fusions"]) < sum(row["fused"] for row in rows),
       "min-gain changes nothing")
expect(any("min-gain" in (row["refused"] or "") for row in fewer["fusions"]), "no reason is given")
counts = [len(parsed("plan", "--json", MLP, *flags)["steps"])
          for flags in ((), ("--pass=-fuse",), ("-O1", "--pass=+fuse"), ("-O1",))]
expect(counts[0] == counts[2] < counts[1] == counts[3], f"fuse on and off: {counts} steps")
expect(len({parsed("run", "--json", MLP, *flags)["digest"]
            for flags in ((), ("--pass=-fuse",), ("--pass=fuse:min-gain=1.5",))}) == 1, "bits")
listed = {row["name"]: row for row in parsed("opt", "--list", "--json")["passes"]}
narrows = listed["narrow-activations"]
expect(narrows["licence"] == "`numerics = fast`" and narrows["laws"],
       "opt --list does not say what narrow-activations does")
fails(2, "plan", MLP, "--pass=-narrow-activation",
      says=["no pass called narrow-activation", "mean narrow-activations"])
expect("fuse: several nodes" in succeeds("opt", "--list"), "opt --list does not name fuse")
fails(2, "plan", MLP, "--pass=fuse:gain=2", says=["fuse:gain=2 is not understood", "min-gain"])
fails(2, "plan", MLP, "--pass=fuse:min-gain=much", says=["not understood"])

# backends, --backend, `model m(...) backend=NAME`, --require
listed = {row["name"]: row for row in parsed("backends", "--json")}
keys = {"name", "available", "reason", "version", "summary", "good_for"}
expect(all(set(row) == keys for row in listed.values()), listed)
expect(all((row["reason"] is None) == row["available"] for row in listed.values()), listed)
expect("good for" in succeeds("backends"), "backends")
OWN = write("own.takt", "model m(x: f32[n, 8]) backend=ref { return y = relu(x) }")
expect(parsed("run", "--json", OWN)["backend"] == "ref", "the model's own backend is not used")
expect(parsed("run", "--json", OWN, "--backend", "cpu")["backend"] == "cpu", "the flag loses")
expect(parsed("run", "--json", MLP)["backend"] == "cpu", "the default is not cpu")
compiled = write("own.taktp", b"")
succeeds("compile", OWN, "-o", compiled)
expect(parsed("run", "--json", compiled)["backend"] == "ref", "compiling forgets the backend")
fails(2, "run", write("no.takt", "model m(x: f32[4]) backend=abc { return y = relu(x) }"),
      says=["no backend called abc"])
for verb in ("run", "plan", "kernels", "explain", "profile", "benchmark-run", "benchmark-compare",
             "benchmark-prepare", "benchmark-verify"):
    said = succeeds(verb, "--help-all")
    for flag in ("--backend", "--blas", "--simd", "--hint", "--require", "--memory-limit"):
        expect(flag in said, f"takt {verb} has no {flag}")
fails(4, "run", MLP, "--require", "ref", says=["ref is required", "runs on cpu", "--backend ref"])
fails(4, "run", MLP, "--require", "cuda", says=["cuda is required"])
fails(4, "run", MLP, "--require", "f32,int8", says=["int8 is required", "computes in f32"])
fails(2, "run", MLP, "--require", "fast", says=["neither a backend nor an element type"])
succeeds("run", MLP, "--require", "cpu,f32")
succeeds("run", MLP, "--backend", "ref", "--require", "ref")
if listed["blas"]["available"]:
    said = succeeds("run", MLP, "--backend", "blas", "--require", "blas", "-t", "1")
    expect("blas: " in said and (", 1 thread\n" in said or "cannot be controlled\n" in said), said)
    fails(4, "run", MLP, "--require", "blas", says=["runs on cpu", "add --backend blas"])
    fails(4, "run", "--backend", "blas", "--require", "blas", write(
        "none.takt", "model m(x: f32[4]) { return y = relu(x) }"),
          says=["no step of this model can run on it"])
    expect('"backend": "blas"' in succeeds("plan", "--json", MLP, "--backend", "blas"), "steps")
else:
    fails(4, "run", MLP, "--require", "blas", says=["blas is required"])
fails(1, "run", MLP, "--backend", "blas", "--blas", "/no/such.so", says=["no CBLAS library"])

# memory: the peak of planning, and the additional memory of the whole process
BIG = write("big.takt", "model m(x: f32[batch, 1024]) seed=1 {\n  y = x\n"
            "  repeat 12 { y = dense(y, 1024) }\n  return y\n}\n")
for model in (BIG, MLP, CNN, ENCODER, "examples/gpt.takt", "examples/stream.takt"):
    memory = parsed("plan", "--json", model)["memory"]
    weights = memory["weights"] + memory["packed"]
    expect(memory["planning_peak"] <= weights + (4 << 20) + (16 << 20), (model, memory))
    expect(memory["held"] <= weights + memory["state"] + (2 << 20), (model, memory))
    ran = parsed("run", "--json", model)
    expect(ran["planning_peak_bytes"] == memory["planning_peak"], (ran, memory))
    if ran["process_peak_bytes"] > 0:
        ours = max(ran["planning_peak_bytes"], ran["held_bytes"] + memory["arena"] + memory["io"])
        limit = 1.1 * ours + (8 << 20)
        peak = least_peak(TOOL, model)
        if peak > limit:
            peak = least_peak(shutil.copy(TOOL, os.path.join(TMP, "takt-copy")), model)
        expect(peak <= limit, (model, peak, ran))
        said = succeeds("run", model)
        expect("process: peak " in said and "the rest is code, libraries" in said, said)
# --hint memory: weights that are read in two forms are kept in one, with the same bits
PARAMS = "".join(f"  param {name}: f32[256, 256] = normal(0, 0.1)\n" for name in "abc")
TIED = write("tied.takt", "model m(x: f32[4, 256], i: i64[3]) seed=1 {\n" + PARAMS +
             "  h = op.concat(x @ a, op.gather(a, i, axis=0), axis=0)\n"
             "  h = op.concat(h @ b, op.gather(b, i, axis=0), axis=0)\n"
             "  return op.concat(h @ c, op.gather(c, i, axis=0), axis=0)\n}\n")
TURNED = write("turned.takt", "model m(x: f32[4, 256]) seed=1 {\n" + PARAMS +
               "  h = x @ a + op.matmul(x, a, transpose_b=true)\n"
               "  h = h @ b + op.matmul(h, b, transpose_b=true)\n"
               "  return h @ c + op.matmul(h, c, transpose_b=true)\n}\n")
for model in (TIED, TURNED):
    usual, small = (parsed("plan", "--json", model, *flags)["memory"]
                    for flags in ((), ("--hint", "memory")))
    expect(usual["packed"] > 0 and small["packed"] == 0, (usual, small))
    expect(small["weights"] == 3 * 256 * 256 * 4 and small["peak"] < usual["peak"],
           (usual, small))
    digests = {parsed("run", "--json", model, *flags)["digest"]
               for flags in ((), ("--hint", "memory"), ("--hint", "memory", "-t", "1"))}
    expect(len(digests) == 1, f"{model}: --hint memory changes bits")
    succeeds("run", model, "--hint", "memory", "--memory-limit", str(small["peak"]))
    fails(4, "run", model, "--hint", "memory", "--memory-limit", str(small["peak"] - 1))
expect("loading and planning: at most " in succeeds("plan", BIG), "plan tells no peak")
expect("process: " not in succeeds("run", MLP, "-q"), "-q")

# Tiles of an element-wise step are not larger than its result.
SMALL = write("small.takt", "model m(x: f32[6, 4], w: f32[6, 1]) { return sigmoid(x * w + x) }\n")
# Then they lie on the stack, as all scratch of a few KiB.
small = parsed("plan", "--json", SMALL)["memory"]
expect(0 < small["stack"] <= 1024, f"{small['stack']} bytes of scratch for 24 elements")
expect(small["scratch"] == 0 and small["arena"] == 0, small)

# A limit covers everything that a plan needs; the suggested limit is enough.
RESNET = write("resnet18.takt", """layer block(x, filters, stride=1) {
  h = relu(batch_norm(conv(x, filters, 3, stride=stride, bias=false)))
  h = batch_norm(conv(h, filters, 3, bias=false))
  s = x
  if stride > 1 {
    s = batch_norm(conv(x, filters, 1, stride=stride, bias=false))
  }
  return relu(h + s)
}
model resnet18(x: f32[1, 3, 224, 224]) seed=1 {
  h = max_pool(relu(batch_norm(conv(x, 64, 7, stride=2, bias=false))), 3, stride=2)
  h = block(block(h, 64), 64)
  h = block(block(h, 128, stride=2), 128)
  h = block(block(h, 256, stride=2), 256)
  h = block(block(h, 512, stride=2), 512)
  return dense(reshape(reduce_mean(h, axes=[2, 3]), shape=[1, 512]), 1000)
}
""")
fails(4, "plan", RESNET, "--memory-limit", "64M",
      says=["TAKT4002", "packed weights", "what would fit: --hint memory"])
said = succeeds("plan", RESNET, "--memory-limit", "64M", "--hint", "memory")
expect("convolutions without Winograd, which changes their bits" in said, said)
finish()
