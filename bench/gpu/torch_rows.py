#!/usr/bin/env python3
"""torch_rows.py - what PyTorch reaches on this GPU for the rows of gpu_kernels and gpu_models.

Every row is a CUDA graph, replayed and waited for, as a caller sees it; TF32 off and on, and both
layouts for convolutions. Skipped (exit 77) where there is no torch or no device.
"""
import statistics
import sys
import time

try:
    import torch
    import torch.nn as nn
except ImportError:
    print("skipped: no torch")
    sys.exit(77)
if not torch.cuda.is_available():
    print("skipped: torch sees no device")
    sys.exit(77)

DEVICE = "cuda"
torch.set_grad_enabled(False)
torch.backends.cudnn.benchmark = True


def median_us(run, seconds=0.3, most=200):
    for _ in range(5):
        run()
    torch.cuda.synchronize()
    times, begin = [], time.perf_counter()
    while len(times) < 15 or (time.perf_counter() - begin < seconds and len(times) < most):
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def recorded(run):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def row(name, runs):
    """`runs`: the same in several layouts; the best of them counts."""
    best = {}
    for tf32 in (False, True):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.backends.cudnn.allow_tf32 = tf32
        times = []
        for run in runs:
            try:
                times.append(median_us(recorded(run)))
            except RuntimeError as error:
                print(f"{name}: {str(error)[:80]}")
        best[tf32] = min(times, default=float("nan"))
    print(f"{name:24s} torch {best[False]:10.1f} us   TF32 {best[True]:10.1f} us", flush=True)


def floats(*shape):
    return torch.randn(*shape, device=DEVICE)


def products():
    for m, n, k in ((1024, 1024, 1024), (4096, 4096, 4096), (1, 4096, 4096), (8, 4096, 4096)):
        a, b = floats(m, k), floats(k, n)
        row(f"product {m}x{n}x{k}", [lambda: a @ b])


def rows():
    f = nn.functional
    for name, run in (
            ("layer_norm 32x768", lambda x=floats(32, 768): f.layer_norm(x, (768,))),
            ("softmax 32x10000", lambda x=floats(32, 10000): x.softmax(-1)),
            ("gelu 1048576", lambda x=floats(1 << 20): f.gelu(x)),
            ("sum 1048576", lambda x=floats(1 << 20): x.sum()),
            ("softmax 65536x4096", lambda x=floats(65536, 4096): x.softmax(-1)),
            ("layer_norm 262144x1024", lambda x=floats(262144, 1024): f.layer_norm(x, (1024,))),
            ("gelu 268435456", lambda x=floats(1 << 28): f.gelu(x)),
            ("sum 268435456", lambda x=floats(1 << 28): x.sum())):
        row(name, [run])


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(64, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64))
        self.b = nn.Sequential(nn.Conv2d(64, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64))

    def forward(self, x):
        return nn.functional.relu(self.b(nn.functional.relu(self.a(x))) + x)


def images(name, make, *shape):
    first, last = make().to(DEVICE).eval(), make().to(DEVICE).eval()
    last = last.to(memory_format=torch.channels_last)
    x = floats(*shape)
    y = x.to(memory_format=torch.channels_last)
    row(name, [lambda: first(x), lambda: last(y)])


def models():
    mlp = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10), nn.Softmax(-1))
    mlp = mlp.to(DEVICE).eval()
    for batch in (1, 32):
        x = floats(batch, 784)
        row(f"mlp_b{batch}", [lambda: mlp(x)])
    layer = nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True, activation="gelu")
    layer, x = layer.to(DEVICE).eval(), floats(1, 128, 768)
    row("encoder", [lambda: layer(x)])
    for name, cell, batch, units in (("lstm_b1", nn.LSTM, 1, 256), ("lstm_b32", nn.LSTM, 32, 256),
                                     ("gru_b1", nn.GRU, 1, 256),
                                     ("lstm_1024_b1", nn.LSTM, 1, 1024)):
        cells, x = cell(units, units, batch_first=True).to(DEVICE).eval(), floats(batch, 100, units)
        row(name, [lambda cells=cells, x=x: cells(x)])
    images("resnet18_block", Block, 1, 64, 56, 56)
    try:
        import torchvision.models as zoo
    except ImportError:
        print("no torchvision: no ResNet-50, no MobileNetV2")
        return
    images("mobilenet_v2_b1", zoo.mobilenet_v2, 1, 3, 224, 224)
    images("resnet50_b1", zoo.resnet50, 1, 3, 224, 224)
    images("resnet50_b32", zoo.resnet50, 32, 3, 224, 224)


print(f"torch {torch.__version__}, {torch.cuda.get_device_name(0)}")
products()
rows()
models()
q = floats(4, 16, 4096, 128)
row("attention 4x16x4096x128", [lambda: nn.functional.scaled_dot_product_attention(q, q, q)])
