"""serve_join.py - requests for /v1/infer that are joined to batches within --max-wait: the same
bits as alone, and requests that cannot be joined are answered as well."""
import concurrent.futures
import os
import random
import re

from _cli import TMP, expect, finish
from _serve import Server

MLP = "examples/mlp.takt"
TURNED = os.path.join(TMP, "turned.takt")
CLIENTS = 12


def ask(rows, seed):
    draw = random.Random(seed)
    return {"inputs": [{"name": "x", "shape": [rows, 784],
                        "data": [round(draw.random(), 3) for _ in range(rows * 784)]}]}


def joined(server):
    text = server.ask("GET", "/metrics")[1]
    return int(re.search(r"^\S*infer_requests_joined_total (\d+)", text, re.M).group(1))


def all_at_once(server, path, bodies):
    with concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
        return list(pool.map(lambda body: server.post(path, body), bodies))


bodies = [ask(1 + seed % 3, seed) for seed in range(CLIENTS)]
with Server(MLP) as running:
    want = [running.post("/v1/infer/mlp", body) for body in bodies]
    expect(all(status == 200 for status, _ in want), f"{str(want)[:300]}")
    expect(all_at_once(running, "/v1/infer/mlp", bodies) == want and joined(running) == 0,
           "requests are joined without --max-wait")
with Server(MLP, "--max-wait", "500ms") as running:
    got = all_at_once(running, "/v1/infer/mlp", bodies)
    expect(got == want, "a batch has other numbers")
    expect(joined(running) > 1, "nothing was joined")
    before = joined(running)
    mixed = bodies[:3] + [{"inputs": [{"name": "z", "shape": [1], "data": [1]}]},
                          {"inputs": [{"name": "x", "shape": [1, 783], "data": [0] * 783}]}, {},
                          {"inputs": [{"name": "x", "shape": [0, 784], "data": []}]}] + bodies[3:6]
    for _ in range(5):  # on a busy machine requests may arrive further apart than they wait
        answers = all_at_once(running, "/v1/infer/mlp", mixed)
        if joined(running) > before:
            break
    expect(answers[:3] + answers[7:] == want[:6], "a bad request changes others")
    expect([status for status, _ in answers[3:6]] == [400] * 3, f"{answers[3:7]}")
    expect(joined(running) > before, "nothing was joined next to bad requests")
    large = [ask(100, seed) for seed in range(4)]
    sizes = [reply["outputs"][0]["shape"][0] for status, reply in
             all_at_once(running, "/v1/infer/mlp", large) if status == 200]
    expect(sizes == [100] * 4, f"{sizes}")
    one = running.post("/v1/infer/mlp", bodies[0])
    expect(one == want[0], "a request that waits in vain is answered otherwise")
with open(TURNED, "w", encoding="utf-8") as file:  # its samples are columns
    file.write("model turned(x: f32[2, n]) -> f32[2, n] {\n  return x + x\n}\n")
with Server(TURNED, "--max-wait", "50ms") as running:
    columns = [{"inputs": [{"name": "x", "shape": [2, n], "data": list(range(2 * n))}]}
               for n in (1, 2, 1, 3)]
    got = all_at_once(running, "/v1/infer/turned", columns)
    expect([reply["outputs"][0]["data"] for _, reply in got] ==
           [[2 * x for x in body["inputs"][0]["data"]] for body in columns], f"{got}")
    expect(joined(running) == 0, "columns were joined")
finish()
