"""serve_pool.py - caches of all texts come from one pool: texts that fit begin, the rest wait."""
import concurrent.futures
import json
import os
import re
import socket
import struct
import sys

from _cli import ROOT, TMP, expect, fails, finish, parsed, succeeds
from _serve import Server

sys.path.insert(0, os.path.join(ROOT, "tests", "text"))
import _tiny  # noqa: E402

sys.path.insert(0, os.path.join(ROOT, "tests", "onnx"))
from _seeds_taktp import crc32c  # noqa: E402

TINY = "tests/corpus/gguf/tiny.gguf"
CONTEXT = ("-c", "1024", "-b", "16")
HEAD = "a b c a a b b c a b a c b " * 25


def metric(server, name):
    return int(re.search(rf"^takt:{name} (\d+)$", server.ask("GET", "/metrics")[1],
                         re.MULTILINE).group(1))


def pages(server):
    return {name: metric(server, "kv_pages_" + name) for name in ("used", "cached", "free",
                                                                  "shared")}


def text(reply):
    return reply["choices"][0]["text"]


def planned(flags):
    """takt plan shows the server's memory: the same line, and the same figures as /health."""
    want = parsed("plan", TINY, *CONTEXT, *flags, "--json")
    with Server(TINY, *CONTEXT, *flags) as server:
        told = succeeds("plan", TINY, *CONTEXT, *flags)
        expect(told == server.memory, f"{flags}: {told}, the server says {server.memory}")
        health = json.loads(server.ask("GET", "/health")[1])
    for key, name in (("weights", "weight_bytes"), ("caches", "kv_cache_bytes"),
                      ("arena", "arena_bytes"), ("parallel", "parallel"), ("context", "context")):
        expect(want[key] == health[name], f"{flags}: {key}: {want}, {health}")
    expect(want["pages"] == health.get("kv_pages_free", 0) and
           want["page_tokens"] == health.get("kv_page_tokens", 0), f"{flags}: {want}, {health}")


def page_bytes():
    """The server's report about a pool: bytes, pages, and tokens of one."""
    with Server(TINY, *CONTEXT, "--kv-pool", "1M") as server:
        found = re.search(r"caches (\d+) bytes \(a pool of (\d+) pages of (\d+) tokens\)",
                          server.memory)
        expect(found, server.memory)
        total, count, tokens = (int(n) for n in found.groups())
        expect(total % (count + 1) == 0 and total <= 1 << 20, server.memory)
        expect(metric(server, "kv_cache_bytes") == total, "the same bytes")
        expect(metric(server, "kv_page_tokens") == tokens, "the same tokens")
    for more in (["--kv-pool", "1M"], ["--parallel", "3"], ["--parallel", "1"], ["-np", "5", "-t1"],
                 ["--parallel", "5", "--kv-pool", "200K", "-ctk", "f16", "-ctv", "f16"]):
        planned(more)
    return total // (count + 1), tokens


