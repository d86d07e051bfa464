"""_serve.py - a server that runs while a test queries it."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess

from _cli import CLEAN, ROOT, TOOL, expect

started = []


def give_up(*_):
    """If everything takes more than a minute, no server stays behind."""
    for run in started:
        run.kill()
    print("FAILED: it took more than 60 s", flush=True)
    os._exit(1)


signal.signal(signal.SIGALRM, give_up)
signal.alarm(240)


class Server:
    """A server that runs for the duration of the block."""

    def __init__(self, *args):
        self.run = subprocess.Popen([TOOL, "serve", *args, "--port", "0"], cwd=ROOT, env=CLEAN,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(self.run)
        line = self.run.stdout.readline()
        self.memory = ""
        found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        expect(found, f"the server says {line!r}: {'' if found else self.run.stderr.read()}")
        self.port = int(found.group(1))
        self.memory = self.run.stdout.readline()
        self.is_reported = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self.is_reported:
            self.run.send_signal(signal.SIGTERM)
        try:
            code = self.run.wait(20)
        except subprocess.TimeoutExpired:
            self.run.kill()
            code = "killed"
        self.said = self.run.stderr.read()
        expect(code == 0, f"the server exits with {code}: {self.said}")

    def ask(self, method, path, body=None, headers=None):
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        data = json.dumps(body) if isinstance(body, (dict, list)) else body
        link.request(method, path, data, headers or {})
        reply = link.getresponse()
        text = reply.read().decode()
        link.close()
        return reply.status, text, reply.headers

    def post(self, path, body, **more):
        status, text, _ = self.ask("POST", path, body, **more)
        return status, json.loads(text)

    def raw(self, data, wait=30):
        """The response to these bytes, until the server closes or sends nothing more."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as link:
            link.sendall(data)
            got = b""
            try:
                while piece := link.recv(65536):
                    got += piece
                    if b"\r\n\r\n" in got and b"close" not in got:
                        break
            except (TimeoutError, ConnectionResetError):
                pass
            return got.decode(errors="replace")
