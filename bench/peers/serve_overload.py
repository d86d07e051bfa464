"""serve_overload.py - the rows S1 to S4 of `make peers ROWS=serve`: a server under more than it can
do, with bad clients, while it ends, and with requests of all kinds."""
import concurrent.futures
import http.client
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import threading
import time

import text as peers

TOKENS, PROMPT = 16, "Once upon a time there was a"
MALFORMED = ['{"prompt": ', '{"prompt": 5}', '{"prompt": "a", "max_tokens": -3}', "[]", "",
             '{"prompt": "a", "temperature": "hot"}', '{"prompt": ["a", 7.5]}', "\xff\xfe",
             '{"prompt": "a", "grammar": "root ::= other"}', '{"messages": []}',
             '{"prompt": "' + "a " * 5000 + '"}']


def post(port, body, wait=60):
    """Status, body, seconds, whether it has a Retry-After header."""
    begin = time.perf_counter()
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=wait)
    link.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
    reply = link.getresponse()
    answer = reply.read()
    link.close()
    return reply.status, answer, time.perf_counter() - begin, "Retry-After" in reply.headers


def good(seed=0, tokens=TOKENS):
    return json.dumps({"prompt": PROMPT, "max_tokens": tokens, "temperature": 0.8, "seed": seed,
                       "ignore_eos": True})


def text_of(answer):
    return json.loads(answer)["choices"][0]["text"]


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def closed(port, clients, span):
    """Answers a second with clients that send the next request at once, and their latencies."""
    end, times = time.perf_counter() + span, []

    def client(i):
        while time.perf_counter() < end:
            status, _, took, _ = post(port, good(i))
            if status == 200:
                times.append(took)
    begin = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        list(pool.map(client, range(clients)))
    return len(times) / (time.perf_counter() - begin), times


def flood(port, rate, span):
    """Requests at a fixed rate, whatever their outcome: (status, seconds, tells, text) of each."""
    found, begin = [], time.perf_counter()

    def one(seed):
        try:
            status, answer, took, tells = post(port, good(seed % 8))
            found.append((status, took, tells, (seed % 8, text_of(answer)) if status == 200
                          else None))
        except (OSError, http.client.HTTPException):
            found.append((0, 0, False, None))
    with concurrent.futures.ThreadPoolExecutor(192) as pool:
        for i in range(int(rate * span)):
            time.sleep(max(0, begin + i / rate - time.perf_counter()))
            pool.submit(one, i)
    return found, time.perf_counter() - begin


def in_turns(port, span, rounds):
    """Eight clients and ten times as many requests, there and back, because the speed of a shared
    machine drifts: answers a second at the peak, outcomes and seconds of the requests that were too
    many, and the share of a processor that this client took meanwhile."""
    peaks, found, took, busy = [], [], 0, 0
    for _ in range(rounds):
        peaks.append(closed(port, 8, span)[0])
        for _ in range(2):
            begin = time.process_time()
            more, seconds = flood(port, 10 * peaks[-1], span)
            busy += time.process_time() - begin
            found, took = found + more, took + seconds
        peaks.append(closed(port, 8, span)[0])
    return statistics.mean(peaks), found, took, busy / took


def ten_times(args, server):
    """S1. Texts with the same seed are the same, whatever other clients request."""
    span = 4 if args.quick else 15
    want = {seed: text_of(post(server.port, good(seed))[1]) for seed in range(8)}
    peak, found, took, busy = in_turns(server.port, span / 4, 1 if args.quick else 2)
    done = [f for f in found if f[0] == 200]
    refused = [f for f in found if f[0] == 503]
    lost = len(found) - len(done) - len(refused)
    wrong = sum(want[seed] != text for _, _, _, (seed, text) in done)
    untold = sum(not tells for _, _, tells, _ in refused)
    args.tell(f"S1 10x, the client busy {busy:.0%}: answers/s (at the peak)",
              f"{len(done) / took:.2f}", f"{peak:.2f}", len(done) / took / peak,
              ("at least", 0.95))
    if refused:
        late = percentile([f[1] for f in refused], 0.99)
        args.tell("S1 refused at once: p99, ms (10 ms)", f"{late * 1e3:.1f}", "10", late * 100,
                  ("at most", 1.0))
    args.tell("S1 lost, wrong, refused without Retry-After (of all)",
              f"{lost + wrong + untold}", f"{len(found)}", lost + wrong + untold, ("at most", 0))


