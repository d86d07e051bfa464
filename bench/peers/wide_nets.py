"""wide_nets.py - architectures of rows of ROWS=wide that no package has in this size: parts
of text readers, recognisers, speech enhancers, forecasters and segmentation heads."""
import torch
import torch.nn.functional as F
from torch import nn


class Only(nn.Module):
    """One of the answers of a model that gives several by name."""

    def __init__(self, model, name):
        super().__init__()
        self.model, self.name = model, name

    def forward(self, x):
        return self.model(x)[self.name]


class Heads(nn.Module):
    """A detector up to its heads' scores and boxes."""

    def __init__(self, model):
        super().__init__()
        self.backbone, self.head = model.backbone, model.head

    def forward(self, x):
        found = self.head(list(self.backbone(x).values()))
        return found["cls_logits"], found["bbox_regression"]


class Hidden(nn.Module):
    """The last states of an encoder."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x, mask):
        return self.model(x, attention_mask=mask)[0]


def conv(a, b, size=3, **more):
    """Convolution, norm, activation."""
    more.setdefault("padding", size // 2 * more.get("dilation", 1))
    return nn.Sequential(nn.Conv2d(a, b, size, bias=False, **more), nn.BatchNorm2d(b), nn.ReLU())


def line(a, b, size=3, **more):
    more.setdefault("padding", (size - 1) // 2 * more.get("dilation", 1))
    return nn.Sequential(nn.Conv1d(a, b, size, bias=False, **more), nn.BatchNorm1d(b), nn.ReLU())


class AtrousHead(nn.Module):
    """Parallel dilated convolutions and a pooled branch, joined."""

    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(conv(3, 32, stride=2), conv(32, 64, stride=2),
                                   conv(64, 128, stride=2))
        self.one = conv(128, 64, 1)
        self.wide = nn.ModuleList([conv(128, 64, dilation=d) for d in (6, 12, 18)])
        self.pooled = conv(128, 64, 1)
        self.join, self.last = conv(320, 64, 1), nn.Conv2d(64, 21, 1)

    def forward(self, x):
        y = self.trunk(x)
        pooled = self.pooled(F.adaptive_avg_pool2d(y, 1))
        pooled = F.interpolate(pooled, size=y.shape[2:], mode="bilinear", align_corners=False)
        y = self.last(self.join(torch.cat([self.one(y), *[m(y) for m in self.wide], pooled], 1)))
        return F.interpolate(y, size=x.shape[2:], mode="bilinear", align_corners=False)


class GridWarp(nn.Module):
    """Warps image and features by a flow field that a few convolutions compute."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(conv(3, 16), conv(16, 32, stride=2))
        self.flow = nn.Sequential(conv(32, 16), nn.Conv2d(16, 2, 3, padding=1))
        line_of = torch.linspace(-1, 1, 112)
        grid = torch.stack(torch.meshgrid(line_of, line_of, indexing="xy"), -1)
        self.register_buffer("grid", grid[None])

    def forward(self, x):
        y = self.features(x)
        grid = self.grid + 0.1 * self.flow(y).permute(0, 2, 3, 1)
        bent = F.grid_sample(y, grid, align_corners=True)
        return bent, F.grid_sample(x, grid, mode="bilinear", padding_mode="border",
                                   align_corners=False)