def shared(page, tokens):
    """Eight clients with one system prompt: it is computed once, and their texts stay the same."""
    tails = ["a a a", "b b b", "c c c", "a b c", "c b a", "b a a", "a c a", "c c b"]
    asks = [{"prompt": HEAD + tail, "max_tokens": 6, "seed": 1} for tail in tails]
    with Server(TINY, *CONTEXT) as server:
        want = [text(server.post("/v1/completions", ask)[1]) for ask in asks]
    with Server(TINY, *CONTEXT, "--parallel", "8", "--kv-pool", str(page * 41)) as server:
        count = len(server.post("/tokenize", {"content": HEAD, "add_special": True})[1]["tokens"])
        expect(count > 2 * tokens, f"{count} tokens, {tokens} in a page")
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            got = [g[1] for g in pool.map(lambda ask: server.post("/v1/completions", ask), asks)]
        expect([text(g) for g in got] == want, f"{got}, not {want}")
        cached = metric(server, "prompt_tokens_cached_total")
        computed = metric(server, "prompt_tokens_total") - cached
        own = sum(g["usage"]["prompt_tokens"] - count for g in got)
        expect(computed <= count + own + 8, f"{computed} computed of {count} and {own}")
        now = pages(server)
        expect(now["used"] == 0 and now["cached"] + now["free"] == 40, f"{now}")
        expect(now["shared"] >= (count - 1) // tokens, f"{now}: the prompt is shared")
        health = server.ask("GET", "/health")[1]
        expect(f'"kv_pages_shared":{now["shared"]}' in health, health)


def waits(page, tokens):
    """A pool for one text at a time: the others wait, none fails, and the oldest kept text is
    dropped first."""
    asks = [{"prompt": "abc"[i % 3] + " a b" * (i + 5), "max_tokens": 3 * tokens, "seed": i,
             "ignore_eos": True} for i in range(6)]
    with Server(TINY, *CONTEXT) as server:
        want = [text(server.post("/v1/completions", ask)[1]) for ask in asks]
    with Server(TINY, *CONTEXT, "--parallel", "4", "--kv-pool", str(page * 6)) as server:
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            got = [g for g in pool.map(lambda ask: server.post("/v1/completions", ask), asks)]
        expect([g[0] for g in got] == [200] * 6, f"{got}")
        expect([text(g[1]) for g in got] == want, f"{got}, not {want}")
        again = server.post("/v1/completions", asks[-1])[1]
        expect(text(again) == want[-1], f"{again}")


def refused(page, tokens):
    """A request that can never fit is refused at once, by name; without max_tokens a text ends
    earlier."""
    room = 3 * tokens - 1
    with Server(TINY, *CONTEXT, "--parallel", "2", "--kv-pool", str(page * 4)) as server:
        status, reply = server.post("/v1/completions", {"prompt": "a b", "max_tokens": room})
        expect(status == 400 and "max_tokens" in reply["error"]["message"] and
               f"has room for {room}" in reply["error"]["message"], f"{status} {reply}")
        status, reply = server.post("/v1/completions", {"prompt": [1] * room})
        expect(status == 400 and "prompt" in reply["error"]["message"], f"{status} {reply}")
        status, reply = server.post("/v1/completions", {"prompt": [1] * 3, "ignore_eos": True,
                                                        "seed": 1})
        expect(status == 200 and reply["usage"]["total_tokens"] == room and
               reply["choices"][0]["finish_reason"] == "length", f"{status} {reply['usage']}")
        status, reply = server.post("/v1/completions", {"prompt": [1] * 3, "max_tokens": 0})
        expect(status == 200, f"{status} {reply}")
        status, reply = server.post("/v1/completions", {"prompt": [1] * 8, "max_tokens": 4, "n": 8})
        expect(status == 200 and len(reply["choices"]) == 8, f"{status} {reply}")
        expect(pages(server)["used"] == 0, "all pages were given back")
    fails(2, "serve", TINY, *CONTEXT, "--kv-pool", "100", says=["1003", "at least 2 pages"])
    fails(2, "plan", TINY, "--kv-pool", "100", says=["1003", "at least 2 pages"])
    fails(2, "plan", TINY, "--kv-pool", "900000000G", says=["1003", "more pages"])
    for other in (["--svg"], ["--train"], ["-D", "seq=4"]):
        fails(2, "plan", TINY, "-np", "2", *other, says=["1003", "the memory of a server"])
    fails(1, "plan", "tests/corpus/gguf/tiny_bert.gguf", "-np", "2", says=["3702"])
    fails(2, "plan", "tests/corpus/gguf/tiny_t5.gguf", "-np", "2", says=["1003", "an encoder"])
    for model in ("tests/corpus/gguf/tiny_t5.gguf", "tests/corpus/gguf/tiny_bert.gguf",
                  "examples/mlp.takt"):
        fails(2, "serve", model, "--kv-pool", "1M", says=["1003", "pool"])
    fails(2, "serve", TINY, "-c", "1001", "--kv-pool", "1M", says=["1003", "-c "])


def guessed(page, tokens):
    """Guesses of one run are at most a batch: room for more is not kept free."""
    with Server(TINY, *CONTEXT, "--kv-pool", str(page * 4), "--lookup", "--draft",
                "1000") as server:
        status, reply = server.post("/v1/completions", {"prompt": "a b", "max_tokens": 9999})
        expect(status == 400 and f"has room for {3 * tokens - 17}" in reply["error"]["message"],
               f"{status} {reply}")
        status, reply = server.post("/v1/completions", {"prompt": "a b", "ignore_eos": True})
        expect(status == 200 and reply["usage"]["total_tokens"] == 3 * tokens - 17, f"{reply}")


def left(page, tokens):
    """A client that disconnects frees its pages, and a waiting request begins: the first text needs
    all pages and would take seconds."""
    most = 60000
    body = json.dumps({"prompt": "a b", "max_tokens": most, "ignore_eos": True, "stream": True})
    head = f"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n"
    count = -(-(most + 8) // tokens)
    with Server(TINY, "-c", str(1 << 16), "-b", "16", "--parallel", "2", "--kv-pool",
                str(page * (count + 1))) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as link:
            link.sendall((head + body).encode())
            link.recv(1)
        status, reply = server.post("/v1/completions", {"prompt": "c a", "max_tokens": tokens,
                                                        "ignore_eos": True, "seed": 1})
        expect(status == 200 and reply["usage"]["completion_tokens"] == tokens,
               f"{status} {reply}")
        written = metric(server, "generation_tokens_total")
        expect(written < most, f"{written} tokens: the first text was written to its end")
        expect(pages(server)["used"] == 0, "all pages were given back")


def without_tokens(data):
    """The prompt cache of a text of the same model that has no token."""
    states, at = struct.unpack_from("<Q", data, 24)[0], 32
    head, values = data[:16] + struct.pack("<QQ", 0, states), b""
    for _ in range(states):
        length, size = struct.unpack_from("<IQ", data, at)
        size = 8 if size == 8 else 0  # the count of tokens, or a cache
        head += struct.pack("<IQ", length, size) + data[at + 12:at + 12 + length]
        values += bytes(size)
        at += 12 + length
    return head + values + struct.pack("<I", crc32c(head + values))


def restarted(page):
    """Texts that shared pages when the server ended share them after a start; a text without tokens
    has no pages."""
    path = os.path.join(TMP, "restarted")
    flags = (TINY, *CONTEXT, "--kv-pool", str(page * 41), "--prompt-cache", path)
    with Server(*flags) as server:
        for tail in ("a a a", "b b b", "c c c"):
            server.post("/v1/completions", {"prompt": HEAD + tail, "max_tokens": 6, "seed": 1})
        want = pages(server)
    with open(path + ".0", "rb") as file:
        empty = without_tokens(file.read())
    os.replace(path + ".0", path + ".3")
    with open(path + ".0", "wb") as file:  # read last: no text after it takes its page
        file.write(empty)
    with Server(*flags) as server:
        expect(pages(server) == want and want["shared"] > 0, f"{pages(server)}, before {want}")


def spared():
    """TAKT_PARALLEL only affects the server: plans of other models are unchanged."""
    for name in ("TAKT_PARALLEL", "TAKT_KV_POOL"):
        told = succeeds("plan", "examples/mlp.takt", env={name: "4096"})
        expect("arena" in told, f"{name}: {told}")


def blocks():
    """Caches in 8 bits have pages of many tokens; two texts are the same as when generated alone.
    """
    path = os.path.join(TMP, "heads_of_32.gguf")
    with open(path, "wb") as file:
        file.write(_tiny.wide())
    flags = (path, "-c", "4096", "-ctk", "q8_0", "-ctv", "q8_0")
    asks = [{"prompt": "a b c a b" + tail, "max_tokens": 24, "seed": 2, "n": 2}
            for tail in ("", " c a", " b")]
    replies = []
    for more in ((), ("--parallel", "3", "--kv-pool", "1M"), ("--kv-pool", "1M", "--lookup")):
        with Server(*flags, *more) as server:
            with concurrent.futures.ThreadPoolExecutor(3) as pool:
                got = pool.map(lambda ask: server.post("/v1/completions", ask)[1], asks)
                replies.append([[c["text"] for c in g["choices"]] for g in got])
            expect(not more or "pages of 2048 tokens" in server.memory, server.memory)
    expect(replies[0] == replies[1] == replies[2], f"{replies}")


def threads():
    """With many threads a short prompt needs more scratch than a long one."""
    with Server(TINY, *CONTEXT, "-t", "16") as server:
        for count in (1, 2, 3, 11, 40):
            status, reply = server.post("/v1/completions", {"prompt": "a " * count,
                                                            "max_tokens": 2})
            expect(status == 200, f"{count}: {reply}")


size, each = page_bytes()
shared(size, each)
restarted(size)
waits(size, each)
refused(size, each)
guessed(size, each)
left(size, each)
spared()
blocks()
threads()
finish()
