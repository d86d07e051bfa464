"""text_digest.py - one digest of 256 tokens, greedy and drawn: for every number of threads, vector
code, size of the prompt's parts, position among eight, cached prefix, speculation, by the command
and by the server, whole and streamed, with separate caches and with a pool. The digests are the
same on every machine."""
import concurrent.futures
import hashlib
import http.client
import json
import os

from _cli import TMP, expect, finish, parsed, takt
from _serve import Server

TINY = "tests/corpus/gguf/tiny.gguf"
PROMPT = "a b c a b c c a b b a c a b c a"
OTHERS = ["b", "c a b", "a a", "b c a b c a", "c", "a b c a", "b b b"]
SAMPLINGS = [  # flags, fields, digest
    (["--temp", "0"], {"temperature": 0}, "1c64e1ec8a5fd23f"),
    (["-s", "7", "--temp", "1.3", "--top-k", "7", "--dry-multiplier", "0.4"],
     {"seed": 7, "temperature": 1.3, "top_k": 7, "dry_multiplier": 0.4}, "cf80e022dd67544a"),
]
BASE = ["generate", TINY, "-n", "256", "-c", "320", "--ignore-eos", "--json"]


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Texts:
    """Texts that must be equal."""

    def __init__(self, flags, fields, want):
        self.flags, self.fields, self.want, self.count = flags, fields, want, 0

    def add(self, how, text):
        self.count += 1
        expect(digest(text) == self.want, f"{self.flags}, {how}: {digest(text)}, not {self.want}")

    def command(self, *more):
        return parsed(*BASE, *self.flags, *more)

    def alone(self):
        for threads in range(1, 9):
            self.add(f"-t {threads}", self.command("-p", PROMPT, "-t", str(threads))["text"])
        for batch in (1, 2, 3, 8, 64, 512):
            self.add(f"-b {batch}", self.command("-p", PROMPT, "-b", str(batch), "-t", "2")["text"])
        self.add("-tb 3", self.command("-p", PROMPT, "-tb", "3", "-t", "1", "-ub", "5")["text"])
        for isa in ("scalar", "neon", "avx2", "avx512"):
            run = takt(*BASE, *self.flags, "-p", PROMPT, "--isa", isa)
            if run.returncode == 0:  # another processor's are refused
                self.add(isa, json.loads(run.stdout)["text"])

    def guessed(self):
        for more in (["--lookup"], ["-md", TINY, "--draft", "4", "--draft-p-min", "0"],
                     ["-md", TINY, "--draft", "7", "--lookup", "-t", "3"]):
            got = self.command("-p", PROMPT, *more)
            self.add(str(more), got["text"])
            expect(got["drafted"] > 0, f"{more}: nothing is guessed")

    def cached(self):
        path = os.path.join(TMP, "prefix.kv")
        if os.path.exists(path):
            os.remove(path)
        for prompt, most in ((PROMPT[:9], 0), (PROMPT, 1), (PROMPT, 2)):
            got = self.command("-p", prompt, "--prompt-cache", path)
            expect(most == 0 or got["cached_tokens"] > 0, f"{got}")
            if most > 0:
                self.add(f"a prefix of {got['cached_tokens']} tokens", got["text"])

    def among(self):
        path = os.path.join(TMP, "eight.txt")
        for place in range(8):
            prompts = OTHERS[:place] + [PROMPT] + OTHERS[place:]
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(prompts))
            got = self.command("-f", path, "-np", "8", "-t", str(1 + place % 4))
            self.add(f"place {place} of 8", got[place]["text"])

    def ask(self, server, prompt, streams=False):
        body = {"prompt": prompt, "max_tokens": 256, "ignore_eos": True, **self.fields}
        if not streams:
            return server.post("/v1/completions", body)[1]["choices"][0]["text"]
        link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        link.request("POST", "/v1/completions", json.dumps({**body, "stream": True}))
        events = link.getresponse().read().decode().split("\n\n")
        link.close()
        return "".join(json.loads(e[6:])["choices"][0]["text"] for e in events
                       if e.startswith("data: {"))

    def served(self, server, name):
        self.add(f"{name}, alone", self.ask(server, PROMPT))
        self.add(f"{name}, again", self.ask(server, PROMPT))
        self.add(f"{name}, streamed", self.ask(server, PROMPT, True))
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for place in range(8):
                prompts = OTHERS[:place] + [PROMPT] + OTHERS[place:]
                texts = list(pool.map(lambda p: self.ask(server, p, len(p) % 2 == 0), prompts))
                self.add(f"{name}, place {place} of 8", texts[place])


everything = [Texts(*row) for row in SAMPLINGS]
for texts in everything:
    texts.alone()
    texts.guessed()
    texts.cached()
    texts.among()
for flags in (["--parallel", "8"], ["--parallel", "3", "-t", "2", "-b", "4"],
              ["-md", TINY, "--draft-p-min", "0", "--lookup"],
              ["--parallel", "8", "--kv-pool", "128K", "-b", "5"]):  # 15 pages: three at a time
    with Server(TINY, "-c", "320", *flags) as running:
        for texts in everything:
            texts.served(running, " ".join(flags))
print([texts.count for texts in everything], "texts")
finish()