class HalfNet(nn.Module):
    """A network stored in f16, inputs too."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(conv(3, 32, stride=2), conv(32, 64), conv(64, 64, stride=2),
                                 conv(64, 64, groups=64), conv(64, 128, 1), conv(128, 128),
                                 nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 100))

    def forward(self, x):
        return self.net(x)


class TinyDetector(nn.Module):
    """Space to depth by slices, many convolutions of few channels, two scales joined."""

    def __init__(self):
        super().__init__()
        self.stem = conv(12, 16)
        self.body = nn.ModuleList()
        for a, b in ((16, 32), (32, 64), (64, 128)):
            self.body.append(nn.Sequential(conv(a, b, stride=2), *[conv(b, b) for _ in range(3)]))
        self.lower, self.head = conv(192, 64), nn.Conv2d(64, 30, 1)

    def forward(self, x):
        y = torch.cat([x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2],
                       x[..., 1::2, 1::2]], 1)
        y = self.body[1](self.body[0](self.stem(y)))
        up = F.interpolate(self.body[2](y), scale_factor=2.0, mode="nearest")
        return self.head(self.lower(torch.cat([y, up], 1)))


class LargeKernel(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.deep = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        y = self.norm(self.deep(x).permute(0, 2, 3, 1))
        return x + self.down(F.gelu(self.up(y))).permute(0, 3, 1, 2)


class DenseBlock(nn.Module):
    def __init__(self, width, grow, count):
        super().__init__()
        self.parts = nn.ModuleList(
            nn.Sequential(nn.BatchNorm2d(width + k * grow), nn.ReLU(),
                          nn.Conv2d(width + k * grow, 4 * grow, 1, bias=False),
                          nn.BatchNorm2d(4 * grow), nn.ReLU(),
                          nn.Conv2d(4 * grow, grow, 3, padding=1, bias=False))
            for k in range(count))

    def forward(self, x):
        for part in self.parts:
            x = torch.cat([x, part(x)], 1)
        return x


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        widths = (16, 32, 64, 128)
        self.down = nn.ModuleList(nn.Sequential(conv(a, b), conv(b, b))
                                  for a, b in zip((3, *widths), widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2)
                                for a, b in zip(widths, widths[1:]))
        self.back = nn.ModuleList(nn.Sequential(conv(2 * a, a), conv(a, a)) for a in widths[:-1])
        self.last = nn.Conv2d(16, 2, 1)

    def forward(self, x):
        kept = []
        for part in self.down:
            x = part(F.max_pool2d(x, 2) if kept else x)
            kept.append(x)
        for k in (2, 1, 0):
            x = self.back[k](torch.cat([kept[k], self.up[k](x)], 1))
        return self.last(x)


class Recurrent(nn.Module):
    def __init__(self, kind, a, b, **more):
        super().__init__()
        self.net = getattr(nn, kind)(a, b, batch_first=True, **more)
        self.last = nn.Linear(b * (2 if more.get("bidirectional") else 1), 32)

    def forward(self, x):
        return self.last(self.net(x)[0])


class Enhancer(nn.Module):
    """Strided convolutions over frames and frequencies, a GRU, and the way back."""

    def __init__(self):
        super().__init__()
        widths = (2, 16, 32, 32)
        self.down = nn.ModuleList(conv(a, b, 3, stride=(1, 2))
                                  for a, b in zip(widths, widths[1:]))
        self.gru = nn.GRU(32 * 17, 128, batch_first=True)
        self.back = nn.Linear(128, 32 * 17)
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(2 * b, a, 3, stride=(1, 2), padding=1)
            for a, b in reversed(list(zip(widths, widths[1:]))))

    def forward(self, x):
        kept, y = [], x
        for part in self.down:
            y = part(y)
            kept.append(y)
        n, c, t, f = y.shape
        z = self.back(self.gru(y.permute(0, 2, 1, 3).reshape(n, t, c * f))[0])
        y = z.reshape(n, t, c, f).permute(0, 2, 1, 3)
        for part, skip in zip(self.up, reversed(kept)):
            y = torch.relu(part(torch.cat([y, skip], 1)))
        return y


class Reader(nn.Module):
    """A line of text: convolutions, then two recurrences over the columns."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(conv(1, 32), nn.MaxPool2d(2), conv(32, 64), nn.MaxPool2d(2),
                                 conv(64, 96), nn.MaxPool2d((2, 1)), conv(96, 96),
                                 nn.MaxPool2d((4, 1)))
        self.rnn = nn.LSTM(96, 64, num_layers=2, bidirectional=True, batch_first=True)
        self.last = nn.Linear(128, 96)

    def forward(self, x):
        y = self.net(x).squeeze(2).permute(0, 2, 1)
        return self.last(self.rnn(y)[0]).log_softmax(-1)


