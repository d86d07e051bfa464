"""serve.py - the server: OpenAI's routes, streams, many clients, bad clients, overload, drain."""
import concurrent.futures
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

from _cli import CLEAN, ROOT, TMP, TOOL, expect, fails, finish, parsed
from _serve import Server

TINY = "tests/corpus/gguf/tiny.gguf"
BERT = "tests/corpus/gguf/tiny_bert.gguf"
T5 = "tests/corpus/gguf/tiny_t5.gguf"


def stream(server, path, body):
    link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    link.request("POST", path, json.dumps({**body, "stream": True}))
    reply = link.getresponse()
    lines = reply.read().decode().split("\n\n")
    link.close()
    events = [line[6:] for line in lines if line.startswith("data: ")]
    expect(events and events[-1] == "[DONE]", f"{lines}")
    return [json.loads(event) for event in events[:-1]]


def routes(server):
    status, text, _ = server.ask("GET", "/health")
    health = json.loads(text)
    expect(status == 200 and health["status"] == "ok" and health["model"] == "tiny", text)
    expect(health["kv_cache_bytes"] > 0 and health["weight_bytes"] > 0, text)
    expect(f"weights {health['weight_bytes']} bytes, caches {health['kv_cache_bytes']} bytes (3 x "
           in server.memory, server.memory)
    want = parsed("tokenize", TINY, "a b", "--ids", "--json")["ids"]
    got = server.post("/tokenize", {"content": "a b", "add_special": True})
    expect(got == (200, {"tokens": want}), f"{got}, not {want}")
    status, back = server.post("/detokenize", {"tokens": [4, 5]})
    expect(status == 200 and isinstance(back["content"], str), f"{back}")
    status, text, _ = server.ask("GET", "/v1/models")
    expect([m["id"] for m in json.loads(text)["data"]] == ["tiny", "mlp"], text)
    for name, want in (("tiny", 200), ("mlp", 200), ("tin", 404), ("", 404)):
        status, text, _ = server.ask("GET", "/v1/models/" + name)
        expect(status == want and (want == 404 or json.loads(text)["id"] == name), text)
    status, text, headers = server.ask("GET", "/")
    expect(status == 200 and "text/html" in headers["Content-Type"] and "http" not in
           text.replace("http-equiv", "").lower(), "the page uses the network")
    for method, path, want in (("GET", "/nowhere", 404), ("POST", "/v1/infer/nothing", 404),
                               ("DELETE", "/health", 405), ("POST", "/health", 405),
                               ("GET", "/v1/completions", 405), ("GET", "/tokenize", 405),
                               ("GET", "/v1/embeddings", 404), ("POST", "/v1/embeddings", 404)):
        status, text, _ = server.ask(method, path, "{}")
        expect(status == want and "error" in json.loads(text), f"{method} {path}: {status} {text}")
    expect("is for sentence encoders" in text, text)
    for method, path, allowed in (("GET", "/v1/infer/mlp", "POST"),
                                  ("PUT", "/v1/infer/mlp", "POST"),
                                  ("POST", "/v1/models/tiny", "GET, HEAD"),
                                  ("DELETE", "/v1/models/mlp", "GET, HEAD"),
                                  ("POST", "/", "GET, HEAD"), ("GET", "/tokenize", "POST")):
        status, text, headers = server.ask(method, path, "{}")
        want = f"{method} is not allowed for {path}, which takes {allowed}"
        expect(status == 405 and headers["Allow"] == allowed and want in text,
               f"{method} {path}: {status} {headers} {text}")
    for path, near in (("/v1/chat/completion", "/v1/chat/completions"),
                       ("/chat/completions", "/v1/chat/completions"),
                       ("/v1/completions/", "/v1/completions"), ("/model", "")):
        text = server.ask("POST", path, "{}")[1]
        expect(f"; did you mean {near}?" in text if near else "did you mean" not in text,
               f"{path}: {text}")
    for method, path in (("GET", "/v1/infer/ml"), ("DELETE", "/nowhere"), ("POST", "/v1/models/")):
        expect(server.ask(method, path, "{}")[0] == 404, f"{method} {path} is there")


def document(server):
    """Every route and flag of docs/serving.md exists."""
    with open(os.path.join(ROOT, "docs/serving.md"), encoding="utf-8") as file:
        text = file.read()
    found = re.findall(r"`(GET|POST) (/[\w/]*)`", text)
    expect(len(found) >= 10, "docs/serving.md has lost its routes")
    for method, path in found:
        path = path.replace("NAME", "mlp")
        status = server.ask(method, path, "{}" if method == "POST" else None)[0]
        want = 404 if path == "/v1/embeddings" else 200 if method == "GET" else 400
        expect(status == want, f"{method} {path}: {status}")
    known = subprocess.run([TOOL, "serve", "--help-all"], cwd=ROOT, env=CLEAN, capture_output=True,
                           text=True, check=False).stdout
    for flag in set(re.findall(r"(--[a-z][a-z-]+)", text)) - {"--chat"}:
        expect(flag in known, f"docs/serving.md: takt serve has no {flag}")


