"""planning.py - the flags that say how to plan: their effect, and what is said of mistakes."""
import platform
import re

from _cli import CNN, MLP, expect, fails, finish, npy, parsed, succeeds, write

ENCODER = "examples/encoder.takt"
ARM = platform.machine() in ("aarch64", "arm64")


def kernels(model, *flags):
    report = parsed("kernels", "--json", model, *flags)
    return {step["kind"]: step["kernel"] for step in report["steps"]}


# --simd: one family is capped, the others are not
usual, capped = kernels(ENCODER), kernels(ENCODER, "--simd", "attention=off,map=on")
expect(capped["attention"] == "gemm_f32/scalar", capped)
expect(capped["gemm"] == usual["gemm"] and capped["rows"] == usual["rows"], capped)
expect(kernels(ENCODER, "--simd", "rows=off")["rows"] == "rows_f32/scalar", "rows=off")
both = kernels(CNN, "--simd", "conv=off", "--simd", "gemm=off")
expect(both["conv"] == both["gemm"] == "gemm_f32/scalar", both)
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
expect("hint throughput: work is cut for 1 thread a session" in said, said)
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
LIMIT = ("--memory-limit", str(memory["minimum"]))
said = fails(4, "run", MODEL, *SIZE, *LIMIT,
             says=["what would fit", f"--hint memory ({memory['minimum']} bytes)", "-D n="])
succeeds("run", MODEL, *SIZE, *LIMIT, "--hint", "memory")
batch = re.search(r"-D (n=\d+) \((\d+) bytes\)", said)
smaller = parsed("plan", "--json", MODEL, "-t", "2", *LIMIT, "-D", batch.group(1))
expect(smaller["memory"]["arena"] == int(batch.group(2)), f"{batch.group(0)} is not true")
fails(4, "run", MODEL, *SIZE, "--memory-limit", "64", says=["nothing was found that fits"])

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

finish()
