"""train_peers_slow.py - every optimiser and schedule against torch's own, Lion and LAMB optax's.

A linear model in 20 steps, the peers in double: every loss and every weight at the end within 1e-6.
Needs torch, optax and numpy, here or in build/venv (TAKT_VENV); without them this is skipped. Muon
of torch rounds matrices to bf16; here it computes in double like the others.
"""
import json
import math
import os
from unittest import mock

import _venv

os.environ.setdefault("JAX_PLATFORMS", "cpu")
try:
    import jax
    import numpy as np
    import optax
    import torch
except ImportError:
    _venv.instead("torch optax")

from _cli import expect, finish, parsed, path, succeeds, write  # noqa: E402

jax.config.update("jax_enable_x64", True)
STEPS, ROWS, RATE = 20, 4, 0.02
MODEL = "model linear(x: f32[batch, 3]) {\n  return dense(x, 2)\n}\n"
X = np.array([[math.sin(1 + i * 3 + k) for k in range(3)] for i in range(ROWS)], np.float32)
T = np.array([[2 * math.cos(i * 2 + k) for k in range(2)] for i in range(ROWS)], np.float32)
W = np.array([[0.3 * math.sin(5 + i * 2 + k) for k in range(2)] for i in range(3)], np.float32)
B = np.array([0.5, -0.25], np.float32)


def safetensors():
    header = {"dense_0.weight": {"dtype": "F32", "shape": [3, 2], "data_offsets": [0, 24]},
              "dense_0.bias": {"dtype": "F32", "shape": [2], "data_offsets": [24, 32]}}
    text = json.dumps(header).encode()
    return write("w.safetensors", len(text).to_bytes(8, "little") + text + W.tobytes() +
                 B.tobytes())


def takt(*flags, x=X, t=T):
    """The log of a training, and the weights at its end."""
    log, data, end = path("log.jsonl"), path("data.npz"), path("end.taktp")
    np.savez(data, x=x, y=t)
    succeeds("train", write("linear.takt", MODEL), "--weights", safetensors(), "--data", data,
             "--loss", "mse", "--batch-size", str(ROWS), "--no-shuffle", "--epochs", str(STEPS),
             "--log", log, "--quiet", "-o", end, *flags)
    succeeds("convert", end, "-o", path("end.safetensors"))
    with open(log) as lines:
        rows = [json.loads(line) for line in lines]
    with open(path("end.safetensors"), "rb") as file:
        data = file.read()
    size = int.from_bytes(data[:8], "little")
    table, bytes_ = json.loads(data[8:8 + size]), data[8 + size:]

    def of(name):
        start, stop = table[name]["data_offsets"]
        return np.frombuffer(bytes_[start:stop], np.float32)
    return rows, [of("dense_0.weight"), of("dense_0.bias")]


def by_torch(make, schedule=None):
    """Losses, rates and end weights. `make` returns the optimisers of the weight and the bias."""
    w, b = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (W, B))
    x, t = torch.tensor(X, dtype=torch.float64), torch.tensor(T, dtype=torch.float64)
    optimizers = make(w, b)
    schedules = [schedule(o) for o in optimizers] if schedule else []
    losses, rates = [], []
    for _ in range(STEPS):
        loss = ((x @ w + b - t) ** 2).mean()
        losses.append(float(loss.detach()))
        rates.append(optimizers[0].param_groups[0]["lr"])
        for o in optimizers:
            o.zero_grad()
        loss.backward()
        for step in [*optimizers, *schedules]:
            step.step()
    return losses, rates, [v.detach().numpy().ravel() for v in (w, b)]


def by_optax(optimizer):
    values = [np.float64(W), np.float64(B)]
    state, losses = optimizer.init(values), []

    def loss_of(v):
        return ((np.float64(X) @ v[0] + v[1] - T) ** 2).mean()
    for _ in range(STEPS):
        loss, slopes = jax.value_and_grad(loss_of)(values)
        losses.append(float(loss))
        updates, state = optimizer.update(slopes, state, values)
        values = optax.apply_updates(values, updates)
    return losses, None, [np.asarray(v).ravel() for v in values]


def single(kind, **settings):
    return lambda w, b: [kind([w, b], **settings)]


def muon(w, b):
    return [torch.optim.Muon([w], lr=RATE, weight_decay=0.1, momentum=0.95),
            torch.optim.AdamW([b], lr=RATE, weight_decay=0.1)]


