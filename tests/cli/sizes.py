"""sizes.py - ranges of sizes: what is reserved, what sizes inside them take, and mistakes."""
from _cli import expect, fails, finish, npy, parsed, path, succeeds, write

ENCODER = "examples/encoder.takt"
RANGE = ("-D", "batch=1..2", "-D", "seq=1..64")



def tensor(length):
    count = 2 * length * 64
    return write(f"x{length}.npy", npy([2, length, 64], [i % 17 / 8 - 1 for i in range(count)]))


# the plan of a range is that of its top, and says so
top = parsed("plan", "--json", ENCODER, "-D", "batch=2", "-D", "seq=64")
plan = parsed("plan", "--json", ENCODER, *RANGE)
planning_peak = plan["memory"]["planning_peak"]
for memory in (plan["memory"], top["memory"]):
    for key in ("held", "session", "planning_peak"):  # a range keeps what other sizes are made of
        expect(memory.pop(key) > 0, key)
expect(plan["memory"].pop("kept") > plan["memory"]["packed"], "weights are kept for other sizes")
most = plan["sizes_planning_peak"]  # with the tables of the sizes that are shown
expect(most >= planning_peak + plan["sizes_tables"] // 2 > planning_peak, plan)
expect(plan["memory"] == top["memory"], f"{plan['memory']} is not {top['memory']}")
expect("sizes" not in top, "one size has no table of sizes")
rows = {row["at"]: row for row in plan["sizes"]}
expect(rows["seq=1"]["arena"] < rows["seq=64"]["arena"], rows)
expect(rows["batch=2"]["arena"] == rows["seq=64"]["arena"], rows)
text = succeeds("plan", ENCODER, *RANGE)
expect("batch 1 to 2, seq 1 to 64" in text and "seq=32" in text, text)
expect("are for plans of other sizes" in text and "their tables: " in text, text)

# which steps do their work in another way from some size on: one query reads keys where they lie
changes = parsed("plan", "--json", ENCODER, "-D", "batch=1", "-D", "seq=1..64")["changes"]
expect(any(c["from"] == "seq=2" and "attention" in c["step"] and "direct_f32" in c["below"]
           and "gemm_f32" in c["is"] for c in changes), changes)
expect(not any(c["from"] > "seq=2" and "attention" in c["step"] for c in changes), changes)
expect("steps that change with sizes" in succeeds("plan", ENCODER, "-D", "seq=1..64"), "guards")
expect("changes" not in top, "one size has no changes")

# a run takes what its input has, with the bits of that size alone
for length in (1, 7, 64):
    x = tensor(length)
    alone = parsed("run", "--json", ENCODER, "-i", f"x={x}")["digest"]
    ranged = parsed("run", "--json", ENCODER, *RANGE, "-i", f"x={x}")["digest"]
    expect(alone == ranged, f"seq={length}: {alone} and {ranged}")

# requests of different sizes to one session
told = parsed("benchmark", "run", ENCODER, "-D", "batch=1", "--lengths", "1-24", "--iterations",
              "40", "--threads", "1", "--json")
expect(told["dimension"] == "seq" and told["all"]["requests"] == 40, told)
expect(told["all"]["low"] == 1 and told["all"]["high"] == 24, told)
expect(told["all"]["different"] > 10, told)
expect(sum(group["requests"] for group in told["groups"]) == 40, told)
expect(0 <= told["all"]["resizing_share"] < 1 and told["all"]["median_us"] > 0, told)
stream = write("lengths.txt", b"3 9\n3\n12 3\n")
told = parsed("benchmark", "run", ENCODER, "-D", "batch=1", "--lengths", f"seq={stream}", "--json")
expect(told["all"]["requests"] == 5 and told["all"]["different"] == 3, told)
text = succeeds("benchmark", "run", ENCODER, "--lengths", "5-6", "--iterations", "4")
expect("re-sizing" in text and "5 to 6" in text, text)
for wrong in ("6-5", "x", "-1-4", "1-4x"):
    fails(2, "benchmark", "run", ENCODER, "--lengths", wrong, says=["neither a range nor a file"])
fails(2, "benchmark", "run", ENCODER, "--lengths", "1-4", "-D", "seq=4", says=["both -D and"])
fails(2, "benchmark", "run", ENCODER, "--lengths", "1-4", "-i", "x=x.npy", says=["are random"])
fails(2, "benchmark", "run", ENCODER, "--lengths", "1-4", "-o", "r.json", says=["has no -o"])
fails(2, "benchmark", "run", ENCODER, "--lengths", "other=1-4", says=["other"])

# a cache that grows is state: 2 rows, then 1 more
CACHE = write("cache.takt", b"""model m(x: f32[s, 2], past: f32[p, 2], mask: f32[p + s]) {
  all = concat(past, x, axis=0)
  return y = reduce_sum(all * reshape(mask, shape=[p + s, 1]), axes=[0]), present = all
}
""")
ONES = {n: write(f"ones{n}.npy", npy([n], [1.0] * n)) for n in (2, 3)}
text = succeeds("inspect", CACHE, "--state", "auto=8")
expect("past:" not in text and "present:" not in text, text)
first = parsed("run", "--json", CACHE, "--state", "auto=8", "--state-out", path("rows.npz"),
               "-i", "x=" + write("two.npy", npy([2, 2], [1.0, 2, 3, 4])), "-i", f"mask={ONES[2]}")
expect(first["outputs"]["y"]["values"] == [4, 6], first)
then = parsed("run", "--json", CACHE, "--state", "auto=8", "--state-in", path("rows.npz"),
              "-i", "x=" + write("one.npy", npy([1, 2], [10.0, 20])), "-i", f"mask={ONES[3]}")
expect(then["outputs"]["y"]["values"] == [14, 26], then)
fails(1, "run", CACHE, "--state", "auto=2", "-i", "x=" + path("one.npy"), "-i", f"mask={ONES[3]}",
      says=["there are no 3 rows"])
fails(2, "run", CACHE, "--state", "yes", says=["--state auto"])
fails(2, "run", CACHE, "--state", "auto=0", says=["room for 0 rows"])
fails(2, "run", CACHE, "--state", "auto=9999999999999999",
      says=["room for 9999999999999999 rows", "1 to 2147483647"])
fails(2, "run", ENCODER, "--state", "auto", says=["rows appended"])

# mistakes
fails(2, "run", ENCODER, *RANGE, "-i", f"x={tensor(65)}", says=["seq is 65", "1..64"])
fails(2, "plan", ENCODER, "-D", "seq=9..3", says=["ends before it begins"])
for wrong in ("seq=1..", "seq=..3", "seq=1...3", "seq=1..x", "seq=-1..3"):
    fails(2, "plan", ENCODER, "-D", wrong, says=["NAME=SIZE", "seq=1..512"])
fails(2, "compile", ENCODER, "-D", "seq=1..64", "-o", path("x.taktp"), says=["one size is wanted"])

finish()
