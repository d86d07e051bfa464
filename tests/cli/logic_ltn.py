"""logic_ltn.py - examples/smokers.takt is trained as LTNtorch trains it: the same start, the same
losses step by step.

Needs the Python packages LTNtorch, torch and numpy, here or in build/venv; without them this is
skipped. TAKT_STEPS says how many steps.
"""
import json
import os

import _venv

try:
    import numpy
    import torch
    from ltn import fuzzy_ops as ops
except ImportError:
    _venv.instead("LTNtorch")

from _cli import TMP, expect, finish, succeeds  # noqa: E402

STEPS = int(os.environ.get("TAKT_STEPS", "20"))
PEOPLE, NETS = 14, ("truth_0", "truth_1", "truth_2")
FRIENDS = [(0, 1), (0, 4), (0, 5), (0, 6), (1, 2), (2, 3), (4, 5), (6, 7), (8, 9), (9, 12),
           (10, 11), (12, 13)]
SMOKERS, ILL = (0, 4, 5, 6, 9, 13), (0, 4)


def start():
    """Weights by the names of the model; those of a layer are [inputs, outputs]."""
    torch.manual_seed(3)
    weights = {"embedding": torch.rand(PEOPLE, 5)}
    for net, width in zip(NETS, (10, 5, 5)):
        for layer, (inputs, outputs) in enumerate(((width, 16), (16, 16), (16, 1))):
            weights[f"{net}.dense_{layer}.weight"] = torch.randn(inputs, outputs) / inputs ** 0.5
            weights[f"{net}.dense_{layer}.bias"] = torch.zeros(outputs)
    return {name: w.requires_grad_() for name, w in weights.items()}


def truth(w, net, x):
    elu = torch.nn.functional.elu
    for layer in range(3):
        x = x @ w[f"{net}.dense_{layer}.weight"] + w[f"{net}.dense_{layer}.bias"]
        x = elu(x) if layer < 2 else torch.sigmoid(x)
    return x[..., 0]


def satisfied(w, soft):
    """The truth of all axioms, with LTNtorch's operators."""
    no, both, implies = (ops.NotStandard(), ops.AndProd(stable=False),
                         ops.ImpliesReichenbach(stable=False))
    some, every = ops.AggregPMean(p=soft), {p: ops.AggregPMeanError(p=p) for p in (2, 5)}
    x = w["embedding"]
    pairs = torch.cat([x[:, None].expand(-1, PEOPLE, -1), x[None].expand(PEOPLE, -1, -1)], 2)
    friends = truth(w, NETS[0], pairs)
    smokes, cancer = truth(w, NETS[1], x), truth(w, NETS[2], x)
    known = torch.zeros(PEOPLE, PEOPLE, dtype=torch.bool)
    known[tuple(zip(*FRIENDS))] = True
    group = torch.arange(PEOPLE) < 8
    asked = (group[:, None] == group[None]) & (torch.arange(PEOPLE)[:, None]
                                               < torch.arange(PEOPLE)[None])
    is_smoker = torch.tensor([i in SMOKERS for i in range(PEOPLE)])
    is_ill = torch.tensor([i in ILL for i in range(PEOPLE)])
    axioms = [every[2](friends[known], dim=0), every[2](no(friends[asked & ~known]), dim=0),
              every[2](smokes[is_smoker], dim=0), every[2](no(smokes[~is_smoker]), dim=0),
              every[2](cancer[is_ill], dim=0), every[2](no(cancer[group & ~is_ill]), dim=0),
              every[5](no(friends.diagonal()), dim=0),
              every[5](implies(friends, friends.T).reshape(-1), dim=0),
              every[5](some(friends, dim=1), dim=0),
              every[5](implies(both(friends, smokes[:, None]), smokes[None]).reshape(-1), dim=0),
              every[5](implies(smokes, cancer), dim=0)]
    return every[2](torch.stack(axioms), dim=0)


def theirs(weights, exponents):
    optimizer = torch.optim.Adam(weights.values(), lr=0.001)
    losses = []
    for p in exponents:
        optimizer.zero_grad()
        loss = 1 - satisfied(weights, float(p))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def ours(weights, exponents, flags=()):
    data, first, log = (os.path.join(TMP, name) for name in ("p.npz", "start.npz", "log.jsonl"))
    numpy.savez(data, p=exponents[:, None])
    numpy.savez(first, **{name: w.detach().numpy() for name, w in weights.items()})
    if os.path.exists(log):
        os.remove(log)
    succeeds("train", "examples/smokers.takt", "-w", first, "--data", data, "--batch-size", "1",
             "--no-shuffle", "--optimizer", "adam", "--lr", "0.001", "--steps", str(len(exponents)),
             "--log", log, *flags)
    with open(log, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [row["loss"] for row in rows if "loss" in row]


schedule = numpy.array([1.0 if i < max(5, STEPS // 5) else 6.0 for i in range(STEPS)], "f4")
begin = start()
mine = ours(begin, schedule)
expect(mine == ours(begin, schedule, ("-t", "3")), "threads change the losses")
want = theirs(begin, schedule)
expect(len(mine) == STEPS, f"{len(mine)} losses: {mine[:3]}")
worst = max(abs(a - b) for a, b in zip(mine, want))
expect(worst < 1e-5, f"the losses differ by {worst}")
expect(mine[-1] < mine[0], f"nothing was learnt: {mine[0]} to {mine[-1]}")
print(f"{STEPS} steps: satisfaction {1 - mine[-1]:.4f}, LTNtorch {1 - want[-1]:.4f}, "
      f"losses differ by {worst:.1e} at most")
finish()