def text_of(body, server):
    return server.post("/v1/completions", body)[1]["choices"][0]["text"]


def texts(server):
    """The same text as the command writes."""
    want = parsed("generate", TINY, "-p", "a b", "-n", "12", "-s", "3", "--json")
    ask = {"prompt": "a b", "max_tokens": 12, "seed": 3}
    status, got = server.post("/v1/completions", ask)
    expect(status == 200 and got["choices"][0]["text"] == want["text"], f"{got}, not {want}")
    expect(got["usage"]["completion_tokens"] == want["tokens"], f"{got['usage']}")
    pieces = stream(server, "/v1/completions", {**ask, "stream_options": {"include_usage": True}})
    text = "".join(p["choices"][0]["text"] for p in pieces if p["choices"])
    expect(text == want["text"], f"streamed: {text!r}")
    expect(pieces[-1]["usage"]["completion_tokens"] == want["tokens"], f"{pieces[-1]}")
    status, got = server.post("/v1/completions", {**ask, "n": 3, "temperature": 2})
    expect(len({c["text"] for c in got["choices"]}) > 1 and
           [c["index"] for c in got["choices"]] == [0, 1, 2], f"{got}")
    chat = {"messages": [{"role": "user", "content": "a b"}], "max_tokens": 6, "temperature": 0}
    want = parsed("generate", TINY, "a b", "--chat-template", "vicuna", "-n", "6", "--temp", "0",
                  "--json")
    status, got = server.post("/v1/chat/completions", chat)
    expect(status == 200 and got["choices"][0]["message"]["content"] == want["text"], f"{got}")
    pieces = stream(server, "/v1/chat/completions", chat)
    expect(pieces[0]["choices"][0]["delta"]["role"] == "assistant", f"{pieces[0]}")
    text = "".join(p["choices"][0]["delta"].get("content", "") for p in pieces)
    expect(text == want["text"] and pieces[-1]["choices"][0]["finish_reason"], f"{pieces}")
    status, got = server.post("/v1/chat/completions", {**chat, "logprobs": True,
                                                       "top_logprobs": 2})
    logs = got["choices"][0]["logprobs"]["content"]
    expect(len(logs) == got["usage"]["completion_tokens"] and all(
        t["logprob"] <= 0 and len(t["top_logprobs"]) == 2 and
        t["logprob"] == t["top_logprobs"][0]["logprob"] for t in logs), f"{logs}")
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    status, got = server.post("/v1/chat/completions", {
        **chat, "messages": [{"role": "user", "content": parts}]})
    lines = server.post("/v1/chat/completions", {
        **chat, "messages": [{"role": "user", "content": "a\nb"}]})[1]
    expect(status == 200 and got["choices"] == lines["choices"] and
           got["usage"]["prompt_tokens"] == lines["usage"]["prompt_tokens"], f"{got}, not {lines}")
    status, got = server.post("/completion", {"prompt": ["a b"], "n_predict": 12, "seed": 3})
    expect(status == 200 and got["choices"][0]["text"] == text_of(ask, server), f"{got}")
    held = {"prompt": "b", "max_tokens": 40, "temperature": 3, "grammar": 'root ::= "ab" " a"{2}'}
    status, got = server.post("/v1/completions", held)
    expect(got["choices"][0]["text"] == "ab a a" and
           got["choices"][0]["finish_reason"] == "stop", f"{got}")
    more = {"dry_multiplier": 2, "dry_base": 2, "dry_allowed_length": 1, "dry_penalty_last_n": 9,
            "dry_sequence_breakers": [" c"], "xtc_probability": 0.5, "xtc_threshold": 0.05,
            "top_n_sigma": 3, "dynatemp_range": 0.5, "dynatemp_exponent": 2,
            "samplers": ["dry", "top_n_sigma", "xtc", "temperature"]}
    flags = [w for k, v in more.items() if not isinstance(v, list)
             for w in ("--" + k.replace("_", "-").replace("exponent", "exp"), str(v))]
    want = parsed("generate", TINY, "-p", "a b a b", "-n", "20", "-s", "3", "--json", *flags,
                  "--dry-sequence-breaker", " c", "--sampling-seq", "dsxt")["text"]
    rare = {"prompt": "a b a b", "max_tokens": 20, "seed": 3, **more}
    for order in (more["samplers"], "dsxt"):
        status, got = server.post("/v1/completions", {**rare, "samplers": order})
        expect(status == 200 and got["choices"][0]["text"] == want, f"{got}, not {want!r}")
    full = parsed("generate", TINY, "a b", "-n", "12", "-s", "3", "--json")["text"]
    stop = full[3:5]
    status, got = server.post("/v1/completions", {**ask, "stop": [stop, "nowhere"]})
    expect(got["choices"][0]["text"] == full[:full.index(stop)], f"{got} for {full!r}")