optim, schedules = torch.optim, torch.optim.lr_scheduler
OPTIMIZERS = {
    "sgd": single(optim.SGD, lr=RATE),
    "sgd:momentum=0.9": single(optim.SGD, lr=RATE, momentum=0.9),
    "sgd:momentum=0.9,nesterov=1,weight_decay=0.01":
        single(optim.SGD, lr=RATE, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": single(optim.Adam, lr=RATE),
    "adam:weight_decay=0.1": single(optim.Adam, lr=RATE, weight_decay=0.1),
    "adamw": single(optim.AdamW, lr=RATE),
    "rmsprop": single(optim.RMSprop, lr=RATE),
    "rmsprop:alpha=0.9,momentum=0.5,centered=1":
        single(optim.RMSprop, lr=RATE, alpha=0.9, momentum=0.5, centered=True),
    "adagrad": single(optim.Adagrad, lr=RATE),
    "adagrad:rate_decay=0.1": single(optim.Adagrad, lr=RATE, lr_decay=0.1),
    "adadelta": single(optim.Adadelta, lr=RATE),
    "adafactor": single(optim.Adafactor, lr=RATE, eps=(2.0 ** -23, 1e-3)),
    "muon": muon,
    "lion": optax.lion(RATE, weight_decay=1e-3),
    "lamb:weight_decay=0.1": optax.lamb(RATE, weight_decay=0.1),
}
SCHEDULES = {
    "constant": lambda o: schedules.ConstantLR(o, 1),
    "step:every=7,factor=0.5": lambda o: schedules.StepLR(o, 7, 0.5),
    "cosine:floor=0.1": lambda o: schedules.CosineAnnealingLR(o, STEPS, 0.1 * RATE),
    "linear": lambda o: schedules.LinearLR(o, 1, 0, STEPS),
    "one_cycle": lambda o: schedules.OneCycleLR(o, RATE, STEPS, cycle_momentum=False),
}


def compare(name, got, want):
    rows, ends = got
    losses, _, weights = want
    worst = max(abs(row["loss"] - loss) for row, loss in zip(rows, losses))
    expect(len(rows) == STEPS and worst <= 1e-6, f"{name}: a loss differs by {worst:g}")
    last = max(float(np.abs(a - b).max()) for a, b in zip(ends, weights))
    expect(last <= 1e-6, f"{name}: a weight differs by {last:g} at the end")
    print(f"{name}: losses within {worst:.1e}, weights within {last:.1e}")


def plateau():
    """The rates that torch chooses for the validation losses that Takt has logged."""
    rows, _ = takt("--optimizer", "sgd", "--lr", "0.6", "--val-split", "0.5", "--schedule",
                   "plateau:factor=0.5,patience=1,threshold=0.2", x=np.concatenate([X, 3 * X]),
                   t=np.concatenate([T, T]))
    lone = optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.6)
    theirs = schedules.ReduceLROnPlateau(lone, factor=0.5, patience=1, threshold=0.2)
    seen, worst = set(), 0
    for row in rows:
        if "validation_loss" in row:
            theirs.step(row["validation_loss"])
            continue
        seen.add(row["rate"])
        worst = max(worst, abs(row["rate"] - lone.param_groups[0]["lr"]))
    expect(len(seen) > 1, "plateau: the rate has fallen")
    expect(worst <= 1e-9, f"plateau: a rate differs by {worst:g}")
    print(f"plateau: {len(seen)} rates, within {worst:.1e}")


for name, make in OPTIMIZERS.items():
    with mock.patch.object(torch, "bfloat16", torch.float64):
        want = by_torch(make) if callable(make) else by_optax(make)
    compare(name, takt("--optimizer", name, "--lr", str(RATE)), want)
for name, make in SCHEDULES.items():
    want = by_torch(single(optim.SGD, lr=RATE), make)
    got = takt("--optimizer", "sgd", "--lr", str(RATE), "--schedule", name)
    compare(name, got, want)
    worst = max(abs(row["rate"] - rate) for row, rate in zip(got[0], want[1]))
    expect(worst <= 1e-9, f"{name}: a rate differs by {worst:g}")
plateau()
listed = parsed("train", "--list", "--json")
for key, tested in (("optimizers", OPTIMIZERS), ("schedules", [*SCHEDULES, "plateau"])):
    expect({row["name"] for row in listed[key]} == {name.split(":")[0] for name in tested},
           f"all {key} are tested")
finish()
