"""serve_prefix.py - common prefixes of prompts are computed once, and the texts stay the same."""
import concurrent.futures
import http.client
import json
import os
import re
import shutil

from _cli import TMP, expect, fails, finish, succeeds
from _serve import Server

TINY = "tests/corpus/gguf/tiny.gguf"


def metric(server, name):
    return int(re.search(rf"^takt:{name} (\d+)$", server.ask("GET", "/metrics")[1],
                         re.MULTILINE).group(1))


def prefixes():
    """Common prefixes of prompts are computed once, whether the prompts come in sequence or
    concurrently."""
    head = "a b c a a b b c a b a c b " * 3
    asks = [{"prompt": head + tail, "max_tokens": 4, "seed": 1}
            for tail in ("a a a", "b b b", "c c c", "a b c")]
    with Server(TINY, "-c", "128", "--parallel", "1") as server:
        want = [server.post("/v1/completions", ask)[1]["choices"][0]["text"] for ask in asks]
    with Server(TINY, "-c", "128", "--parallel", "4", "-b", "8") as server:
        count = len(server.post("/tokenize", {"content": head, "add_special": True})[1]["tokens"])
        for ask, text in zip(asks, want):
            got = server.post("/v1/completions", ask)[1]
            cached = got["usage"]["prompt_tokens_details"]["cached_tokens"]
            least = 0 if ask is asks[0] else count - 1
            expect(got["choices"][0]["text"] == text, f"{got}, not {text!r}")
            expect(least <= cached < got["usage"]["prompt_tokens"], f"{cached} of {count}: {got}")
    with Server(TINY, "-c", "128", "--parallel", "4", "-b", "8") as server:
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            got = [g[1] for g in pool.map(lambda ask: server.post("/v1/completions", ask), asks)]
        expect([g["choices"][0]["text"] for g in got] == want, f"{got}, not {want}")
        told = sum(g["usage"]["prompt_tokens_details"]["cached_tokens"] for g in got)
        expect(told == metric(server, "prompt_tokens_cached_total") >= 3 * (count - 1), f"{told}")
        got = server.post("/v1/completions", {**asks[0], "n": 4})[1]
        expect(got["choices"][0]["text"] == want[0], f"{got}")
        more = metric(server, "prompt_tokens_cached_total") - told
        expect(more >= 4 * (got["usage"]["prompt_tokens"] - 1), f"{more} cached of 4 choices")


def in_turn():
    """While a text is written, prompts are read one part at a time: each part is followed by a
    token of the text."""
    parts, part = 250, 4
    tails = [" ".join(draw) for draw in ("abc" * 400, "bca" * 400, "cab" * 400)]
    long = {"prompt": "b", "max_tokens": 4000, "seed": 1, "ignore_eos": True, "stream": True}
    with Server(TINY, "-c", "4096", "--parallel", "4", "-b", str(part)) as server:
        link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        link.request("POST", "/v1/completions", json.dumps(long))
        link.getresponse().read(1)  # it is being written
        before = metric(server, "generation_tokens_total")
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            got = list(pool.map(lambda tail: server.post(
                "/v1/completions", {"prompt": tail, "max_tokens": 1, "seed": 1})[1], tails))
        written = metric(server, "generation_tokens_total") - before - len(tails)
        still = metric(server, "requests_running") > 0
        link.close()
        count = sum(g["usage"]["prompt_tokens"] for g in got)
        expect(count > 3 * parts * part, f"{count} tokens of prompts")
        expect(not still or written >= count // part - 3, f"{written} tokens, prompts {count}")


def on_disk():
    """Texts of the last run are there after a start, with and without a pool."""
    asks = [{"prompt": "a b c a a b b c a b a c b " * 3 + tail, "max_tokens": 4, "seed": 1}
            for tail in ("a a", "b b b")]
    for more in ([], ["--kv-pool", "1M", "-c", "1024"]):
        kept = os.path.join(TMP, f"kept{len(more)}")
        flags = [TINY, "-c", "128", "--parallel", "2", *more, "--prompt-cache", kept]
        told = []
        for _ in range(3):
            with Server(*flags) as server:
                told.append([server.post("/v1/completions", ask)[1] for ask in asks])
        texts = [[answer["choices"][0]["text"] for answer in run] for run in told]
        expect(texts[0] == texts[1] == texts[2], f"{more}: {texts}")
        for run in told[1:]:
            for answer in run:
                usage = answer["usage"]
                cached = usage["prompt_tokens_details"]["cached_tokens"]
                expect(cached == usage["prompt_tokens"] - 1, f"{more}: {usage}")
        with open(kept + ".0", "r+b") as file:
            file.seek(50)
            file.write(b"\xff\xff")
        shutil.copy(kept + ".1", kept + ".7")  # of an earlier run
        os.chmod(kept + ".1", 0o666)
        with Server(*flags) as server:  # one text is lost, the other is kept
            again = [server.post("/v1/completions", ask)[1] for ask in asks]
        expect([a["choices"][0]["text"] for a in again] == texts[0], f"{more}: {again}")
        cached = [a["usage"]["prompt_tokens_details"]["cached_tokens"] for a in again]
        full = [a["usage"]["prompt_tokens"] - 1 for a in again]
        expect(sum(c == f for c, f in zip(cached, full)) == 1, f"{more}: {cached} of {full}")
        expect("checksum is wrong: the text is not used" in server.said, server.said)
        for number in range(2):
            mode = os.stat(f"{kept}.{number}").st_mode & 0o777
            expect(mode == 0o600, f"{kept}.{number}: {mode:o}")
        expect(not os.path.exists(kept + ".7"), "a file of an earlier run")
        with open(kept + ".3", "wb") as file:
            file.write(b"a letter")
        if more:  # a pool reads all numbers
            fails(1, "serve", *flags, "--port", "0", says=[".3", "not a prompt cache"])
        else:
            with Server(*flags):
                pass
        expect(os.path.exists(kept + ".3"), "a file that is not a prompt cache was removed")
        os.remove(kept + ".3")
        succeeds("convert", TINY, "-o", kept + ".gguf", "--outtype", "f32")
        os.replace(kept + ".1", kept + ".0")
        fails(1, "serve", kept + ".gguf", *flags[1:], "--port", "0", says=["another model"])
    for other in ("examples/mlp.takt", "tests/corpus/gguf/tiny_t5.gguf"):
        fails(2, "serve", other, "--prompt-cache", kept, "--port", "0",
              says=["no model whose prompts"])
    fails(1, "serve", TINY, "--prompt-cache", os.path.join(TMP, "missing", "kept"), "--port", "0",
          says=["cannot write", "there is no folder"])


prefixes()
in_turn()
on_disk()
finish()
