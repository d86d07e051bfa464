"""peer_torch.py - a step in PyTorch: ROW THREADS SECONDS [compile|autocast]; prints JSON."""
import json
import resource
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    """A block of a transformer, normalised first; causal for language models."""

    def __init__(self, width, heads, hidden, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norm_0, self.norm_1 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        batch, seq, width = x.shape
        parts = self.qkv(self.norm_0(x)).view(batch, seq, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=self.causal)
        x = x + self.out(y.transpose(1, 2).reshape(batch, seq, width))
        return x + self.down(F.gelu(self.up(self.norm_1(x))))


class Gpt(nn.Module):
    def __init__(self, blocks, width, heads, seq, vocabulary):
        super().__init__()
        self.table, self.places = nn.Embedding(vocabulary, width), nn.Embedding(seq, width)
        self.blocks = nn.Sequential(*(Block(width, heads, 4 * width, True) for _ in range(blocks)))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens):
        h = self.table(tokens) + self.places(torch.arange(tokens.shape[1]))
        return self.norm(self.blocks(h)) @ self.table.weight.T


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(
            nn.Conv2d(64, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
            nn.Conv2d(64, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64))

    def forward(self, x):
        return torch.relu(x + self.inner(x))


class Last(nn.Module):
    """A GRU, of which the last state is classified."""

    def __init__(self):
        super().__init__()
        self.gru, self.head = nn.GRU(40, 64, batch_first=True), nn.Linear(64, 12)

    def forward(self, x):
        return self.head(self.gru(x)[0][:, -1])


class Mean(nn.Module):
    """Layers, the mean over some axes, and a head."""

    def __init__(self, layers, axes, width, classes):
        super().__init__()
        self.layers, self.axes, self.head = layers, axes, nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.layers(x).mean(self.axes))


def ds_cnn():
    layers = [nn.ZeroPad2d((1, 1, 4, 5)), nn.Conv2d(1, 64, (10, 4), stride=2), nn.BatchNorm2d(64),
              nn.ReLU()]
    for _ in range(4):
        layers += [nn.Conv2d(64, 64, 3, padding=1, groups=64), nn.BatchNorm2d(64), nn.ReLU(),
                   nn.Conv2d(64, 64, 1), nn.BatchNorm2d(64), nn.ReLU()]
    return Mean(nn.Sequential(*layers), (2, 3), 64, 12)


def tokens(batch, seq, vocabulary):
    return torch.randint(0, vocabulary, (batch, seq)), torch.randint(0, vocabulary, (batch, seq))


def picture(classes, *shape):
    return torch.randn(*shape), torch.randint(0, classes, shape[:1])


# name: (net, batch, adam, adamw or sgd)
ROWS = {
    "mlp": (lambda: nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10)),
            lambda: picture(10, 64, 784), "adam"),
    "cnn": (lambda: nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(3136, 32), nn.ReLU(), nn.Linear(32, 10)),
        lambda: picture(10, 64, 1, 28, 28), "sgd"),
    "resnet": (lambda: Mean(nn.Sequential(Residual(), Residual()), (2, 3), 64, 10),
               lambda: picture(10, 16, 64, 56, 56), "sgd"),
    "ds_cnn": (ds_cnn, lambda: picture(12, 32, 1, 49, 10), "adam"),
    "gru": (Last, lambda: picture(12, 32, 100, 40), "adam"),
    "transformer": (lambda: Mean(Block(256, 4, 1024, False), (1,), 256, 10),
                    lambda: picture(10, 8, 128, 256), "adam"),
    "gpt": (lambda: Gpt(6, 384, 6, 256, 65), lambda: tokens(4, 256, 65), "adamw"),
    "gpt2": (lambda: Gpt(12, 768, 12, 64, 50257), lambda: tokens(4, 64, 50257), "adamw"),
}


def main():
    name, threads, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    make, batch, optimizer = ROWS[name]
    net, (x, labels) = make(), batch()
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}[optimizer]
    update = kind(net.parameters(), lr=1e-3)
    run = torch.compile(net) if sys.argv[4:] == ["compile"] else net

    def step():
        update.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=sys.argv[4:] == ["autocast"]):
            out = run(x)
            loss = F.cross_entropy(out.reshape(-1, out.shape[-1]), labels.reshape(-1))
        loss.backward()
        update.step()

    for _ in range(3):
        step()
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end or len(times) < 3:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    times.sort()
    print(json.dumps({"ms": 1e3 * times[len(times) // 2], "steps": len(times),
                      "bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
                      "parameters": sum(p.numel() for p in net.parameters()),
                      "version": torch.__version__}))


main()