def refusals(server):
    text = {"prompt": "a", "max_tokens": 2}
    for body, words in (({}, "prompt"), ({"prompt": 1}, "prompt"), ("{", "JSON"), ("[]", "object"),
                        ({**text, "temperature": "warm"}, "temperature"),
                        ({**text, "top_p": 2}, "top_p"), ({**text, "n": 99}, "n:"),
                        ({**text, "stop": 3}, "stop"), ({**text, "stream": 1}, "stream"),
                        ({**text, "grammar": "root ::= root"}, "left-recursive"),
                        ({**text, "response_format": {"type": "x"}}, "response_format"),
                        ({**text, "response_format": {"type": "json_schema", "json_schema": {
                            "schema": {"not": {}}}}}, "not"),
                        ({"prompt": [99]}, "token id"),
                        ({"prompt": ["a", "b"]}, "one text"),
                        ({"prompt": "a " * 9000}, "context"),
                        ({**text, "logit_bias": {"x": 1}}, "logit_bias"),
                        ({**text, "logit_bias": [1]}, "logit_bias"),
                        ({**text, "samplers": ["top_k", "q"]}, "q"),
                        ({**text, "samplers": ["top_k;xtc"]}, "samplers"),
                        ({**text, "samplers": 3}, "samplers"),
                        ({**text, "mirostat": 3}, "mirostat"),
                        ({**text, "xtc_probability": 2}, "xtc_probability"),
                        ({**text, "dry_multiplier": -1}, "dry_multiplier"),
                        ({**text, "dry_sequence_breakers": [1]}, "dry_sequence_breakers"),
                        ({**text, "dry_sequence_breakers": "a"}, "dry_sequence_breakers")):
        status, got = server.post("/v1/completions", body)
        expect(status == 400 and words in got["error"]["message"] and got["error"]["code"] > 0,
               f"{str(body)[:80]}: {status} {got}")
    for part in ({"type": "image_url", "image_url": {"url": "a"}}, {"text": "a"}, "a", 1):
        status, got = server.post("/v1/chat/completions",
                                  {"messages": [{"role": "user", "content": [part]}]})
        expect(status == 400 and "part" in got["error"]["message"], f"{part}: {status} {got}")
    status, got = server.post("/v1/chat/completions", {"messages": 3})
    expect(status == 400 and got["error"]["code"] == 3783, f"{got}")


def tensors(server):
    ask = {"inputs": [{"name": "x", "shape": [2, 784], "datatype": "FP32",
                       "data": [[0.5] * 784, [0.25] * 784]}]}
    status, got = server.post("/v1/infer/mlp", ask)
    out = got["outputs"][0]
    expect(status == 200 and out["shape"][0] == 2 and len(out["data"]) == 2 * out["shape"][1],
           f"{str(got)[:200]}")
    alone = server.post("/v1/infer/mlp", {"inputs": [{"name": "x", "shape": [1, 784], "data":
                                                      [0.25] * 784}]})[1]["outputs"][0]
    expect(alone["data"] == out["data"][out["shape"][1]:], "a batch has other numbers")
    for change, words in (({"name": "z"}, "name"), ({"shape": [2, 783]}, "data"),
                          ({"shape": [1568]}, "rank"), ({"datatype": "INT64"}, "datatype"),
                          ({"data": [1, "a"]}, "data"), ({"shape": [-1]}, "shape")):
        status, got = server.post("/v1/infer/mlp", {"inputs": [{**ask["inputs"][0], **change}]})
        expect(status == 400 and words in got["error"]["message"], f"{change}: {status} {got}")


