"""serve_words.py - long texts are tokenized while everything else goes on: others are answered,
the ids are those of parts, errors are named, and clients may leave."""
import concurrent.futures
import http.client
import json
import resource
import socket
import struct
import time

from _cli import expect, finish
from _serve import Server

TINY = "tests/corpus/gguf/tiny.gguf"
LONG = "a b " * 950000  # near the limit of a body


def begin(server, text):
    """A connection on which a long text is sent."""
    link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    link.request("POST", "/tokenize", json.dumps({"content": text}))
    return link


def ended(link):
    reply = link.getresponse()
    return time.monotonic(), reply.status, json.loads(reply.read())


def others(server):
    """They do not wait for one, nor for three."""
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        links = [begin(server, LONG) for _ in range(3)]
        results = [pool.submit(ended, link) for link in links]
        status, _ = server.post("/v1/completions", {"prompt": "a b", "max_tokens": 2})
        answered = time.monotonic()
        expect(status == 200 and server.ask("GET", "/health")[0] == 200, f"{status}")
        ends = [result.result() for result in results]
    expect(all(end[0] > answered for end in ends), "a request waited for a long text")
    _, part = server.post("/tokenize", {"content": "a b " * 100})
    for _, status, ids in ends:
        expect(status == 200 and len(ids["tokens"]) > 9000 * len(part["tokens"]) and
               ids["tokens"][:100] == part["tokens"][:100], "other ids than of a short text")


def errors(server):
    pad = "x" * 20000
    for path, body, want in (
            ("/tokenize", {"content": 5, "pad": pad}, "content: a string is expected"),
            ("/detokenize", {"tokens": [0] * 9000 + [11]}, "tokens[9000]: a token id from 0"),
            ("/detokenize", [pad], "not a JSON object"), ("/tokenize", "{" + pad, "")):
        status, text, _ = server.ask("POST", path, body)
        expect(status == 400 and want in text, f"{path}: {status} {text[:200]}")
    status, back = server.post("/detokenize", {"tokens": [4, 5] * 6000})
    short = server.post("/detokenize", {"tokens": [4, 5]})[1]["content"]
    expect(status == 200 and len(back["content"]) >= 6000 * (len(short) - 1), f"{status}")


def uncounted(server):
    """Neither short nor long texts are in the counters of requests for a model."""
    names = ("requests_total", "requests_refused_total", "request_duration_seconds_count")
    page = server.ask("GET", "/metrics")[1].splitlines()
    before = [line for line in page if line.split(" ")[0][5:] in names]
    expect(len(before) == len(names), f"{before}")
    for text in ("a b", LONG[:20000]):
        expect(server.post("/tokenize", {"content": text})[0] == 200, "no ids")
    page = server.ask("GET", "/metrics")[1].splitlines()
    expect([line for line in page if line in before] == before, f"{before} changed")


def gone(server):
    """Clients that leave make room for others."""
    links = [begin(server, LONG) for _ in range(20)]
    for link in links:
        link.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        link.close()  # reset
    until = time.monotonic() + 8
    while server.post("/tokenize", {"content": LONG[:20000]})[0] != 200:
        expect(time.monotonic() < until, "clients that left still wait")
        time.sleep(0.05)


def seconds():
    """Of processors, in all servers that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def failed():
    """A server that cannot wait for connections any more ends without the texts that wait."""
    text, before = LONG[:2000000], seconds()
    with Server(TINY) as server:
        expect(ended(begin(server, text))[1] == 200, "no ids")
    one = seconds() - before
    server = Server(TINY)
    links = [begin(server, text) for _ in range(15)]
    expect(server.ask("GET", "/health")[0] == 200, "no answer while texts wait")
    resource.prlimit(server.run.pid, resource.RLIMIT_NOFILE, (2, 2))  # poll fails
    said = server.run.communicate(timeout=60)[1]
    expect(server.run.returncode == 1 and "waiting for connections failed" in said,
           f"{server.run.returncode}: {said}")
    many = seconds() - before - one
    expect(many < 7 * one, f"15 texts take {many:.2f} s, one {one:.2f} s")
    for link in links:
        link.close()


with concurrent.futures.ThreadPoolExecutor(1) as reader:
    with Server(TINY, "--parallel", "2") as running:
        others(running)
        errors(running)
        uncounted(running)
        gone(running)
        last = reader.submit(ended, begin(running, LONG[:400000]))
        time.sleep(0.2)
    _, code, rows = last.result()  # it is answered although the server ends
expect(code == 200 and rows["tokens"], f"{code}")
if hasattr(resource, "prlimit"):  # Linux
    failed()
finish()
