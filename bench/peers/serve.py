#!/usr/bin/env python3
"""serve.py - `make peers ROWS=serve`: texts for many, next to llama.cpp and to libraries.

    bench/peers/serve.py [--quick] [--rows WORD,...] [--threads N]

served      a client of the server against `takt generate`: the first token, and each one
clients     eight clients at a time, against llama-server
batch       eight texts in one run, against llama-batched-bench
stories     stories260K, which is all overhead, against llama-bench
tokenize    a megabyte of text on one thread, against tokenizers and tiktoken
samplers    all samplers in a chain, as a share of a token of SmolLM2
embed       MiniLM, one text and 32, against torch and onnxruntime
overload    S1 to S4: ten times the capacity, bad clients, SIGTERM under load, malformed requests

Programs take turns, there and back; figures are medians. A row has a bar, and misses it or not;
exit status 1: one misses. llama.cpp is built from the sources in llama-cpp-python's sdist
(text.py); what cannot be had is left out by name.
"""
import argparse
import concurrent.futures
import http.client
import json
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PYTHON = os.path.join(os.environ.get("TAKT_VENV", os.path.join(ROOT, "build", "venv")), "bin",
                      "python")
if os.path.exists(PYTHON) and os.environ.get("TAKT_IN_VENV") is None:
    os.environ["TAKT_IN_VENV"] = "1" # which has tokenizers and tiktoken
    os.execv(PYTHON, [PYTHON, os.path.abspath(sys.argv[0]), *sys.argv[1:]])

import serve_library  # noqa: E402
import serve_overload  # noqa: E402
import text as peers  # noqa: E402

TAKT = peers.TAKT
DATA = os.environ.get("TAKT_DATA", os.path.join(peers.ROOT, "..", "shared", "data"))
STORIES = os.path.join(DATA, "llm", "stories260K", "stories260K-F32.gguf")
SEQUENCES = 8
missed = []


def tell(row, ours, theirs, ratio, bar):
    """One line. `bar` is ("at least" or "at most", a number) for the ratio."""
    word, limit = bar
    is_met = ratio >= limit if word == "at least" else ratio <= limit
    missed.extend([] if is_met else [row])
    print(f"{row:58} {ours:>16} {theirs:>16} {ratio:7.2f}  {word} {limit:<5} "
          f"{'' if is_met else 'missed'}".rstrip(), flush=True)


def leave(row, why):
    print(f"{row:58} left out: {why}", flush=True)


def turns(count, *ways):
    """Medians of each way, measured in ABBA order."""
    found = [[] for _ in ways]
    for i in range(count):
        order = range(len(ways)) if i % 2 == 0 else reversed(range(len(ways)))
        for at in order:
            found[at].append(ways[at]())
    first = found[0][0]
    if isinstance(first, tuple):
        return [tuple(map(statistics.median, zip(*values))) for values in found]
    return [statistics.median(values) for values in found]


# ---- servers ----

