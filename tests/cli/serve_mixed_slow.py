"""serve_mixed_slow.py - good and malformed requests in one stream (TRUST S4): each good one has the
text of the command, each bad one an error, and the server lives.

    tests/cli/serve_mixed_slow.py [REQUESTS [FIRST_SEED [SECONDS]]]    prints its figures
"""
import json
import random
import signal
import socket
import sys
import threading
import time

from _cli import expect, finish, parsed
from _serve import Server

TINY = "tests/corpus/gguf/tiny.gguf"
CLIENTS, SEEDS = 8, 4
BODIES = [b'{"prompt": ', b'{"prompt": 5}', b'{"prompt": "a", "max_tokens": -3}', b"[]", b"",
          b'{"prompt": "a", "temperature": "hot"}', b'{"prompt": ["a", 7.5]}', b"\xff\xfe",
          b'{"prompt": "a", "grammar": "root ::= other"}', b'{"messages": []}',
          b'{"prompt": "' + b"a " * 500 + b'"}', b'{"prompt": [99999999]}',
          b'{"prompt": "a", "logit_bias": {"-1": 3}}', b"[" * 100, b'{"prompt": "a", "n": 1e9}']
GARBAGE = [b"GET / HTTP/9.9\r\n\r\n", b"\0\xff garbage\r\n\r\n", b"POST / HTTP/1.1\r\n\r\n",
           b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
           b"GET /health HTTP/1.1\nHost: a\n\n", b"GET  HTTP/1.1\r\n\r\n",
           b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"]


def posted(body):
    return (b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body)
            + body)


class Client:
    """One connection, made again where the server has closed it."""

    def __init__(self, port):
        self.port, self.link, self.rest = port, None, b""

    def ask(self, sent, is_last=False):
        """Status and body; 0: closed without an answer. `is_last`: nothing more is sent."""
        if self.link is None:
            self.link, self.rest = socket.create_connection(("127.0.0.1", self.port), 60), b""
        self.link.sendall(sent)
        if is_last:
            self.link.shutdown(socket.SHUT_WR)
        have, need = self.rest, None
        while need is None or len(have) < need:
            piece = self.link.recv(65536)
            if not piece:
                break
            have += piece
            end = have.find(b"\r\n\r\n")
            if need is None and end >= 0:
                at = have.lower().index(b"content-length:", 0, end) + 15
                need = end + 4 + int(have[at:have.index(b"\r", at)])
        self.rest = have[need or len(have):]
        if not have or b"connection: close" in have[:have.find(b"\r\n\r\n")].lower():
            self.link.close()
            self.link = None
        return (int(have[9:12]), have[have.find(b"\r\n\r\n") + 4:need]) if have else (0, b"")


def one(client, draw, want):
    """Whether the answer to a random request is wrong."""
    kind = draw.random()
    if kind < 0.05:
        try:
            status, _ = client.ask(draw.choice(GARBAGE), True)
        except OSError: # it did not wait for the rest
            status = 0
        if client.link is not None:
            client.link.close()
        client.link = None
        return status != 0 and not 400 <= status < 600
    if kind < 0.5:
        return not 400 <= client.ask(posted(draw.choice(BODIES)))[0] < 500
    seed = draw.randrange(SEEDS)
    body = {"prompt": "a b", "max_tokens": 4, "temperature": 0.8, "seed": seed, "ignore_eos": True}
    status, answer = client.ask(posted(json.dumps(body).encode()))
    return status != 200 or json.loads(answer)["choices"][0]["text"] != want[seed]


def campaign(requests, first, seconds):
    want = [parsed("generate", TINY, "-p", "a b", "-n", "4", "--temp", "0.8", "-s", str(seed),
                   "--ignore-eos", "-c", "256", "--json", "-q")["text"] for seed in range(SEEDS)]
    done, wrong, begin = [0] * CLIENTS, [0] * CLIENTS, time.monotonic()

    def stream(number, port):
        client, draw = Client(port), random.Random(first + number)
        while done[number] < requests // CLIENTS and time.monotonic() - begin < seconds:
            wrong[number] += one(client, draw, want)
            done[number] += 1
    with Server(TINY, "--parallel", str(CLIENTS), "-c", "256", "-t", "1") as server:
        threads = [threading.Thread(target=stream, args=(i, server.port)) for i in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expect(server.run.poll() is None, "the server has ended")
    expect(sum(wrong) == 0, f"{sum(wrong)} wrong answers of {sum(done)}")
    expect(seconds < 1e9 or sum(done) >= requests // CLIENTS * CLIENTS, f"{sum(done)} requests")
    return sum(done), sum(wrong), time.monotonic() - begin


if len(sys.argv) > 1:
    signal.alarm(0)
numbers = [int(word) for word in sys.argv[1:]] + [10000, 1, 10**9][len(sys.argv) - 1:]
print("requests, wrong, seconds:", *campaign(*numbers))
finish()
