"""threads.py - which processors threads use, how long they look out, pages, and prepared sizes."""
import os
import re

from _cli import MLP, expect, fails, finish, parsed, succeeds, takt

CORES = sorted(os.sched_getaffinity(0))
want = parsed("run", MLP, "--json")["digest"]


def runs(*flags):
    run = takt("run", MLP, "--json", *flags)
    expect(run.returncode == 0 and want in run.stdout, f"{flags}: {run.stdout}{run.stderr}")
    return run.stderr


# --pin: to existing cores, otherwise with a reason.
runs("--pin", f"0:{CORES[0]}")
runs("--pin", f"0:{CORES[0]},1:{CORES[-1]}", "--threads", "2")
fails(2, "run", MLP, "--threads", "2", "--pin", "5:0", says=["no worker 5", "0 to 1"])
fails(2, "run", MLP, "--threads", "2", "--pin", "1:9999", says=["worker 1", "core 9999"])
for wrong in ("1", "1:", ":1", "a:b", "0:1;1:2", "0:1,"):
    fails(2, "run", MLP, "--pin", wrong, says=["WORKER:CORE", "--pin 0:1,1:2"])
fails(2, "run", MLP, "--pin", "0:0,0:1", says=["two cores"])

# --cpu-mask: the plan has as many threads as the mask has cores.
one = hex(1 << CORES[-1])
expect(parsed("run", MLP, "-C", one, "--json")["threads"] == 1, "one processor, one thread")
expect(parsed("plan", MLP, "--cpu-mask", one, "--json")["threads"] == 1, "a plan under a mask")
expect(takt("run", MLP, "-C", one).stderr == "", "one processor brings no warning")
for wrong in ("0", "xyz", "0x"):
    fails(2, "run", MLP, "-C", wrong, says=["mask", "hexadecimal"])
fails(2, "run", MLP, "-C", "8" + "0" * 200, says=["leaves no processor"])

# --spin and --huge-pages change no bit.
for spin in ("0", "20", "1000"):
    runs("--threads", "2", "--spin", spin)
fails(2, "run", MLP, "--spin", "soon", says=["--spin needs"])
for kind in ("auto", "off"):
    expect(runs("--huge-pages", kind) == "", "nothing to be told")
for kind in ("thp", "explicit"):
    told = runs("--huge-pages", kind)
    expect(re.search(r"the arena has (transparent|reserved) huge pages|ordinary pages: .+", told) or
           re.search(r"huge pages: .+", told), f"--huge-pages {kind}: {told}")
fails(2, "run", MLP, "--huge-pages", "large", says=["auto, off, thp and explicit"])

# --prepare and --static-shapes.
told = runs("--prepare", "batch=1,8,32")
for size in (1, 8, 32):
    expect(re.search(rf"prepared batch={size}: planned in [0-9.]+ ms", told), told)
succeeds("run", MLP, "-D", "batch=8", "--prepare", "batch=1,8", "--static-shapes")
fails(1, "run", MLP, "-D", "batch=9", "--prepare", "batch=1,8", "--static-shapes",
      says=["TAKT4010", "batch=9", "--prepare batch=9"])
fails(1, "run", MLP, "--static-shapes", says=["TAKT4010"])
for wrong in ("batch", "batch=", "batch=1,x"):
    fails(2, "run", MLP, "--prepare", wrong, says=["batch=1,8,32"])
fails(2, "run", MLP, "--prepare", "rows=1", says=["rows"])
for flag in (("--pin", "0:0"), ("--prepare", "batch=1"), ("--static-shapes",)):
    fails(2, "run", MLP, "--batch-size", "2", *flag, says=["--batch-size has many"])
expect(parsed("run", MLP, "--json")["plan_ns"] > 0, "the time of planning is reported")

# --max-ram
fails(1, "run", MLP, "--max-ram", "64k", says=["--max-ram"])
fails(2, "run", MLP, "--max-ram", "much", says=["--max-ram needs"])
finish()