class Served:
    """A server of either program, for as long as the block."""

    def __init__(self, command):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.run = subprocess.Popen([*command, "--port", str(self.port)],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            try:
                if self.ask("GET", "/health")[0] == 200:
                    return
            except OSError:
                pass
            if self.run.poll() is not None:
                break
            time.sleep(0.05)
        raise peers.Missing(f"{command[0]} does not answer")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.run.terminate()
        try:
            self.run.wait(20)
        except subprocess.TimeoutExpired:
            self.run.kill()

    def ask(self, method, path, body=None):
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        link.request(method, path, json.dumps(body) if body is not None else None,
                     {"Content-Type": "application/json"})
        reply = link.getresponse()
        answer = reply.status, reply.read(), reply.headers
        link.close()
        return answer

    def stream(self, prompt, tokens):
        """Seconds to the first token, and between two later ones."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        begin, times = time.perf_counter(), []
        link.request("POST", "/v1/completions", json.dumps(request(prompt, tokens, True)),
                     {"Content-Type": "application/json"})
        reply = link.getresponse()
        while line := reply.readline():
            if line.startswith(b"data: {"):
                times.append(time.perf_counter() - begin)
        link.close()
        return times[0], between(times)


def between(times):
    """The median: what interrupts a few tokens on a busy machine does not count."""
    return statistics.median(b - a for a, b in zip(times, times[1:]))


def request(prompt, tokens, streams=False):
    return {"prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": True,
            "stream": streams, "cache_prompt": False}


def prompt_of(draw, words):
    common = ("the", "ship", "river", "went", "over", "hills", "and", "stone", "old", "man", "said")
    return f"Story {draw.randrange(10**6)}:" + "".join(" " + draw.choice(common)
                                                       for _ in range(words))


def server_of(model, threads):
    return [TAKT, "serve", model, "--parallel", str(SEQUENCES), "-c", "1024", "-t", str(threads)]


# ---- rows ----

def generated(model, prompt, tokens, threads):
    """Seconds of the prompt, and between two tokens, read as they come like those of a server."""
    times = []
    with subprocess.Popen([TAKT, "generate", model, "-p", prompt, "-n", str(tokens), "--temp", "0",
                           "--ignore-eos", "--no-display-prompt", "-c", "1024", "-t",
                           str(threads)], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        while os.read(run.stdout.fileno(), 1 << 16):
            times.append(time.perf_counter())
        said = run.stderr.read().decode()
    count, rate = re.search(r"prompt (\d+) tokens, ([\d.]+) tokens/s", said).groups()
    return int(count) / float(rate), between(times)


def served(args):
    model, draw, tokens = peers.smollm2(), random.Random(1), 24 if args.quick else 64
    prompts = [prompt_of(draw, 96) for _ in range(8)]
    served_ones, others = iter(prompts), iter(prompts)
    with Served(server_of(model, args.threads)) as server:
        server.stream(prompt_of(draw, 8), tokens)
        ours, command = turns(2 if args.quick else 8,
                              lambda: server.stream(next(served_ones), tokens),
                              lambda: generated(model, next(others), tokens, args.threads))
    for at, what in enumerate(("first token of 100, ms", "each token, ms")):
        tell(f"served, SmolLM2: {what} (takt generate)", f"{ours[at] * 1e3:.2f}",
             f"{command[at] * 1e3:.2f}", ours[at] / command[at], ("at most", 1.03))


def load(server, tokens, draw, rounds):
    """Tokens a second of eight clients, one request after the other each."""
    prompts = [prompt_of(draw, 24) for _ in range(SEQUENCES * rounds)]

    def client(i):
        for prompt in prompts[i::SEQUENCES]:
            status, _, _ = server.ask("POST", "/v1/completions", request(prompt, tokens))
            assert status == 200, status
    begin = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(SEQUENCES) as pool:
        list(pool.map(client, range(SEQUENCES)))
    return SEQUENCES * rounds * tokens / (time.perf_counter() - begin)


def clients(args):
    model, draw, tokens = peers.smollm2(), random.Random(2), 16 if args.quick else 48
    theirs = [peers.llama_tool("llama-server"), "-m", model, "-np", str(SEQUENCES), "-c", "8192",
              "-t", str(args.threads), "--no-webui"]

    def rate(command):
        with Served(command) as server:
            load(server, 4, draw, 1)
            return load(server, tokens, draw, 1 if args.quick else 3)
    ours, llama = turns(1 if args.quick else 4, lambda: rate(server_of(model, args.threads)),
                        lambda: rate(theirs))
    tell("8 clients, SmolLM2: tokens/s (llama-server)", f"{ours:.1f}", f"{llama:.1f}",
         ours / llama, ("at least", 1.2))


def tokens_of(model, prompt):
    answer = subprocess.run([TAKT, "tokenize", model, prompt, "--ids"], capture_output=True,
                            text=True, check=True)
    return len(answer.stdout.split())


def batch(args):
    """The difference of two lengths, by the time that the command states, without that of loading:
    nothing but tokens of eight texts. Both programs write after as many tokens."""
    bench, short, long = peers.llama_tool("llama-batched-bench"), 16, 32 if args.quick else 80
    draw = random.Random(3)

    def took(model, file, tokens):
        said = subprocess.run([TAKT, "generate", model, "-f", file, "--parallel", str(SEQUENCES),
                               "-n", str(tokens), "--temp", "0", "--ignore-eos", "-c", "256", "-t",
                               str(args.threads)], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, check=True).stderr
        return float(re.findall(r"written in ([\d.]+) s", said)[-1])

    def ours(model, file):
        return SEQUENCES * (long - short) / (took(model, file, long) - took(model, file, short))

    def theirs(model):
        before = short + round(statistics.mean(tokens_of(model, p) for p in prompts))
        for _ in range(4): # its table is sometimes lost when it ends
            answer = subprocess.run([bench, "-m", model, "-c", "2048", "-npp", str(before), "-ntg",
                                     str(long - short), "-npl", str(SEQUENCES), "-t",
                                     str(args.threads), "--output-format", "jsonl"],
                                    capture_output=True, text=True, check=True)
            if found := re.findall(r'"speed_tg": *([\d.]+)', answer.stdout):
                return float(found[-1])
        raise peers.Missing("llama-batched-bench prints no table")
    prompts = [prompt_of(draw, 16) for _ in range(SEQUENCES)]
    names = {"SmolLM2": peers.smollm2()}
    names.update((name, path) for name, path in peers.models(["100M q8_0", "100M q4_0"])
                 if not args.quick)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("".join(prompt + "\n" for prompt in prompts))
        file.flush()
        for name, model in names.items():
            mine, llama = turns(1 if args.quick else 3, lambda m=model: ours(m, file.name),
                                lambda m=model: theirs(m))
            tell(f"8 texts together, {name}: tokens/s (llama-batched-bench)", f"{mine:.1f}",
                 f"{llama:.1f}", mine / llama, ("at least", 1.2))


def stories(args):
    if not os.path.exists(STORIES):
        raise peers.Missing("the shared data is not there")
    bench, sizes = peers.llama_bench(), ("64", "128")
    for threads in sorted({1, args.threads}):
        rates = peers.compare(bench, STORIES, (*sizes, "0", threads, ""), 2 if args.quick else 8)
        for test, (ours, theirs) in rates.items():
            tell(f"stories260K {peers.name_of(test)}, {threads} threads: tokens/s (llama-bench)",
                 f"{ours:.0f}", f"{theirs:.0f}", ours / theirs, ("at least", 1.5))


ROWS = {"served": served, "clients": clients, "batch": batch, "stories": stories,
        "tokenize": serve_library.tokenize, "samplers": serve_library.samplers,
        "embed": serve_library.embed, "overload": serve_overload.overload}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few turns: orientation only")
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    args = parser.parse_args()
    args.tell, args.leave, args.turns, args.served = tell, leave, turns, Served
    print(f"{'':58} {'Takt':>16} {'next to':>16} {'ratio':>7}  bar")
    for name in args.rows.split(","):
        try:
            ROWS[name](args)
        except (peers.Missing, subprocess.CalledProcessError, ImportError) as error:
            leave(name, str(error).split("\n", maxsplit=1)[0])
    print(f"{len(missed)} rows below a bar" + (": " + "; ".join(missed) if missed else ""))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
