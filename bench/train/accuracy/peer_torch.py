"""peer_torch.py fsdd|hmp|gesture FOLDER EPOCHS SEED - the same training by PyTorch: accuracy of the
test part, test.npz or MNIST's.

Optimizer, batch and rate as scripts/accuracy trains the models next to this file and zoo/gesture;
the rate falls as a cosine."""
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
        return x.mean((2, 3))


class Last(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru, self.head = nn.GRU(3, 64, batch_first=True), nn.Linear(64, 14)

    def forward(self, x):
        return self.head(self.gru(x)[0][:, -1])


def ds_cnn():
    layers = [nn.ZeroPad2d((1, 1, 4, 5)), nn.Conv2d(1, 64, (10, 4), stride=2), nn.BatchNorm2d(64),
              nn.ReLU()]
    for _ in range(4):
        layers += [nn.Conv2d(64, 64, 3, padding=1, groups=64), nn.BatchNorm2d(64), nn.ReLU(),
                   nn.Conv2d(64, 64, 1), nn.BatchNorm2d(64), nn.ReLU()]
    return nn.Sequential(*layers, Mean(), nn.Linear(64, 10))


def gesture():
    net = nn.Sequential(nn.Conv2d(1, 8, 5, 2, 2), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU(),
                        nn.Conv2d(16, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                        nn.Linear(24 * 9, 10))
    for layer in net:  # as the text of the model has it: He for convolutions, Glorot, no biases
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight)
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
        if hasattr(layer, "bias"):
            nn.init.zeros_(layer.bias)
    return net


def adam(net):
    return torch.optim.Adam(net.parameters())


def adamw(net):
    return torch.optim.AdamW(net.parameters(), weight_decay=0.01)


ROWS = {"fsdd": (ds_cnn, adam, 32, 1e-3), "hmp": (Last, adam, 32, 1e-3),
        "gesture": (gesture, adamw, 64, 3e-3)}  # network, optimizer, batch, rate


def digits(folder, part):
    def read(name, head):
        with gzip.open(os.path.join(folder, f"{part}-{name}-ubyte.gz")) as file:
            return np.frombuffer(file.read()[head:], np.uint8)
    images = read("images-idx3", 16).reshape(-1, 1, 28, 28).astype(np.float32) / 255
    return torch.from_numpy(images), torch.from_numpy(read("labels-idx1", 8).astype(np.int64))


def samples(folder, part):
    with np.load(os.path.join(folder, part + ".npz")) as file:
        return torch.from_numpy(file["x"]), torch.from_numpy(file["labels"])


def main():
    row, folder, epochs, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    if row == "gesture":
        (x, labels), (held, right) = digits(folder, "train"), digits(folder, "t10k")
    else:
        (x, labels), (held, right) = samples(folder, "train"), samples(folder, "test")
    make, optimizer, batch, rate = ROWS[row]
    net = make()
    update = optimizer(net)
    steps, done = math.ceil(len(x) / batch) * epochs, 0
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(batch):
            for group in update.param_groups:
                group["lr"] = rate * (1 + math.cos(math.pi * done / steps)) / 2
            update.zero_grad()
            F.cross_entropy(net(x[rows]), labels[rows]).backward()
            update.step()
            done += 1
    net.eval()
    with torch.no_grad():
        print((net(held).argmax(1) == right).double().mean().item())


main()
