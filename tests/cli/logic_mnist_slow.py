"""logic_mnist_slow.py - examples/addition.takt learns digits from sums as a program in torch does.

Three seeds in both; the mean accuracy of sums must not be below torch's by more than its standard
deviation. TAKT_EPOCHS says how many passes over 3,000 pairs. Needs MNIST in TAKT_DATA, and torch
and numpy, here or in build/venv; without them this is skipped.
"""
import gzip
import os
import statistics
import subprocess
import sys

import _venv

try:
    import numpy
    import torch
except ImportError:
    _venv.instead("torch")

from _cli import CLEAN, ROOT, TMP, TOOL, expect, finish, takt  # noqa: E402

DATA = os.path.join(os.environ.get("TAKT_DATA", os.path.join(ROOT, "..", "shared", "data")), "data",
                    "mnist")
if not os.path.exists(os.path.join(DATA, "train-images-idx3-ubyte.gz")):
    print("skipped: MNIST is not here: set TAKT_DATA")
    sys.exit(77)
EPOCHS, PAIRS, TESTS, BATCH = int(os.environ.get("TAKT_EPOCHS", "3")), 3000, 2000, 32


def pairs(part, count, seed):
    def read(name, offset):
        with gzip.open(os.path.join(DATA, f"{part}-{name}.gz")) as file:
            return numpy.frombuffer(file.read(), numpy.uint8, offset=offset)
    images, labels = read("images-idx3-ubyte", 16).reshape(-1, 28, 28), read("labels-idx1-ubyte", 8)
    order = numpy.random.RandomState(seed).permutation(len(images))[:2 * count].reshape(count, 2)
    return ((images[order] / numpy.float32(255)).astype("f4"),
            labels[order].astype("i8").sum(1))


def theirs(train, test, seed):
    """The same net; the probability of a sum is a convolution of two rows, written by hand."""
    torch.manual_seed(seed)
    layer = torch.nn
    net = layer.Sequential(
        layer.Conv2d(1, 6, 5), layer.ReLU(), layer.MaxPool2d(2), layer.Conv2d(6, 16, 5),
        layer.ReLU(), layer.MaxPool2d(2), layer.Flatten(), layer.Linear(256, 120), layer.ReLU(),
        layer.Linear(120, 84), layer.ReLU(), layer.Linear(84, 10), layer.Softmax(-1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.001)
    which = torch.arange(10)[:, None] + torch.arange(10)[None]

    def sums(x):
        rows = net(x.reshape(-1, 1, 28, 28)).reshape(-1, 2, 10)
        both = (rows[:, 0, :, None] * rows[:, 1, None]).reshape(len(x), 100)
        return torch.zeros(len(x), 19).index_add(1, which.reshape(-1), both)
    x, y = torch.from_numpy(train[0]), torch.from_numpy(train[1])
    for _ in range(EPOCHS):
        for at in torch.randperm(len(x)).split(BATCH):
            optimizer.zero_grad()
            loss = -sums(x[at]).gather(1, y[at, None]).clamp_min(1e-30).log().mean()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        return (sums(torch.from_numpy(test[0])).argmax(1).numpy() == test[1]).mean().item()


def ours(test, seed):
    trained, out = os.path.join(TMP, "trained.taktp"), os.path.join(TMP, "adds.npy")
    source = os.path.join(TMP, "addition.takt")
    with open(os.path.join(ROOT, "examples", "addition.takt"), encoding="utf-8") as file:
        text = file.read().replace("seed=1", f"seed={seed + 1}")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    run = subprocess.run(  # without a limit on time
        [TOOL, "train", source, "--data", os.path.join(TMP, "sums.npz"), "--optimizer", "adam",
         "--lr", "0.001", "--epochs", str(EPOCHS), "--seed", str(seed), "-t", "1", "-o", trained],
        env=CLEAN, text=True, capture_output=True, check=False)
    expect(run.returncode == 0, run.stderr)
    run = takt("run", trained, "-D", f"batch={TESTS}", "-i",
               f"pair={os.path.join(TMP, 'pair.npy')}", "-i",
               f"label={os.path.join(TMP, 'label.npy')}", "-o", f"adds={out}")
    expect(run.returncode == 0, run.stderr)
    return (numpy.load(out).argmax(1) == test[1]).mean().item()


torch.set_num_threads(1)
training, testing = pairs("train", PAIRS, 0), pairs("t10k", TESTS, 0)
numpy.savez(os.path.join(TMP, "sums.npz"), pair=training[0], label=training[1])
numpy.save(os.path.join(TMP, "pair.npy"), testing[0])
numpy.save(os.path.join(TMP, "label.npy"), testing[1])
mine, others = [], []
for number in range(3):
    mine.append(ours(testing, number))
    others.append(theirs(training, testing, number))
    print(f"seed {number}: takt {mine[-1]:.4f}, torch {others[-1]:.4f}", flush=True)
least = statistics.mean(others) - statistics.stdev(others)
expect(statistics.mean(mine) >= least, f"{mine} is below torch's {others}")
expect(min(mine) > 0.3, f"some seed learnt nothing: {mine}")
print(f"{EPOCHS} passes over {PAIRS} pairs: takt {statistics.mean(mine):.4f}, "
      f"torch {statistics.mean(others):.4f} +- {statistics.stdev(others):.4f}")
finish()
