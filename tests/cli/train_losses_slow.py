"""train_losses_slow.py - every loss against torch's own: value and gradient of one step.

Torch computes in double from the same weights; a step of SGD with rate 1 shows the gradient. Needs
torch and numpy, here or in build/venv (TAKT_VENV); without them this is skipped.
"""
import json
import os

import _venv

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
except ImportError:
    _venv.instead("torch")

from _cli import expect, finish, path, succeeds, write  # noqa: E402

ROWS, WIDE = 8, 5
RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(ROWS, WIDE)).astype(np.float32)


def weights(file):
    succeeds("convert", file, "-o", file + ".npz")
    return np.load(file + ".npz")["w"]


def check(name, loss, arrays, formula, *flags, wide=4, end="h"):
    """`formula`: the matrix of outputs in double to torch's loss."""
    model = write(name + ".takt", f"model m(x: f32[{ROWS}, {WIDE}]) seed=4 {{\n"
                  f"  param w: f32[{WIDE}, {wide}] = normal(0, 0.7)\n  h = matmul(x, w)\n"
                  f"  return {end}\n}}\n")
    data, log, out = path(name + ".npz"), path(name + ".jsonl"), path(name + ".taktp")
    np.savez(data, x=X, **arrays)
    succeeds("compile", model, "-o", path("before.taktp"))
    before = weights(path("before.taktp"))
    succeeds("train", model, "--data", data, "--loss", loss, "--optimizer", "sgd", "--lr", "1",
             "--batch-size", str(ROWS), "--no-shuffle", "-q", "--log", log, "-o", out, *flags)
    with open(log, encoding="utf-8") as file:
        got = json.loads(file.readline())["loss"]
    w = torch.tensor(before.astype(np.float64), requires_grad=True)
    want = formula(torch.tensor(X.astype(np.float64)) @ w)
    want.backward()
    far = np.abs(before - weights(out) - w.grad.numpy()).max()
    expect(abs(got - want.item()) < 1e-6 * max(1, abs(want.item())), (name, got, want.item()))
    expect(far < 1e-6 * max(1, np.abs(w.grad.numpy()).max()), (name, far))


LABELS = RANDOM.integers(0, 4, ROWS)
CLASSES = torch.tensor(LABELS)
SHARES = RANDOM.dirichlet([1] * 4, ROWS).astype(np.float32)
TARGETS = RANDOM.normal(size=(ROWS, 4)).astype(np.float32)
ONE, SOFT, ANY = {"labels": LABELS}, {"labels": SHARES}, {"labels": TARGETS}
P, T = torch.tensor(SHARES.astype(np.float64)), torch.tensor(TARGETS.astype(np.float64))


def classes():
    check("ce", "cross_entropy", ONE, lambda y: F.cross_entropy(y, CLASSES))
    check("smooth", "cross_entropy:smoothing=0.1", ONE,
          lambda y: F.cross_entropy(y, CLASSES, label_smoothing=0.1))
    check("ignore", "cross_entropy:ignore=2", ONE,
          lambda y: F.cross_entropy(y, CLASSES, ignore_index=2))
    check("soft", "cross_entropy:soft=1", SOFT, lambda y: F.cross_entropy(y, P))
    weight = torch.tensor([1, 0.5, 3, 0.25], dtype=torch.float64)
    check("weighted", "cross_entropy", ONE, lambda y: F.cross_entropy(y, CLASSES, weight=weight),
          "--class-weights", "1,0.5,3,0.25")
    check("both", "cross_entropy:ignore=1", ONE,
          lambda y: F.cross_entropy(y, CLASSES, weight=weight, ignore_index=1),
          "--class-weights", "1,0.5,3,0.25")
    check("hinge", "hinge", ONE, lambda y: F.multi_margin_loss(y, CLASSES))

    def focal(y):
        right = F.log_softmax(y, 1).gather(1, CLASSES[:, None])
        return (-(1 - right.exp()) ** 2 * right).mean()
    check("focal", "focal", ONE, focal)


def targets():
    check("mse", "mse", ANY, lambda y: F.mse_loss(y, T))
    check("mae", "mae", ANY, lambda y: F.l1_loss(y, T))
    check("huber", "huber:delta=0.5", ANY, lambda y: F.huber_loss(y, T, delta=0.5))
    check("cosine", "cosine", ANY, lambda y: F.cosine_embedding_loss(y, T, torch.ones(ROWS)))
    check("bce_logits", "bce_logits", SOFT, lambda y: F.binary_cross_entropy_with_logits(y, P))
    check("bce", "bce", SOFT, lambda y: F.binary_cross_entropy(torch.sigmoid(y), P),
          end="1 / (1 + exp(-h))")
    check("kl_div", "kl_div", SOFT,
          lambda y: F.kl_div(F.log_softmax(y, 1), P, reduction="none").mean(),
          end="log(softmax(h))")


def others():
    teacher = RANDOM.normal(size=(ROWS, 4)).astype(np.float32)

    def distilled(y):
        soft = F.kl_div(F.log_softmax(y / 3, 1),
                        F.log_softmax(torch.tensor(teacher.astype(np.float64)) / 3, 1),
                        reduction="batchmean", log_target=True)
        return 0.7 * 9 * soft + 0.3 * F.cross_entropy(y, CLASSES)
    check("distil", "distillation:T=3,alpha=0.7", {**ONE, "teacher": teacher}, distilled)
    words = [[1, 2], [2], [1, 1], [3], [2, 1], [1], [3, 2], [2, 2]]
    padded = np.array([word + [-1] * (2 - len(word)) for word in words])

    def ctc(y):
        rows = F.log_softmax(y.reshape(ROWS, 5, 4), 2).transpose(0, 1)
        return F.ctc_loss(rows, torch.tensor(np.maximum(padded, 0)), torch.full((ROWS,), 5),
                          torch.tensor([len(word) for word in words]),
                          reduction="none").mean()
    check("ctc", "ctc:length=2", {"labels": padded}, ctc, wide=20,
          end=f"reshape(h, [{ROWS}, 5, 4])")

    def triplet(y):
        far = torch.cdist(y, y)
        same = CLASSES[:, None] == CLASSES[None]
        farthest = torch.where(same, far, -torch.inf).max(1).values
        nearest = torch.where(same, torch.inf, far).min(1).values
        counts = (same.sum(1) > 1) & (same.sum(1) < ROWS)
        return torch.clamp(farthest - nearest + 0.5, min=0)[counts].mean()
    check("triplet", "triplet:margin=0.5", ONE, triplet)


os.makedirs(path("."), exist_ok=True)
classes()
targets()
others()
finish()
