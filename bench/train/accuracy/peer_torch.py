"""peer_torch.py ROW FOLDER EPOCHS SEED [shift=N] - the same training by PyTorch: score of the test
part, that of test.npz or of IDX files in FOLDER.

Networks as in the models next to this file and in zoo/ROW; optimizer, batch and rate as
scripts/accuracy trains them; the rate falls as a cosine. Pictures are shifted by up to N rows and
columns at random, zeros move in."""
import gzip
import math
import os
import sys

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F


class Mean(nn.Module):
    def forward(self, x):
        return x.mean(tuple(range(2, x.dim())))


class Last(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru, self.head = nn.GRU(3, 64, batch_first=True), nn.Linear(64, 14)

    def forward(self, x):
        return self.head(self.gru(x)[0][:, -1])


class Languages(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(256, 12)
        self.layers = nn.Sequential(nn.Conv1d(12, 40, 3, padding=1), nn.ReLU(),
                                    nn.Conv1d(40, 40, 3, padding=1), nn.ReLU())
        self.head = nn.Linear(80, 8)
        nn.init.normal_(self.table.weight, 0, 0.3)

    def forward(self, x):
        h = self.layers(self.table(x).transpose(1, 2))
        return self.head(torch.cat((h.mean(2), h.amax(2)), 1))


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(3, 16, 5, padding=2), nn.ReLU(), nn.Conv1d(16, 16, 5, 2, 2), nn.ReLU(),
            nn.Conv1d(16, 16, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(256, 48), nn.ReLU(),
            nn.Linear(48, 24))

    def forward(self, x):
        last = x[:, :, 63:]
        return self.layers(x - last).reshape(-1, 3, 8) + last


def ds_cnn():
    layers = [nn.ZeroPad2d((1, 1, 4, 5)), nn.Conv2d(1, 64, (10, 4), stride=2), nn.BatchNorm2d(64),
              nn.ReLU()]
    for _ in range(4):
        layers += [nn.Conv2d(64, 64, 3, padding=1, groups=64), nn.BatchNorm2d(64), nn.ReLU(),
                   nn.Conv2d(64, 64, 1), nn.BatchNorm2d(64), nn.ReLU()]
    return nn.Sequential(*layers, Mean(), nn.Linear(64, 10))


def gesture():
    return nn.Sequential(nn.Conv2d(1, 8, 5, 2, 2), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU(),
                         nn.Conv2d(16, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(24 * 9, 10))


def separable(width, filters):
    return (nn.Conv2d(width, width, 3, padding=1, groups=width, bias=False),
            nn.Conv2d(width, filters, 1), nn.BatchNorm2d(filters), nn.ReLU())


def efficient_edge():
    return nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
                         *separable(16, 32), nn.MaxPool2d(2), *separable(32, 64),
                         *separable(64, 64), Mean(), nn.Linear(64, 10))


def anomaly_detect():
    return nn.Sequential(nn.Unflatten(1, (1, 140)), nn.Conv1d(1, 12, 7, 2, 3), nn.ReLU(),
                         nn.MaxPool1d(2), nn.Conv1d(12, 16, 5, padding=2), nn.ReLU(),
                         nn.MaxPool1d(2), nn.Conv1d(16, 16, 3, padding=1), nn.ReLU(), Mean(),
                         nn.Linear(16, 2))


def as_text(make):
    """First weights as the texts of the zoo have them: He for convolutions, Glorot, no biases."""
    def made():
        net = make()
        for layer in net.modules():
            if isinstance(layer, (nn.Conv1d, nn.Conv2d)):
                nn.init.kaiming_normal_(layer.weight)
            if isinstance(layer, nn.Linear):
                nn.init.xavier_uniform_(layer.weight)
            if isinstance(layer, (nn.Conv1d, nn.Conv2d, nn.Linear)) and layer.bias is not None:
                nn.init.zeros_(layer.bias)
        return net
    return made


def adam(net):
    return torch.optim.Adam(net.parameters())


def adamw(net):
    return torch.optim.AdamW(net.parameters(), weight_decay=0.01)


def hits(y, right):
    return (y.argmax(1) == right).double().mean()


# network, optimizer, batch, rate; the loss is cross entropy and the score top-1 accuracy, or both
# are the mean absolute error
ROWS = {"fsdd": (ds_cnn, adam, 32, 1e-3), "hmp": (Last, adam, 32, 1e-3),
        "gesture": (as_text(gesture), adamw, 64, 3e-3),
        "efficient_edge": (as_text(efficient_edge), adamw, 64, 4e-3),
        "language_detect": (as_text(Languages), adamw, 32, 4e-3),
        "anomaly_detect": (as_text(anomaly_detect), adamw, 32, 5e-3),
        "forecast": (as_text(Forecast), adamw, 32, 2e-3)}
ABSOLUTE = {"forecast"}


def digits(folder, part):
    def read(name, head):
        path = os.path.join(folder, f"{part}-{name}-ubyte.gz")
        with gzip.open(path) as file:
            return np.frombuffer(file.read()[head:], np.uint8)
    images = read("images-idx3", 16).reshape(-1, 1, 28, 28).astype(np.float32) / 255
    return torch.from_numpy(images), torch.from_numpy(read("labels-idx1", 8).astype(np.int64))


def samples(folder, part):
    if not os.path.exists(os.path.join(folder, part + ".npz")):
        return digits(folder, "t10k" if part == "test" else part)
    with np.load(os.path.join(folder, part + ".npz")) as file:
        return torch.from_numpy(file["x"]), torch.from_numpy(file["labels"])


def shifted(x, most):
    """Each picture by as many rows and columns as drawn for it."""
    if most == 0:
        return x
    (n, _, height, width), wide = x.shape, F.pad(x, (most, most, most, most))
    down, right = torch.randint(0, 2 * most + 1, (2, n, 1))
    rows, columns = down + torch.arange(height), right + torch.arange(width)
    return wide[torch.arange(n)[:, None, None], :, rows[:, :, None], columns[:, None]].permute(
        0, 3, 1, 2)


def main():
    row, folder, epochs, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    most = int(sys.argv[5].removeprefix("shift=")) if len(sys.argv) > 5 else 0
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    (x, labels), (held, right) = samples(folder, "train"), samples(folder, "test")
    make, optimizer, batch, rate = ROWS[row]
    loss, score = (F.l1_loss, F.l1_loss) if row in ABSOLUTE else (F.cross_entropy, hits)
    net = make()
    update = optimizer(net)
    steps, done = math.ceil(len(x) / batch) * epochs, 0
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(batch):
            for group in update.param_groups:
                group["lr"] = rate * (1 + math.cos(math.pi * done / steps)) / 2
            update.zero_grad()
            loss(net(shifted(x[rows], most)), labels[rows]).backward()
            update.step()
            done += 1
    net.eval()
    with torch.no_grad():
        print(score(net(held), right).item())


main()
