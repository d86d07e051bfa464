"""planning.py - the flags that say how to plan: their effect, and what is said of mistakes."""
import platform

from _cli import CNN, MLP, expect, fails, finish, parsed, succeeds

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

finish()