class Temporal(nn.Module):
    """Dilated depthwise and pointwise convolutions over time, with residuals."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(40, 128, 1)
        self.parts = nn.ModuleList(
            nn.Sequential(line(128, 128, dilation=2 ** k, groups=128), nn.Conv1d(128, 128, 1))
            for k in range(8))
        self.last = nn.Conv1d(128, 20, 1)

    def forward(self, x):
        y = self.first(x)
        for part in self.parts:
            y = y + part(y)
        return self.last(y)


class Wavenet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(1, 32, 1)
        self.both = nn.ModuleList(nn.Conv1d(32, 64, 2, dilation=2 ** k) for k in range(8))
        self.out = nn.ModuleList(nn.Conv1d(32, 32, 1) for _ in range(8))
        self.last = nn.Conv1d(32, 16, 1)

    def forward(self, x):
        y, kept = self.first(x), 0
        for k, (both, out) in enumerate(zip(self.both, self.out)):
            a, b = both(F.pad(y, (2 ** k, 0))).chunk(2, 1)
            z = out(torch.tanh(a) * torch.sigmoid(b))
            kept, y = kept + z, y + z
        return self.last(torch.relu(kept))


class Tasnet(nn.Module):
    """Separation of sounds: a learnt transform, dilated blocks with norms, the way back."""

    def __init__(self):
        super().__init__()
        self.encode = nn.Conv1d(1, 128, 16, stride=8)
        self.narrow = nn.Conv1d(128, 64, 1)
        self.parts = nn.ModuleList(
            nn.Sequential(nn.Conv1d(64, 128, 1), nn.PReLU(), nn.GroupNorm(1, 128),
                          nn.Conv1d(128, 128, 3, padding=2 ** k, dilation=2 ** k, groups=128),
                          nn.PReLU(), nn.GroupNorm(1, 128), nn.Conv1d(128, 64, 1))
            for k in range(6))
        self.mask, self.decode = nn.Conv1d(64, 256, 1), nn.ConvTranspose1d(128, 1, 16, stride=8)

    def forward(self, x):
        y = torch.relu(self.encode(x))
        z = self.narrow(y)
        for part in self.parts:
            z = z + part(z)
        a, b = torch.sigmoid(self.mask(z)).chunk(2, 1)
        return self.decode(y * a), self.decode(y * b)


class Conformer(nn.Module):
    def __init__(self, width=144, heads=4):
        super().__init__()
        self.heads = heads
        self.feed = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.SiLU(),
                                  nn.Linear(4 * width, width))
        self.norm, self.qkv = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.out, self.norm2 = nn.Linear(width, width), nn.LayerNorm(width)
        self.glu = nn.Conv1d(width, 2 * width, 1)
        self.deep = nn.Conv1d(width, width, 31, padding=15, groups=width)
        self.bn, self.point = nn.BatchNorm1d(width), nn.Conv1d(width, width, 1)

    def forward(self, x):
        x = x + 0.5 * self.feed(x)
        n, t, c = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(n, t, 3, self.heads, c // self.heads) \
            .permute(2, 0, 3, 1, 4).unbind(0)
        y = ((q @ k.transpose(-1, -2)) * (c // self.heads) ** -0.5).softmax(-1) @ v
        x = x + self.out(y.transpose(1, 2).reshape(n, t, c))
        y = F.glu(self.glu(self.norm2(x).transpose(1, 2)), 1)
        return x + self.point(F.silu(self.bn(self.deep(y)))).transpose(1, 2)


class Forecaster(nn.Module):
    """Blocks of dense layers that each explain a part of a series."""

    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList(
            nn.Sequential(nn.Linear(120, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(),
                          nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 144)) for _ in range(6))

    def forward(self, x):
        total = 0
        for part in self.parts:
            y = part(x)
            x, total = x - y[:, :120], total + y[:, 120:]
        return total


def _large_kernels():
    return nn.Sequential(nn.Conv2d(3, 48, 4, stride=4), LargeKernel(48), LargeKernel(48),
                         nn.Conv2d(48, 96, 2, stride=2), *[LargeKernel(96) for _ in range(3)])


def _dense_blocks():
    return nn.Sequential(conv(3, 32, stride=2), nn.MaxPool2d(2), DenseBlock(32, 16, 6),
                         conv(128, 64, 1), nn.AvgPool2d(2), DenseBlock(64, 16, 12))


def _quartznet():
    return nn.Sequential(line(64, 128, 33, stride=2), *[
        nn.Sequential(nn.Conv1d(128, 128, 33, padding=16, groups=128), line(128, 128, 1))
        for _ in range(5)], nn.Conv1d(128, 29, 1))


IMAGE = (3, 224, 224)
NETS = {
    "atrous_head": (AtrousHead, IMAGE), "grid_warp": (GridWarp, IMAGE),
    "half_net": (HalfNet, IMAGE), "tiny_detector": (TinyDetector, (3, 320, 320)),
    "large_kernels": (_large_kernels, IMAGE), "dense_blocks": (_dense_blocks, IMAGE),
    "unet": (Unet, (3, 128, 128)),
    "lstm_short": (lambda: Recurrent("LSTM", 64, 128), (24, 64)),
    "bilstm": (lambda: Recurrent("LSTM", 64, 96, bidirectional=True), (48, 64)),
    "gru": (lambda: Recurrent("GRU", 64, 128), (64, 64)),
    "bigru": (lambda: Recurrent("GRU", 64, 128, bidirectional=True), (64, 64)),
    "enhancer": (Enhancer, (2, 32, 129)), "reader": (Reader, (1, 32, 160)),
    "tcn": (Temporal, (40, 400)), "wavenet": (Wavenet, (1, 4000)),
    "quartznet": (_quartznet, (64, 400)), "tasnet": (Tasnet, (1, 8000)),
    "conformer": (lambda: nn.Sequential(Conformer(), Conformer()), (100, 144)),
    "forecaster": (Forecaster, (120,)),
}


def make(name, batch):
    """The network and what it is called with."""
    build, shape = NETS[name]
    model, x = build(), torch.randn(batch, *shape)
    if name == "half_net":
        return model.half(), (x.half(),)
    return model, (x,)
