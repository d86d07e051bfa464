"""text_memory.py - a text needs the memory that its plan states: weights are read one at a time,
and what they are packed from is not kept."""
import os
import shutil
import socket
import subprocess
import sys
import time

from _cli import CLEAN, ROOT, TMP, TOOL, expect, fails, finish, parsed

MIB = 1 << 20
MORE = 64 * MIB  # code, tables of words, and the largest weight while it is packed
TINY = "tests/corpus/gguf/tiny.gguf"
CONTEXT = ("-c", "256")
SHAPE = "layers=4, width=768, heads=12, shared=4, hidden=2048, words=32000"


TIED = """
whole = text.shape_of
text.shape_of = lambda *of: (each for each in whole(*of) if each[0] != 'output.weight')
text.TYPES.update(f32=(0, 1, 4, {}), bf16=(30, 1, 2, {}))
"""


def model(kind, shape=SHAPE, more=""):
    """A file of random weights, written by another process: the peak of a child is at least that of
    this one."""
    path = os.path.join(TMP, f"memory-{kind}.gguf")
    write = f"import text\n{more}\ntext.write_model({path!r}, {kind!r}, {shape})"
    subprocess.run([sys.executable, "-c", write], cwd=os.path.join(ROOT, "bench/peers"),
                   check=True)
    return path


def peak(*args, code=0):
    """Resident bytes of a call at most."""
    with open(os.devnull, "w", encoding="utf-8") as nothing:
        actions = [(os.POSIX_SPAWN_DUP2, nothing.fileno(), fd) for fd in (1, 2)]
        child = os.posix_spawn(TOOL, [TOOL, *args], CLEAN, file_actions=actions)
    status, used = os.wait4(child, 0)[1:]
    got = os.waitstatus_to_exitcode(status)
    expect(got == code, f"takt {' '.join(args)} exits with {got}, not {code}")
    return used.ru_maxrss * 1024


def folder(kind):
    """The same weights as a folder of Hugging Face."""
    path, to = model(kind), os.path.join(TMP, f"memory-{kind}")
    subprocess.run([TOOL, "convert", path, "-o", to + "/"], check=True)
    os.remove(path)
    return to


def compiled(kind):
    """The same weights as one checked file."""
    path, to = model(kind), os.path.join(TMP, f"memory-{kind}.taktp")
    activations = "f32" if kind == "f16" else "int8"
    written(path, to, "-c", "256", "--activations", activations)
    os.remove(path)
    return to


def written(path, to, *flags):
    """Weights go into the file one at a time."""
    most = peak("convert", path, "-o", to, *flags, "-q")
    expect(most <= MORE, f"{path}: {most} bytes to write it")


def rewritten():
    path, place = model("f16"), os.path.join(TMP, "memory-again")
    first, second = place + ".taktp", place + "-2.taktp"
    written(path, first)
    written(first, second)
    sizes = [os.stat(name).st_size for name in (first, second)]
    expect(min(sizes) > 2 * MORE, f"{sizes} bytes would fit anyway")
    for name in (path, first, second):
        os.remove(name)


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    else:
        os.remove(path)


def stated(path):
    """What a plan states, and of that the weights, which are no larger than the file."""
    files = [path]
    if os.path.isdir(path):
        files = [os.path.join(path, name) for name in os.listdir(path)]
    size = sum(os.stat(name).st_size for name in files)
    plan = parsed("plan", path, *CONTEXT, "--parallel", "1", "--json")
    expect(plan["weights"] <= 1.01 * size, f"{path}: {plan} for a file of {size} bytes")
    return plan["weights"] + plan["caches"] + plan["arena"]


def held(kind, path):
    states = stated(path)
    most = peak("generate", path, "-p", "t1 t2", "-n", "2", *CONTEXT, "-t", "2", "-q")
    expect(most <= states + MORE, f"{kind}: {most} bytes, the plan states {states}")
    only = peak("plan", path, *CONTEXT, "--parallel", "1")
    expect(only <= MORE, f"{kind}: {only} bytes for a plan, whose weights are not read")
    remove(path)


def tied():
    """A table that is also the head is held once, in every type."""
    shape = "layers=1, width=512, heads=8, shared=2, hidden=512, words=8000"
    for kind in ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q2_k", "q3_k",
                 "q4_k", "q5_k", "q6_k", "iq4_nl", "iq4_xs", "iq2_xxs", "iq2_s", "iq3_xxs", "iq3_s",
                 "iq1_s", "tq2_0", "nvfp4"):
        path = model(kind, shape, TIED)
        stated(path)
        os.remove(path)


def refused():
    """What is wrong with a command line is said before weights are read."""
    path = model("q8_0", "layers=4, width=768, heads=12, shared=4, hidden=2048, words=64000")
    empty, bad = os.path.join(TMP, "empty.txt"), os.path.join(TMP, "bad.jinja")
    for name, text in ((empty, "\n\r\n"), (bad, "{% if %}")):
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
    listener = socket.create_server(("127.0.0.1", 0))
    port = str(listener.getsockname()[1])
    ask, serve = ("generate", path, "-p", "t1", "-n", "1", "-c", "64"), ("serve", path, "-c", "64")
    for code, args in ((2, [*ask, "--samplers", "foo"]), (2, [*ask, "--top-p", "-1"]),
                       (2, [*ask, "-l", "64000+1"]), (2, [*ask, "--draft-p-min", "x"]),
                       (1, [*ask, "-md", path + "x"]), (1, [*ask, "-md", TINY]),
                       (1, ["generate", TINY, "-p", "a", "-n", "1", "-md", path]),
                       (1, [*serve, "-md", TINY]), (1, ["serve", TINY, "-md", path]),
                       (1, [*ask, "--chat"]), (2, [*ask, "--chat-template", "none"]),
                       (1, [*ask, "--chat-template", bad]),
                       (2, ["generate", path, "-p", "t1 " * 65, "-c", "64"]),
                       (2, ["generate", path, "-f", empty, "-np", "2", "-c", "64"]),
                       (2, [*ask[:2], "-f", bad, "-np", "2", "--interactive", "-c", "64"]),
                       (1, ["perplexity", path, "-p", "t1 t2", "--kl-divergence", path + "x"]),
                       (1, [*serve, "--port", port]), (1, [*serve, "--host", "nowhere"]),
                       (2, [*serve, "--chat-template", "none"]),
                       (1, [*serve, "--chat-template", bad])):
        most = peak(*args, code=code)
        expect(most < os.stat(path).st_size / 2, f"takt {' '.join(args)}: {most} bytes")
    listener.close()
    os.remove(path)


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
for name in ("q8_0", "f16"):
    held(name + " compiled", compiled(name))
held("tied", model("f16", "layers=1, width=1024, heads=8, shared=2, hidden=512, words=40000", TIED))
rewritten()
tied()
refused()
impossible()
finish()
