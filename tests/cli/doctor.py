"""doctor.py - causes found by measuring, and the boxes of the guides with their evidence."""
import json

from _cli import MLP, expect, fails, finish, parsed, succeeds, takt


def causes(*flags):
    found = parsed("doctor", MLP, "--json", "--duration", "30ms", *flags)["findings"]
    return {one["cause"]: one for one in found}


# A disabled option is found, as the largest gain that a flag can bring.
off = causes("-D", "batch=4", "-O0", "--threads", "1")
expect(off["optimisations switched off"]["is_cause"], f"-O0 is slow: {off}")
expect(off["optimisations switched off"]["gain_pct"] > 30, f"by far: {off}")
on = causes("-D", "batch=4", "--threads", "1")
expect("optimisations switched off" not in on, f"nothing is off: {on}")
for _ in range(4):  # other load on the machine can make the difference look random
    slow = causes("--backend", "ref", "-D", "batch=1")
    if slow["not on cpu"]["is_cause"]:
        break
expect(slow["not on cpu"]["is_cause"] and slow["not on cpu"]["gain_pct"] > 50,
       f"the interpreter is slow: {slow}")

# Microseconds are labelled as such, and a busy machine is reported before its effects.
text = succeeds("doctor", MLP, "--duration", "30ms", "--threads", "1")
expect(" us " in text.splitlines()[0] and " 0.0" not in text.splitlines()[0], text.splitlines()[0])
found = parsed("doctor", MLP, "--json", "--duration", "30ms")["findings"]
spoiled = [one["cause"] for one in found if one["gain_pct"] is None]
expect([one["cause"] for one in found[:len(spoiled)]] == spoiled, f"{found}")

# Memory: from plans that are made but not run, hence exact.
memory = causes("--memory", "-D", "batch=512")
half = parsed("plan", MLP, "-D", "batch=256", "--json")
whole = parsed("plan", MLP, "-D", "batch=512", "--json")
expect(memory["large batches"]["is_cause"], f"{memory}")
expect("-D batch=256" in memory["large batches"]["remedy"], f"{memory}")
expect("a leak" in memory and not memory["a leak"]["is_cause"], f"no run leaks: {memory}")
expect("0 allocations" in memory["a leak"]["figure"], f"{memory}")
expect(half != whole, "plans of different sizes")

rate = causes("--throughput")
expect({"data loading", "small batches"} <= set(rate), f"{rate}")
text = succeeds("doctor", MLP, "--throughput", "--duration", "30ms")
expect("not the cause" in text and "gain: at most" in text, text)

# The checklist: 69 boxes, each by the machine with evidence or by a person with a reason.
sheet = parsed("checklist", MLP, "--duration", "30ms", "--json", "--memory-limit", "80%",
               "-D", "batch=16", "--slo", "p50=10s", "--qps", "0.001")
boxes = {one["box"]: one for one in sheet["boxes"]}
expect(sheet["of"] == len(sheet["boxes"]) == 69, f"{sheet['of']} boxes")
expect(sheet["ticked"] + sheet["open"] + sheet["by_person"] == 69, "every box is counted")
expect([sum(one["guide"] == guide for one in sheet["boxes"])
        for guide in ("000", "001", "002", "004")] == [10, 33, 13, 13], "boxes of each guide")
expect(sum(one["by"] == "machine" for one in sheet["boxes"]) >= 55, "most boxes by the machine")
for one in sheet["boxes"]:
    expect(one["evidence"] != "", f"evidence: {one}")
    expect(one["ticked"] or one["by"] == "person" or one["fix"] != "", f"what to do: {one}")
for box in ("Using Float32 (not Float64)", "Buffers pre-allocated", "Set resource limits",
            "Compile and cache graphs", "Verify correctness after optimization",
            "Test edge cases", "Latency meets requirements", "Throughput meets requirements",
            "Set performance targets", "Implement operation fusion", "Enable SIMD operations"):
    expect(boxes[box]["ticked"], f"{box}: {boxes[box]}")
# The interpreter has neither vector code nor fusion, whatever the flags allow.
plain = {one["box"]: one for one in parsed("checklist", MLP, "--duration", "30ms", "--json",
                                           "--backend", "ref")["boxes"]}
for box in ("Enable SIMD operations", "Implement operation fusion"):
    expect(not plain[box]["ticked"] and "ref" in plain[box]["fix"], f"{box}: {plain[box]}")
broken = takt("checklist", MLP, "--duration", "30ms", "--json", "-O0", "-D", "batch=4",
              "--threads", "1", "--slo", "p50=1ns", "--qps", "1e12")
expect(broken.returncode == 4, f"a promise that is not kept: exit {broken.returncode}")
bad = json.loads(broken.stdout)["boxes"]
ticked = {one["box"]: one["ticked"] for one in bad}
for box in ("Set resource limits", "Enable SIMD operations", "Implement operation fusion",
            "Eliminate dead code", "Latency meets requirements", "Throughput meets requirements",
            "Apply recommended optimizations"):
    expect(not ticked[box], f"{box} at -O0: {bad}")
text = succeeds("checklist", MLP, "--duration", "30ms")
expect("[x] Buffers pre-allocated" in text and "[ ] Set resource limits" in text, text)
expect("--memory-limit 80%" in text and "by a person" in text, "what would tick it, and who")
expect("is not an SLO" in fails(2, "checklist", MLP, "--slo", "soon"), "a promise has a form")
fails(2, "doctor", says=["MODEL"])
fails(2, "doctor", MLP, "--duration", "soon")
expect("nothing.takt" in fails(1, "checklist", "nothing.takt"), "no such model")
finish()
