"""text_memory.py - a text needs the memory that its plan states: weights are read one at a time,
and what they are packed from is not kept."""
import os
import shutil
import subprocess
import sys
import time

from _cli import CLEAN, ROOT, TMP, TOOL, expect, fails, finish, parsed

MIB = 1 << 20
MORE = 64 * MIB  # code, tables of words, and the largest weight while it is packed
SHAPE = "layers=4, width=768, heads=12, shared=4, hidden=2048, words=32000"


def model(kind):
    """A file of random weights, written by another process: the peak of a child is at least that of
    this one."""
    path = os.path.join(TMP, f"memory-{kind}.gguf")
    write = f"import text; text.write_model({path!r}, {kind!r}, {SHAPE})"
    subprocess.run([sys.executable, "-c", write], cwd=os.path.join(ROOT, "bench/peers"),
                   check=True)
    return path


def peak(*args):
    """Resident bytes of a call at most."""
    with open(os.devnull, "w", encoding="utf-8") as nothing:
        actions = [(os.POSIX_SPAWN_DUP2, nothing.fileno(), fd) for fd in (1, 2)]
        child = os.posix_spawn(TOOL, [TOOL, *args], CLEAN, file_actions=actions)
    status, used = os.wait4(child, 0)[1:]
    expect(status == 0, f"takt {' '.join(args)} exits with {os.waitstatus_to_exitcode(status)}")
    return used.ru_maxrss * 1024


def folder(kind):
    """The same weights as a folder of Hugging Face."""
    path, to = model(kind), os.path.join(TMP, f"memory-{kind}")
    subprocess.run([TOOL, "convert", path, "-o", to + "/"], check=True)
    os.remove(path)
    return to


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    else:
        os.remove(path)


def held(kind, path):
    files = [path]
    if os.path.isdir(path):
        files = [os.path.join(path, name) for name in os.listdir(path)]
    size = sum(os.stat(name).st_size for name in files)
    plan = parsed("plan", path, "-c", "256", "--parallel", "1", "--json")
    expect(plan["weights"] <= 1.01 * size, f"{kind}: {plan} for a file of {size} bytes")
    stated = plan["weights"] + plan["caches"] + plan["arena"]
    most = peak("generate", path, "-p", "t1 t2", "-n", "2", "-c", "256", "-t", "2", "-q")
    expect(most <= stated + MORE, f"{kind}: {most} bytes, the plan states {stated}")
    only = peak("plan", path, "-c", "256", "--parallel", "1")
    expect(only <= MORE, f"{kind}: {only} bytes for a plan, whose weights are not read")
    remove(path)


def impossible():
    """A context that no memory can hold is refused at once."""
    path = model("q4_0")
    begin = time.monotonic()
    said = fails(1, "generate", path, "-p", "t1", "-c", str(1 << 24), says=["-c N"])
    took = time.monotonic() - begin
    expect(took < 5 and "exceed" in said, f"{took:.1f} s: {said}")
    fails(2, "generate", path, "-p", "t1", "-c", str(10**9), says=["16777216 are", "-c N"])
    os.remove(path)


for name in ("q8_0", "q4_0", "f16", "q4_k"):
    held(name, model(name))
held("folder", folder("f16"))
impossible()
finish()