def bad_clients(server):
    good = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
    post = b"POST /tokenize HTTP/1.1\r\nHost: a\r\n"
    body = b'{"content":"a"}'
    for data, want in (
            (good, "200"), (b"\x16\x03\x01\x00\n", "400"), (b"GET /\r\n\r\n", "400"),
            (good.replace(b"\r\n", b"\n") + b"\r\n\r\n", "400"),
            (b"GET / HTTP/1.1\r\n\r\n", "400"), (b"GET / HTTP/3.0\r\nHost: a\r\n\r\n", "505"),
            (b"GET /" + b"a" * 20000, "414"), (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 4000, "431"),
            (b"GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n", "400"),
            (b"GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", "400"),
            (post + b"\r\n", "411"), (post + b"Content-Length: -1\r\n\r\n", "400"),
            (post + b"Content-Length: 99999999999\r\n\r\n", "413"),
            (post + b"Content-Length: 99999999999999999999\r\n\r\n", "413"),
            (post + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "400"),
            (post + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}", "400"),
            (post + b"Transfer-Encoding: gzip\r\n\r\n", "501"),
            (post + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", "400"),
            (post + b"Transfer-Encoding: chunked\r\n\r\n5\r\n" + body[:5] + b"\r\na\r\n" +
             body[5:] + b"\r\n0\r\n\r\n", "200"),
            (post + b"Expect: 100-continue\r\nContent-Length: 15\r\n\r\n" + body, "200"),
            (good * 50, "200")):
        got = server.raw(data)
        expect(got.startswith(f"HTTP/1.1 {want}"), f"{data[:60]}: {got[:80]!r}")
        expect(want == "200" or "3781" in got, f"{data[:60]}: {got!r}")
    # A client that leaves in the middle of a request: others are served.
    for cut in range(0, len(good), 7):
        with socket.create_connection(("127.0.0.1", server.port)) as link:
            link.sendall(good[:cut])
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(100)]
    expect(server.ask("GET", "/health")[0] == 200, "idle connections stop the server")
    for link in idle:
        link.close()


