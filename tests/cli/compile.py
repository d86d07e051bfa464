"""compile.py - compiled models run as their sources do, and damaged ones are refused; batches."""
import os

from _cli import CNN, MLP, STREAM, expect, fails, finish, parsed, path, succeeds


def digest(*args):
    return parsed("run", *args, "--json").get("digest")


# Every verb accepts the compiled file; the bits are those of the source.
for name, model in (("mlp", MLP), ("cnn", CNN), ("stream", STREAM), ("kv", "examples/kv.takt")):
    file = path(name + ".taktp")
    succeeds("compile", model, "-o", file)
    want = digest(model)
    expect(want and want == digest(file), f"{name}: the compiled model gives another digest")
    source, compiled = succeeds("plan", model), succeeds("plan", file)
    source, compiled = (text.split("memory in bytes")[1].split("  tables: ")[0]
                        for text in (source, compiled))  # loading and the process differ
    expect(source == compiled,
           f"{name}: the compiled model needs other memory")

# It can be compiled again, and JSON output records that.
again = parsed("compile", path("mlp.taktp"), "-o", path("again.taktp"), "--json")
expect(again == {"model": "mlp", "file": path("again.taktp")}, str(again))
expect(digest(path("again.taktp")) == digest(MLP), "compiled twice")

# Weights in 16 bits: half the file size, the error is reported, and the bits are the same as with
# the flag.
for precision in ("f16", "bf16"):
    half = path(precision + ".taktp")
    said = succeeds("compile", MLP, "--precision", precision, "-o", half)
    expect(f"weights in {precision}: largest error against f32" in said, said)
    expect(os.path.getsize(half) < 0.52 * os.path.getsize(path("mlp.taktp")), os.path.getsize(half))
    run = parsed("run", MLP, "--json", "--precision", precision)
    expect(digest(half) == run["digest"] != digest(MLP), f"{precision}: the file gives other bits")
    expect(0 < run["deviation"]["rms_relative"] < 0.01, run["deviation"])
    plans = [parsed("plan", "--json", *args)["memory"] for args in
             ((MLP,), (MLP, "--precision", precision), (half,))]
    expect(plans[0]["packed"] == 2 * plans[1]["packed"] == 2 * plans[2]["packed"], plans)
expect("largest error" not in succeeds("run", MLP, "--precision", "f32"), "f32 has no error")
with open(path("wide.takt"), "w", encoding="utf-8") as file:
    file.write("model wide(x: f32[2, 8]) seed=1 {\n  param w: f32[8, 4]\n"
               "  return x @ (w * 100000.0)\n}\n")
fails(1, "compile", path("wide.takt"), "--precision", "f16", "-o", path("wide.taktp"),
      says=["TAKT4006", "is infinite in f16", "--precision bf16"])
expect(not os.path.exists(path("wide.taktp")), "a file that cannot run is not written")
for has, asks in (("f16", "bf16"), ("bf16", "f16")):
    model, twice = (path(has + ".taktp"), "--precision", asks), path("twice.taktp")
    words = f"precision {asks} changes nothing: weights are {has} already, and left so"
    for said in (succeeds("run", *model), succeeds("compile", *model, "-o", twice)):
        expect(f"precision {asks}: no result differs" in said and f"note: {words}\n" in said and
               f"weights in {asks}" not in said, f"weights that are {has} already stay: {said}")
    told = parsed("compile", *model, "-o", twice, "--json")["deviation"]
    expect(told["note"] == words and told["max_abs"] == 0, told)
    plan = parsed("plan", *model, "--json")["config"]
    expect(plan["precision"] == has and plan["note"] == words, plan)
    expect(digest(twice) == digest(path(has + ".taktp")), "what is left has the same bits")
said = succeeds("compile", path("f16.taktp"), "--precision", "f16", "-o", path("twice.taktp"))
expect("no result differs" in said and "note:" not in said, f"they are what was asked for: {said}")
fails(2, "compile", MLP, "--precision", "f12", "-o", path("no.taktp"), says=["no precision f12"])
fails(2, "run", MLP, "--precision", "f12", says=["no precision f12", "f32, f16 or bf16"])

# What is wrong.
fails(2, "compile", MLP, says=["no file to write to", "-o m.taktp"])
fails(1, "compile", MLP, "-o", path("no/such/folder/m.taktp"), says=["cannot write"])
with open(path("mlp.taktp"), "rb") as file:
    whole = file.read()
for name, damaged, says in (("cut", whole[:5000], "its header says"),
                            ("bit", whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:], "checksum"),
                            ("new", whole[:8] + b"\x02" + whole[9:], "checksum of the header")):
    with open(path(name + ".taktp"), "wb") as file:
        file.write(damaged)
    fails(1, "run", path(name + ".taktp"), says=["TAKT3007", says])

# Many samples: the same bits for any batch and any number of sessions.
want = digest(MLP, "-D", "batch=37")
for size, jobs in ((1, 1), (8, 2), (36, 3), (37, 1), (100, 2)):
    expect(digest(MLP, "-D", "batch=37", "--batch-size", str(size), "--jobs", str(jobs)) == want,
           f"batches of {size} in {jobs} sessions")
fails(1, "run", STREAM, "--batch-size", "2", says=["goes from run to run"])
fails(2, "run", MLP, "--batch-size", "2", "--deadline", "5s", says=["--deadline is for one run"])
fails(2, "run", MLP, "--jobs", "2", says=["--jobs needs --batch-size"])
finish()
