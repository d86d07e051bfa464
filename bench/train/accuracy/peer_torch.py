"""peer_torch.py fsdd|hmp FOLDER EPOCHS SEED - the same training by PyTorch: accuracy of test.npz.

Batches of 32, Adam, a rate of 1e-3 that falls as a cosine, as scripts/accuracy trains the models
next to this file."""
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


def main():
    row, folder, epochs, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    torch.manual_seed(seed)
    torch.set_num_threads(2)
    parts = []
    for name in ("train", "test"):
        with np.load(os.path.join(folder, name + ".npz")) as file:
            parts.append((torch.from_numpy(file["x"]), torch.from_numpy(file["labels"])))
    (x, labels), (held, right) = parts
    net = {"fsdd": ds_cnn, "hmp": Last}[row]()
    update = torch.optim.Adam(net.parameters(), lr=1e-3)
    steps, done = math.ceil(len(x) / 32) * epochs, 0
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(32):
            for group in update.param_groups:
                group["lr"] = 1e-3 * (1 + math.cos(math.pi * done / steps)) / 2
            update.zero_grad()
            F.cross_entropy(net(x[rows]), labels[rows]).backward()
            update.step()
            done += 1
    net.eval()
    with torch.no_grad():
        print((net(held).argmax(1) == right).double().mean().item())


main()
