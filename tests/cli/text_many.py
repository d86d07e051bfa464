"""text_many.py - a file of prompts: each text is the same as for its prompt alone, however many are
generated at a time; and fractions of the machine's ceilings after the speeds."""
import json
import os
import re
import signal
import subprocess

import _ceilings
from _cli import CLEAN, ROOT, TMP, TOOL, expect, fails, finish, parsed, succeeds, takt

TINY = "tests/corpus/gguf/tiny.gguf"
T5 = "tests/corpus/gguf/tiny_t5.gguf"
FILE = os.path.join(TMP, "prompts.txt")
PROMPTS = ["a b", "b", "c a b a", "a b c a b c b a", "b b", "a a a", "c"]


def many():
    with open(FILE, "w", encoding="utf-8") as file:
        file.write("\n".join(PROMPTS[:3]) + "\n\n" + "\r\n".join(PROMPTS[3:]))
    for model, more in ((TINY, ["-s", "3"]), (TINY, ["--temp", "0", "--dry-multiplier", "1"]),
                        (TINY, ["-s", "5", "--temp", "2", "--ignore-eos"]), (T5, ["-s", "3"])):
        ask = ["generate", model, "-n", "12", "--json", *more]
        want = [parsed(*ask, "-p", prompt) for prompt in PROMPTS]
        pools = [["-np", "7", "-c", "1024", "--kv-pool", size] for size in ("1M", "24K")]
        for flags in (["-np", "1"], ["-np", "3"], ["--parallel", "8", "-t", "1", "-tb", "2"],
                      ["-np", "2", "-ub", "2"], ["-np", "4", "-b", "1", "-ub", "9"],
                      *(pools if model == TINY else [])):
            got = parsed(*ask, "-f", FILE, *flags)
            expect([t["text"] for t in got] == [t["text"] for t in want] and
                   [t["end"] for t in got] == [t["end"] for t in want] and
                   [t["tokens"] for t in got] == [t["tokens"] for t in want],
                   f"{model} {more} {flags}: {got}, alone {want}")
    plain = takt("generate", TINY, "-n", "4", "--temp", "0", "-f", FILE, "-np", "2")
    expect(len(re.findall(r"^--- \d$", plain.stdout, re.M)) == len(PROMPTS) and
           "--- 1\na b" in plain.stdout and "7 prompts, 2 at a time" in plain.stderr,
           f"{plain.stdout} {plain.stderr}")
    said = parsed("generate", TINY, "-n", "4", "--temp", "0", "-f", FILE, "-np", "2", "--chat",
                  "--chat-template", "vicuna", "--json")
    one = parsed("generate", TINY, "b", "-n", "4", "--temp", "0", "--chat", "--chat-template",
                 "vicuna", "--json")
    expect(said[1]["text"] == one["text"], f"{said[1]}, alone {one}")
    with open(FILE, "w", encoding="utf-8") as file:
        file.write("a\\nb\n")
    got = parsed("generate", TINY, "-n", "4", "--temp", "0", "-f", FILE, "-np", "2", "-e", "--json")
    want = parsed("generate", TINY, "-n", "4", "--temp", "0", "-p", "a\\nb", "-e", "--json")
    expect(len(got) == 1 and got[0]["text"] == want["text"], f"{got}, not {want}")


def catches(process):
    """Whether a process that runs has a handler of SIGTERM by now."""
    while process.poll() is None:
        with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
            caught = re.search(r"^SigCgt:\s*(\w+)", file.read(), re.M)
        if caught and int(caught[1], 16) >> (signal.SIGTERM - 1) & 1:
            return True
    return False


def interrupted():
    """No prompt begins after a signal, and the finished texts are reported."""
    count = 40000
    with open(FILE, "w", encoding="utf-8") as file:
        file.write("a b c\n" * count)
    with subprocess.Popen([TOOL, "generate", TINY, "-f", FILE, "-np", "4", "-n", "60", "-s", "3",
                           "--ignore-eos", "--json"], cwd=ROOT, env=CLEAN, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        expect(catches(process), "it ended before it was interrupted")
        process.send_signal(signal.SIGTERM)
        got = json.loads(process.communicate()[0])
        expect(process.returncode == 0 and len(got) < count, f"{len(got)} of {count} texts")
        expect(all(t["tokens"] == got[0]["tokens"] for t in got[:-4]), f"{got[-9:]}")


def mistakes():
    fails(2, "generate", TINY, "a", "--parallel", "2", says=["--parallel", "-f FILE"])
    with open(FILE, "w", encoding="utf-8") as file:
        file.write("a\n" + "a b " * 100)
    fails(2, "generate", TINY, "-f", FILE, "-np", "2", "-c", "16", says=["prompt 2", "context"])
    fails(2, "generate", TINY, "-f", FILE, "-np", "2", "--interactive", says=["not a conversation"])
    fails(2, "generate", TINY, "-f", FILE, "-np", "999", says=["256"])
    pool = ["generate", TINY, "-f", FILE, "-c", "1024", "--kv-pool"]
    fails(2, *pool, "1M", says=["--kv-pool does nothing", "--parallel 2"])
    fails(2, *pool, "1M", "-np", "1", says=["--kv-pool does nothing", "--parallel 2"])
    fails(2, *pool, "100", "-np", "2", says=["1003", "at least 2 pages"])
    fails(2, *pool, "24K", "-np", "2", "-n", "500", says=["prompt 1", "500 more", "pool of caches"])
    fails(2, "generate", T5, "-f", FILE, "-np", "2", "--kv-pool", "1M", says=["1003", "pool"])
    with open(FILE, "w", encoding="utf-8") as file:
        file.write("\n\n")
    fails(2, "generate", TINY, "-f", FILE, "-np", "2", says=["no prompt"])


def shares():
    got = parsed("generate", TINY, "a b a b", "-n", "8", "--temp", "0", "--json")
    expect(got["prompt_share"] > 0 and got["share"] > 0, f"{got}")
    said = takt("generate", TINY, "a b a b", "-n", "8", "--temp", "0").stderr
    expect(said.count("% of the ceiling)") == 2, said)
    low = os.path.join(TMP, "low")
    _ceilings.keep(TOOL, low, 1e-6)
    above = takt("generate", TINY, "a b a b", "-n", "8", "--temp", "0",
                 env={"XDG_CACHE_HOME": low}).stderr
    expect(above.count("(above the ceiling kept here)") == 2 and "%" not in above, above)
    bare = takt("generate", TINY, "a b a b", "-n", "8", "--temp", "0",
                env={"XDG_CACHE_HOME": os.path.join(TMP, "empty")}).stderr
    expect("ceiling" not in bare and "tokens/s" in bare, bare)
    expect(not os.path.exists(os.path.join(TMP, "empty/takt")) or
           not os.listdir(os.path.join(TMP, "empty/takt")), "ceilings were measured")
    guessed = parsed("generate", TINY, "a b a b a b", "-n", "16", "--temp", "0", "-md", TINY,
                     "--draft-p-min", "0", "--json")
    expect(guessed["drafted"] > 0 and "share" not in guessed, f"{guessed}")
    succeeds("perplexity", TINY, "-p", "a b a b", "-c", "8", "-ub", "2", "-tb", "2", "-t", "1")


many()
interrupted()
mistakes()
shares()
finish()