def answered_at_once(server, head, sent):
    """An answer sent before the body was read reaches a client that is still sending."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as link:
        link.sendall(head)
        time.sleep(0.05)
        try:
            for _ in range(sent):
                link.sendall(b"x" * 65536)
        except OSError:
            pass
        got = b""
        while piece := link.recv(65536):
            got += piece
        return got.decode()


def heads(server):
    """HEAD is answered like GET without the body, and the connection stays open."""
    got = server.raw(b"HEAD /health HTTP/1.1\r\nHost: a\r\n\r\nGET /nowhere HTTP/1.1\r\nHost: a\r\n"
                     b"Connection: close\r\n\r\n")
    expect(got.startswith("HTTP/1.1 200") and "HTTP/1.1 404" in got.split("\r\n\r\n")[1], got)


def refused_early(server):
    head = b"POST /tokenize HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n"
    got = answered_at_once(server, head, 40)
    expect(got.startswith("HTTP/1.1 413"), f"the answer is lost: {got!r}")


def company(server):
    """Each text is the same, generated alone or with others."""
    asks = [{"prompt": "a b" + " a" * i, "max_tokens": 20, "seed": i} for i in range(8)]
    alone = [server.post("/v1/completions", ask)[1]["choices"][0]["text"] for ask in asks]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for _ in range(3):
            got = list(pool.map(lambda ask: server.post("/v1/completions", ask), asks * 2))
            expect([g[1]["choices"][0]["text"] for g in got] == alone * 2, "other texts")


def full_queue(server, head, bodies):
    """Fills the queue until a request is refused, before it is parsed: 503, not 400. A text may end
    before the next one comes."""
    for _ in range(20):
        links = [socket.create_connection(("127.0.0.1", server.port)) for _ in bodies]
        for link, body in zip(links, bodies):
            link.sendall((head + body).encode())
        until = time.time() + 1
        while json.loads(server.ask("GET", "/health")[1])["queued"] < 2 and time.time() < until:
            time.sleep(0.005)
        got = server.ask("POST", "/v1/completions", '{"prompt": ')
        for link in links:
            link.close()
        if got[0] == 503:
            break
    return got


def answered(server):
    """Whether a request is answered, after the server has noticed which clients disconnected."""
    until = time.time() + 20
    while time.time() < until:
        if server.post("/v1/completions", {"prompt": "a", "max_tokens": 2})[0] == 200:
            return True
        time.sleep(0.02)
    return False


def closing():
    """A closed connection ends its text; a full queue is refused at once; SIGTERM drains."""
    with Server(TINY, "--parallel", "1", "--queue", "2", "-c", "4096") as server:
        long = json.dumps({"prompt": "a", "ignore_eos": True, "stream": True})
        whole = json.dumps({"prompt": "a", "ignore_eos": True}).ljust(len(long))
        head = (f"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: {len(long)}\r\n"
                "Connection: close\r\n\r\n")
        link = socket.create_connection(("127.0.0.1", server.port))
        link.sendall((head + long).encode())
        got = b""
        while b"data: " not in got and (piece := link.recv(4096)):
            got += piece
        expect(b"data: " in got, f"no stream: {got}")
        link.close()
        status, text, headers = full_queue(server, head, (long, whole, whole))
        expect(status == 503 and headers["Retry-After"], f"{status}: {text}")
        expect(answered(server), "nothing is answered after a full queue")
        for _ in range(3):  # choices that wait for their turn go with their client
            many = json.dumps({"prompt": "a", "n": 8, "ignore_eos": True, "stream": True})
            with socket.create_connection(("127.0.0.1", server.port)) as link:
                link.sendall(head.replace(str(len(long)), str(len(many))).encode() + many.encode())
                link.recv(4096)
            expect(answered(server), "nothing is answered after eight choices that nobody took")
        status, text, _ = server.ask("GET", "/metrics")
        for name in ("time_to_first_token_seconds", "time_per_output_token_seconds",
                     "request_duration_seconds", "queue_time_seconds", "requests_running",
                     "kv_cache_bytes", "prompt_tokens_total", "generation_tokens_total"):
            expect(f"takt:{name}" in text, f"{name} is not among the metrics")
        deadline = time.time() + 20
        while json.loads(server.ask("GET", "/health")[1])["running"] > 0 and time.time() < deadline:
            time.sleep(0.005)
        answers = []
        ask = {"prompt": "a b", "max_tokens": 300, "ignore_eos": True}
        thread = threading.Thread(target=lambda: answers.append(
            server.post("/v1/completions", ask)))
        thread.start()
        while json.loads(server.ask("GET", "/health")[1])["running"] == 0 and thread.is_alive():
            time.sleep(0.005)
        server.run.send_signal(signal.SIGTERM)
        server.is_reported = True
        thread.join(20)
        expect(answers and answers[0][0] == 200, f"an accepted request is lost: {answers}")


def others():
    keys = os.path.join(TMP, "keys")
    with open(keys, "w", encoding="utf-8") as file:
        file.write("first\nsecond\n")
    with Server(BERT, "--api-key", keys) as server:
        status, text, _ = server.ask("POST", "/v1/embeddings", {"input": "a"})
        expect(status == 401, text)
        status, got = server.post("/v1/embeddings", {"input": ["a b", "b"]},
                                  headers={"Authorization": "Bearer second"})
        want = parsed("embed", BERT, "a b", "--json")["embedding"]
        vectors = [d["embedding"] for d in got["data"]]
        expect(status == 200 and len(vectors) == 2 and
               max(abs(a - b) for a, b in zip(vectors[0], want)) < 1e-6, f"{str(got)[:200]}")
        expect(server.ask("POST", "/v1/embeddings", "{}", headers={
            "Authorization": "Bearer third"})[0] == 401, "a wrong key is taken")
        head = b"POST /v1/embeddings HTTP/1.1\r\nHost: a\r\nContent-Length: 999999\r\n\r\n"
        expect(answered_at_once(server, head, 2).startswith("HTTP/1.1 401"),
               "a body is read before the key")
    with Server("tests/corpus/hf_tiny/", "--parallel", "2") as server:
        status, text, _ = server.ask("GET", "/v1/models")
        expect(status == 200 and json.loads(text)["data"][0]["id"] == "hf_tiny", text)
        expect(server.post("/v1/completions", {"prompt": "a", "max_tokens": 3})[0] == 200,
               "a folder writes nothing")
    with Server(T5, "--parallel", "3") as server:  # one prompt, and several concurrently
        for n in (1, 3):
            status, got = server.post("/v1/completions", {
                "prompt": "c c a a a b", "max_tokens": 6, "temperature": 0, "n": n})
            expect(status == 200 and [c["text"] for c in got["choices"]] == [" b c c c c c"] * n,
                   f"{got}")
    fails(2, "serve", TINY, "--chat-template", "vicunna", says=["vicuna"])
    fails(1, "serve", TINY, "--host", "192.0.2.1", says=["3782", "192.0.2.1"])
    fails(1, "serve", "nowhere.gguf", says=["nowhere.gguf"])
    fails(2, "serve", TINY, "--parallel", "99", says=["parallel"])
    fails(2, "serve", TINY, "--port", "70000", says=["65535"])


with Server(TINY, "examples/mlp.takt", "--parallel", "3", "--chat-template", "vicuna") as served:
    for check in (routes, document, texts, refusals, tensors, bad_clients, heads, refused_early,
                  company):
        check(served)
closing()
others()
finish()
