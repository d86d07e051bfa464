"""sizes.py - ranges of sizes: reserved memory, memory at sizes inside them, and mistakes."""
import os
import random
import shutil

from _cli import TMP, expect, fails, finish, npy, parsed, path, succeeds, takt, write

ENCODER = "examples/encoder.takt"
RANGE = ("-D", "batch=1..2", "-D", "seq=1..64")



def tensor(length):
    count = 2 * length * 64
    return write(f"x{length}.npy", npy([2, length, 64], [i % 17 / 8 - 1 for i in range(count)]))

# the plan of a range is that of its top, and reports it
top = parsed("plan", "--json", ENCODER, "-D", "batch=2", "-D", "seq=64")
plan = parsed("plan", "--json", ENCODER, *RANGE)
planning_peak = plan["memory"]["planning_peak"]
for memory in (plan["memory"], top["memory"]):
    # a range keeps the data that plans of other sizes are made from
    for key in ("held", "session", "planning_peak"):
        expect(memory.pop(key) > 0, key)
expect(plan["memory"].pop("kept") > plan["memory"]["packed"], "weights are kept for other sizes")
most = plan["sizes_planning_peak"]  # with the tables of the sizes that are shown
expect(most >= planning_peak + plan["sizes_tables"] // 2 > planning_peak, plan)
# The output of one size lies in the arena; sessions of a range keep it apart.
for key in ("io", "peak"):
    plan["memory"][key] -= 2 * 64 * 64 * 4
expect(plan["memory"] == top["memory"], f"{plan['memory']} is not {top['memory']}")
expect("sizes" not in top, "one size has no table of sizes")
rows = {row["at"]: row for row in plan["sizes"]}
expect(rows["seq=1"]["arena"] < rows["seq=64"]["arena"], rows)
expect(rows["batch=2"]["arena"] == rows["seq=64"]["arena"], rows)
text = succeeds("plan", ENCODER, *RANGE)
expect("batch 1 to 2, seq 1 to 64" in text and "seq=32" in text, text)
expect("are for plans of other sizes" in text and "their tables: " in text, text)

# steps that compute differently from some size on: few queries read keys in place
changes = parsed("plan", "--json", ENCODER, "-D", "batch=1", "-D", "seq=1..64")["changes"]
expect(any(c["from"] == "seq=9" and "attention" in c["step"] and "direct_f32" in c["below"]
           and "gemm_f32" in c["is"] for c in changes), changes)
expect(not any(c["from"] != "seq=9" and "attention" in c["step"] for c in changes), changes)
expect("steps that change with sizes" in succeeds("plan", ENCODER, "-D", "seq=1..64"), "guards")
expect("changes" not in top, "one size has no changes")

# a run takes the size of its input, with the bits of that size alone
for length in (1, 7, 64):
    x = tensor(length)
    alone = parsed("run", "--json", ENCODER, "-i", f"x={x}")["digest"]
    ranged = parsed("run", "--json", ENCODER, *RANGE, "-i", f"x={x}")["digest"]
    expect(alone == ranged, f"seq={length}: {alone} and {ranged}")

# several files of different lengths in one call: one session, the bits of each alone
FILES = [tensor(length) for length in (1, 7, 64)]
EACH = [word for x in FILES for word in ("-i", f"x={x}")]
alone = [parsed("run", "--json", ENCODER, "-i", f"x={x}") for x in FILES]
told = parsed("run", "--json", ENCODER, *EACH)
expect([one["file"] for one in told["files"]] == FILES, told)
expect([one["digest"] for one in told["files"]] == [one["digest"] for one in alone], told)
expect([one["outputs"] for one in told["files"]] == [one["outputs"] for one in alone], "values")
expect("seq=1..64" in told["sizes"] and "batch=2" in told["sizes"] and told["runs"] == 3, told)
text = succeeds("run", ENCODER, *EACH, "-o", path("y-{}.npy"), "--repeat", "2")
for x, one in zip(FILES, alone):
    expect(f"{x}:" in text and one["digest"] in text, text)
    single = path("single.npy")
    succeeds("run", ENCODER, "-i", f"x={x}", "-o", single)
    with open(single, "rb") as a, open(path("y-" + os.path.basename(x)), "rb") as b:
        expect(a.read() == b.read(), f"{x}: another file than that of one run")
expect("3 files, one session: " in text and "6 runs took" in text, text)
expect("written to " + path("y-x7.npy") in text, text)

# ... by a pattern, as arguments, by numbers, into a folder and into archives
shuffled = {one["digest"] for one in alone}
os.makedirs(path("inputs"), exist_ok=True)
for x in FILES:
    shutil.copy(x, path("inputs"))
for words in (["-i", "x=" + path("inputs/x[0-9]*.npy")], FILES, ["-i", *FILES]):
    told = parsed("run", "--json", ENCODER, *words)
    expect({one["digest"] for one in told["files"]} == shuffled, words)
told = parsed("run", "--json", ENCODER, FILES[1], "-o", path("one-{}.npy"))
expect(told["digest"] == alone[1]["digest"] and os.path.exists(path("one-x7.npy")), told)
os.makedirs(path("results"), exist_ok=True)
name = list(alone[0]["outputs"])[0]
for to, files in ((path("y{#}.npz"), [path(f"y{i}.npz") for i in (1, 2, 3)]),
                  (path("results"), [path(f"results/x{n}.{name}.npy") for n in (1, 7, 64)])):
    succeeds("run", ENCODER, *FILES, "-o", to)
    expect(all(os.path.exists(file) for file in files), f"{to}: {os.listdir(TMP)}")

# ... of several inputs in order, one file for all runs, combined with random ones
PAIR = write("pair.takt", b"""model m(a: f32[n], b: f32[n], c: f32[2, n], k: f32[1]) {
  return y = (a - b) * k, z = c
}
""")
A = [write(f"a{n}.npy", npy([n], [float(n)] * n)) for n in (2, 5)]
B = [write(f"b{n}.npy", npy([n], [1.0] * n)) for n in (2, 5)]
K = write("k.npy", npy([1], [10.0]))
given = [word for file in zip(A, B) for word in ("-i", "a=" + file[0], "-i", "b=" + file[1])]
told = parsed("run", "--json", PAIR, *given, "-i", f"k={K}", "--random")
expect([one["outputs"]["y"]["values"] for one in told["files"]] == [[10.0] * 2, [40.0] * 5], told)
expect([one["outputs"]["z"]["shape"] for one in told["files"]] == [[2, 2], [2, 5]], told)
for n, one in zip((2, 5), told["files"]):
    same = parsed("run", "--json", PAIR, "-i", "a=" + path(f"a{n}.npy"), "-i",
                  "b=" + path(f"b{n}.npy"), "-i", f"k={K}", "--random")
    expect(same["digest"] == one["digest"], f"random inputs of {n}: {same} and {one}")

# ... if both sizes at once would exceed the limit, plans are made one at a time
wide, long = (write(f"{n}x{m}.npy", npy([n, m, 64], [0.5] * (n * m * 64)))
              for n, m in ((64, 1), (1, 64)))
peak = max(parsed("run", "--json", ENCODER, "-i", x)["peak_bytes"] for x in (wide, long))
fails(4, "plan", ENCODER, "-D", "batch=1..64", "-D", "seq=1..64", "--memory-limit", str(peak))
told = parsed("run", "--json", ENCODER, wide, long, "--memory-limit", str(peak))
expect([one["outputs"][name]["shape"][:2] for one in told["files"]] == [[64, 1], [1, 64]], told)

# ... images of any size
IMAGE = write("image.takt", b"model m(x: f32[1, 1, h, w]) { return y = reduce_sum(x) }\n")
PIXELS = [write(f"{w}x{h}.pgm", b"P5 %d %d 255\n" % (w, h) + b"\xff" * (w * h))
          for w, h in ((3, 2), (5, 7))]
told = parsed("run", "--json", IMAGE, *PIXELS)
expect([one["outputs"]["y"]["values"] for one in told["files"]] == [[6.0], [35.0]], told)

# ... state carries over from file to file
STEPS = [write(f"step{i}.npy", npy([1, 1], [float(i)])) for i in (1, 2, 3)]
SUM = write("sum.takt", b"""model m(x: f32[1, n]) {
  state total: f32[1, 1] = 0
  next total = total + reduce_sum(x, axes=[1], keep=true)
  return y = total
}
""")
told = parsed("run", "--json", SUM, *STEPS)
expect([one["outputs"]["y"]["values"] for one in told["files"]] == [[0.0], [1.0], [3.0]], told)

# ... mistakes
short = write("short.npy", npy([2, 3, 63], [0.0] * (2 * 3 * 63)))
error = fails(2, "run", ENCODER, *FILES, short, "-o", path("no-{}.npy"), says=["short.npy"])
expect(not os.path.exists(path("no-x1.npy")), "a result before all files were read")
fails(2, "run", ENCODER, *FILES, "-D", "seq=1..8", says=["seq is 64 by", "x64.npy", "1..8"])
fails(2, "run", ENCODER, *FILES, "-o", path("all.npz"), says=["would both write", "{#}"])
fails(2, "run", ENCODER, *FILES, "-o", "-", says=["standard output takes one result"])
fails(2, "run", ENCODER, *FILES, "-o", path("{}.npy"), says=["x1.npy", "written over"])
fails(2, "run", ENCODER, "-o", path("{}.npy"), says=["and there is none"])
fails(2, "run", ENCODER, *FILES, "--batch-size", "2", says=["--batch-size cuts one file, not 3"])
fails(2, "run", ENCODER, *FILES, "--prepare", "seq=4", says=["--prepare is for one file"])
fails(2, "run", ENCODER, "-i", path("none*.npy"), says=["no file matches"])
fails(2, "run", PAIR, *given, "-i", f"a={A[0]}", says=["input a has 3 files, input b has 2"])
fails(2, "profile", ENCODER, *EACH, says=["input x is given twice", "takt run"])

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

# two names unified to one size: the other takes it, and a third number is refused
PAIR = write("pair.takt", b"model m(x: f32[b, 2], y: f32[p, 2]) { return z = x + y }\n")
expect("z: f32[3, 2]" in succeeds("run", PAIR, "-D", "p=3"), "p=3")
expect("z: f32[3, 2]" in succeeds("run", PAIR, "-D", "p=3", "-D", "b=3"), "p=3, b=3")
for words in (("-D", "b=2", "-D", "p=1"), ("-D", "p=1", "-D", "b=2")):
    fails(2, "run", PAIR, *words, says=["p=1: in this model p is b, which is 2"])

# sizes that are not given are 1: where a window does not fit that, sizes that work are suggested
WINDOW = write("window.takt", b"model m(x: f32[b, n]) {\n"
               b"  return y = pad(x, before=[0, 3], after=[0, 3], mode=reflect)\n}\n")
for words in ((), ("-D", "b=3")):
    fails(1, "run", WINDOW, "--random", *words,
          says=["sizes that are not given are 1; n=4 works\n"])
SECONDS = write("seconds.takt", b"model m(x: f32[b, n]) {\n"
                b"  return y = pad(x, before=[0, 30000], after=[0, 3], mode=reflect)\n}\n")
fails(1, "run", SECONDS, "--random", says=["sizes that are not given are 1; n=65536 works\n"])
told = takt("run", WINDOW, "--random", "-D", "n=2").stderr
expect("hint" not in told, f"no open size is at fault: {told}")

# mistakes
fails(2, "run", ENCODER, *RANGE, "-i", f"x={tensor(65)}", says=["seq is 65", "1..64"])
fails(2, "plan", ENCODER, "-D", "seq=9..3", says=["ends before it begins"])
for wrong in ("seq=1..", "seq=..3", "seq=1...3", "seq=1..x", "seq=-1..3"):
    fails(2, "plan", ENCODER, "-D", wrong, says=["NAME=SIZE", "seq=1..512"])
fails(2, "compile", ENCODER, "-D", "seq=1..64", "-o", path("x.taktp"), says=["one size is wanted"])

finish()
