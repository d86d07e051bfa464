"""serve_drain.py - SIGTERM: requests whose client had connected before are answered, also if their
bytes come later; connections that had their answers are closed, and new ones refused."""
import http.client
import json
import signal
import socket
import time

from _cli import expect, finish
from _serve import Server

TINY = "tests/corpus/gguf/tiny.gguf"
BODY = json.dumps({"prompt": "a", "max_tokens": 2}).encode()
HEAD = (b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: " + str(len(BODY)).encode() +
        b"\r\n\r\n")


def connected(server):
    return socket.create_connection(("127.0.0.1", server.port), timeout=10)


def answer(link):
    got = b""
    while piece := link.recv(65536):
        got += piece
    return got


def late():
    """A client between connecting and sending, one between header and body, and one in a header."""
    with Server(TINY, "--parallel", "2") as server:
        links = [connected(server) for _ in range(4)]
        links[1].sendall(HEAD)
        links[2].sendall(HEAD[:30])
        time.sleep(0.1)
        server.run.send_signal(signal.SIGTERM)
        server.is_reported = True
        time.sleep(0.1)
        for link, rest in zip(links, (HEAD + BODY, BODY, HEAD[30:] + BODY)):
            link.sendall(rest)
            got = answer(link)
            expect(got.startswith(b"HTTP/1.1 200"), f"{rest[:20]} after SIGTERM: {got!r}")
            link.close()
        links[3].sendall(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
        got = answer(links[3])
        expect(got.startswith(b"HTTP/1.1 503") and b"\r\nRetry-After: 1\r\n" in got and
               b'"stopping"' in got, f"/health after SIGTERM: {got!r}")
        links[3].close()


def at_once():
    """Connections with their answers keep nothing waiting; there is no place for new ones."""
    with Server(TINY) as server:
        kept = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        kept.request("GET", "/health")
        kept.getresponse().read()
        begin = time.monotonic()
        server.run.send_signal(signal.SIGTERM)
        server.is_reported = True
        server.run.wait(10)
        expect(time.monotonic() - begin < 1.5, "an idle connection delays the end")
        kept.close()


def silent():
    """A client that never sends is not waited for long."""
    with Server(TINY) as server:
        link = connected(server)
        time.sleep(0.1)
        server.run.send_signal(signal.SIGTERM)
        server.is_reported = True
        time.sleep(0.3)
        try:
            connected(server).close()
            expect(False, "a connection after SIGTERM is accepted")
        except ConnectionRefusedError:
            pass
        server.run.wait(10)
        link.close()


late()
at_once()
silent()
finish()
