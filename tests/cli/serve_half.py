"""serve_half.py - a client that has sent everything may close its half of the connection, and still
gets its answer; one that is gone holds nothing."""
import json
import re
import socket
import time

from _cli import expect, finish
from _serve import Server

TINY = "tests/corpus/gguf/tiny.gguf"


def request(body, version="1.1"):
    data = json.dumps(body).encode()
    return (f"POST /v1/completions HTTP/{version}\r\nHost: a\r\n"
            f"Content-Length: {len(data)}\r\n\r\n").encode() + data


def spoken(server, sent):
    """All that comes after the request and the end of the client's half."""
    link = socket.create_connection(("127.0.0.1", server.port), 20)
    link.sendall(sent)
    link.shutdown(socket.SHUT_WR)
    said = b""
    while piece := link.recv(65536):
        said += piece
    link.close()
    return said.decode()


def answered(server):
    body = {"prompt": "a b", "max_tokens": 40, "temperature": 0, "ignore_eos": True}
    want = json.loads(server.ask("POST", "/v1/completions", body)[1])["choices"][0]["text"]
    said = spoken(server, request(body))
    heads = re.findall(r"^HTTP/1\.1 (\d+)", said, re.MULTILINE)
    if not expect(heads in (["200"], ["100", "200"]), f"{heads}: {said}"):
        return
    expect(json.loads(said[said.rindex("\r\n\r\n"):])["choices"][0]["text"] == want, said)
    said = spoken(server, request({**body, "stream": True}))
    expect("data: [DONE]" in said, said)
    two = request({**body, "max_tokens": 3}) * 2
    for _ in range(20):  # the first may end while the second and the end of the half are read
        said = spoken(server, two)
        expect(said.count("HTTP/1.1 200") == 2, f"two requests have not two answers: {said}")
    expect(spoken(server, request(body)[:-3]) == "", "half a request has an answer")


def gone(server):
    """A text of a million tokens for a client that has closed: the only slot is free soon."""
    link = socket.create_connection(("127.0.0.1", server.port), 20)
    link.sendall(request({"prompt": "a", "max_tokens": 1000000, "ignore_eos": True}))
    time.sleep(0.2)
    link.close()
    begin = time.monotonic()
    status = server.ask("POST", "/v1/completions", {"prompt": "a", "max_tokens": 1})[0]
    took = time.monotonic() - begin
    expect(status == 200 and took < 5, f"{status} after {took:.1f} s")


with Server(TINY, "--parallel", "1", "-c", "1000000") as one:
    answered(one)
    gone(one)
finish()