def bad_clients(args, server):
    """S2. Connections that send one byte from time to time."""
    count, asks, slow, ends = 200 if args.quick else 1000, 20 if args.quick else 60, [], False

    def p99():
        return percentile([post(server.port, good())[2] for _ in range(asks)], 0.99)

    def trickle():
        while not ends:
            for link in slow:
                try:
                    link.send(b"a")
                except OSError:
                    pass
            time.sleep(1)
    p99()
    before = statistics.median(p99() for _ in range(3))
    for _ in range(count):
        link = socket.create_connection(("127.0.0.1", server.port), timeout=10)
        link.sendall(b"POST /v1/completions HTTP/1.1\r\nX: ")
        slow.append(link)
    thread = threading.Thread(target=trickle)
    thread.start()
    during = statistics.median(p99() for _ in range(3))
    ends = True
    thread.join()
    for link in slow:
        link.close()
    args.tell(f"S2 with {count} slow clients: p99 of a good one, ms (before)",
              f"{during * 1e3:.1f}", f"{before * 1e3:.1f}", during / before, ("at most", 1.1))


def drained(args, command):
    """S3. SIGTERM while eight clients send requests: accepted ones are answered, and it exits with
    0."""
    rounds, bad = 2 if args.quick else 12, 0
    for number in range(rounds):
        with args.served(command) as server:
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                asked = [pool.submit(post, server.port, good(i, 48)) for i in range(8)]
                time.sleep(0.1 + 0.02 * number)
                server.run.send_signal(signal.SIGTERM)
                for one in asked:
                    try:
                        status, answer, _, _ = one.result()
                        bad += status not in (200, 503) or (status == 200 and not text_of(answer))
                    except ConnectionRefusedError:
                        pass # it had ended
                    except (OSError, http.client.HTTPException, KeyError):
                        bad += 1
            bad += server.run.wait(20) != 0
    args.tell(f"S3 SIGTERM under load, {rounds} times: answers lost, bad exits", f"{bad}", "0", bad,
              ("at most", 0))


def mixed(args, server, model):
    """S4. Good and malformed requests in one stream: each good one has the text of the command."""
    count, wrong = 400 if args.quick else 10000, 0
    want = {}
    for seed in range(4):
        command = [peers.TAKT, "generate", model, "-p", PROMPT, "-n", "4", "--temp", "0.8", "-s",
                   str(seed), "--top-k", "40", "--top-p", "0.95", "--min-p", "0.05",
                   "--ignore-eos", "-c", "256", "--json", "-q"]
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
        want[seed] = json.loads(answer.stdout)["text"]

    def one(i):
        draw = random.Random(i)
        if draw.random() < 0.5:
            status, _, _, _ = post(server.port, draw.choice(MALFORMED).encode("latin-1"))
            return not 400 <= status < 500
        seed = draw.randrange(4)
        status, answer, _, _ = post(server.port, good(seed, 4))
        return status != 200 or text_of(answer) != want[seed]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        wrong = sum(pool.map(one, range(count)))
    wrong += server.run.poll() is not None
    args.tell("S4 good and malformed requests: wrong answers (of all)", f"{wrong}", f"{count}",
              wrong, ("at most", 0))


def stories260k():
    data = os.environ.get("TAKT_DATA", os.path.join(peers.ROOT, "..", "shared", "data"))
    path = os.path.join(data, "llm", "stories260K", "stories260K-Q8_0.gguf")
    if not os.path.exists(path):
        raise peers.Missing("the shared data is not there")
    return path


def overload(args):
    smollm2 = peers.smollm2()
    stories = stories260k()
    more = ["--parallel", "8", "-c", "256", "-t", str(args.threads), "--connections", "2048"]
    with args.served([peers.TAKT, "serve", smollm2, *more, "--queue", "16"]) as server:
        ten_times(args, server)
    with args.served([peers.TAKT, "serve", smollm2, *more]) as server:
        bad_clients(args, server)
    drained(args, [peers.TAKT, "serve", smollm2, *more])
    with args.served([peers.TAKT, "serve", stories, *more]) as server:
        mixed(args, server, stories)
