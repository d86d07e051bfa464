"""peers_limits.py - the table of limits is computed from the rows, and misses are named."""
import importlib.util
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.getcwd(), "bench", "peers"))
import limits  # noqa: E402
import tails  # noqa: E402


def row(workload, threads, took, **more):
    return {"workload": workload, "threads": threads, "numerics": "exact", "takt": took,
            "torch": 2 * took, "ncnn": 3 * took, "best": "torch", "share": 0.95,
            "moving": 0.95 * took,
            "p99": {"takt": 1.1 * took, "torch": 2.4 * took, "ncnn": 3.15 * took}, **more}


def found(rows, **more):
    return {e["what"].split(",")[0]: e for e in limits.limits({"rows": rows, **more})}


rows = [row("gemm_512x512x512", 1, 100.0), row("gemm_512x512x512", 8, 20.0),
        row("gemm_1024x1024x1024", 1, 800.0, share=0.91),
        row("gemm_256x256x256", 1, 20.0, share=0.5),
        row("gemm_1x1024x1024", 1, 9.0), row("add_1m", 2, 9.0, moving=8.0),
        row("gemm_i8_1024x1024x1024", 1, 200.0), row("mlp_b1", 1, 10.0, moving=8.0),
        row("resnet50", 1, 10.0, share=0.79)]
cost = {"step_ns": 31.0, "wake_ns": 1200.0}
all_of = found(rows, overhead=cost)

# small products have no limit; one that misses is named, with the others' numbers
gemm = all_of["products of 512 and more"]
assert gemm["rows"] == {"gemm_512x512x512 1T": 0.95, "gemm_1024x1024x1024 1T": 0.91}, gemm
assert limits.cells(gemm)[1:] == ["at least 92.0 %", "91.0 % to 95.0 %",
                                  "1 of 2, worst gemm_1024x1024x1024 1T"], limits.cells(gemm)
narrow = [e for e in limits.limits({"rows": rows}) if e["what"].startswith("one row")]
assert [sorted(e["rows"]) for e in narrow] == [["gemm_1x1024x1024 1T"], ["add_1m 2T"]], narrow
assert [limits.cells(e)[3] for e in narrow] == ["held", "missed"], narrow
called = [{**r, "call": 0.3 if r["threads"] > 1 else 0} for r in rows]
narrow = [e for e in limits.limits({"rows": called}) if e["what"].startswith("one row")]
assert [round(e["worst"], 3) for e in narrow] == [0.95, round(8.3 / 9, 3)], narrow
assert [limits.cells(e)[3] for e in narrow] == ["held", "held"], narrow
assert [e["what"].endswith("calling the threads") for e in narrow] == [False, True], narrow
assert limits.cells(all_of["resnet50"])[3] == "missed"
assert abs(all_of["bytes over f32"]["worst"] - 4) < 1e-9, all_of["bytes over f32"]

# time over reading once; p99 over median against 1.2 of the fastest peer, and
# against 1.05 of the steadiest, for which there is no target
mlp = [e for e in limits.limits({"rows": rows}) if e["what"].startswith("mlp_b1")]
assert [round(e["worst"], 3) for e in mlp] == [1.25, 0.917, 1.048], mlp
assert [limits.cells(e)[3] for e in mlp] == ["held", "held", ""], mlp
assert limits.cells(mlp[2])[:3] == ["mlp_b1, p99 over median, over the steadiest peer's", "-",
                                    "1.05"], limits.cells(mlp[2])
alone = [{**r, "best": None, "p99": {"takt": 1.0}} for r in rows]
assert not [e for e in limits.limits({"rows": alone}) if "p99" in e["what"]], "there is no peer"

# the interval of a ratio of tails: blocks are resampled, the same ones for both
if importlib.util.find_spec("numpy") is not None:
    steady = [[10.0] * 98 + [11.0] * 2] * 5
    assert tails.interval(steady, steady) == [1.0, 1.0], tails.interval(steady, steady)
    slower = [[10.0] * 98 + [12.1 + 0.5 * i] * 2 for i in range(6)]
    low, high = tails.interval(slower, steady)
    assert 1.09 < low < high < 1.4, (low, high)

# threads: the end of the interval that is worst for them, of every number and of all numerics
def ratio(low, high):
    return {"ratio": (low + high) / 2, "interval": [low, high], "blocks": 5}


assert not [w for w in all_of if "threads over one" in w], "rows that were not taken alternately"
rows[1]["beside_one"] = {"2": ratio(0.5, 0.53), "8": ratio(0.19, 0.21)}
rows.append(row("relu_1m", 8, 9.0, numerics="fast", beside_one={"8": ratio(0.99, 1.03)}))
all_of = found(rows, overhead=cost)
assert limits.cells(all_of["2 threads over one"])[1:] == ["at most 1.02", "0.53", "held"]
assert limits.cells(all_of["8 threads over one"])[3] == "1 of 2, worst relu_1m fast", all_of

# overhead is measured by its own program, in these words
with open(os.path.join("bench", "overhead", "overhead.c"), encoding="utf-8") as file:
    source = file.read()
assert "a step without its kernel:" in source and "a worker that looks out:" in source
SAID = "a step without its kernel:    31.0 ns, kernel 9 ns\na worker that looks out:     1200 ns (1"
assert limits.parsed(SAID) == cost, limits.parsed(SAID)
assert limits.cells(all_of["a step without its kernel"])[2:] == ["31 ns", "held"]
assert limits.cells(all_of["waking a worker that looks out"])[3] == "missed"

# rows of an older table make no claim about fields they do not have
old = [{k: v for k, v in r.items() if k != "moving"} for r in rows]
assert "mlp_b1, 1 thread" not in limits.text(limits.limits({"rows": old}))
assert limits.limits({"rows": []}) == [] and limits.markdown([]) == []
print("limits are held or missed by their worst row")
