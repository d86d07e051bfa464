"""serve_prefix.py - prompts that begin alike are computed once, and their texts stay the same."""
import concurrent.futures
import re

from _cli import expect, finish
from _serve import Server

TINY = "tests/corpus/gguf/tiny.gguf"


def metric(server, name):
    return int(re.search(rf"^takt:{name} (\d+)$", server.ask("GET", "/metrics")[1],
                         re.MULTILINE).group(1))


def prefixes():
    """Prompts that begin alike are computed once, one after the other and side by side."""
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


prefixes()
finish()
