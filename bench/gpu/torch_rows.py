#!/usr/bin/env python3
"""torch_rows.py - what PyTorch and JAX reach on this GPU for rows of gpu_kernels and gpu_models.

    torch_rows.py [SECONDS]     begins nothing new after that many (120)

As a caller sees it: eager, and as a CUDA graph that is replayed and waited for, TF32 off and on;
`device` is the graph by events, without launch and wait. Convolutions in both layouts, the better
one counts. Then JAX, and the models through torch.compile in a graph. Products go through cuBLAS,
and once more through cuBLASLt. Skipped (exit 77) where there is no torch or no device.
"""
import os
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


def device_us(run, rounds=9, each=5):
    """Device time between launch and wait, measured with events."""
    times = []
    for _ in range(rounds):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(each):
            run()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e3 / each)
    return statistics.median(times)


def say(name, times):
    """table.py reads these lines; a row may have several."""
    cells = "  ".join(f"{what} = {us:.2f} us" for what, us in times.items() if us is not None)
    if cells:
        print(f"{name}  {cells}", flush=True)


def least(name, runs, measure):
    times = []
    for run in runs:
        try:
            times.append(measure(run))
        except RuntimeError as error:
            print(f"{name}: {str(error)[:80]}")
    return min(times, default=None)


def use_tf32(tf32):
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32


KEPT = {}  # runs of models, for torch.compile


def row(name, runs, keeps=False):
    """`runs`: the same operation in several layouts; the best one counts."""
    times = {}
    if keeps:
        KEPT[name] = runs
    use_tf32(True)
    tf32 = least(name, runs, lambda run: median_us(recorded(run)))
    use_tf32(False)
    times["torch eager"] = least(name, runs, median_us)
    times["graph"] = least(name, runs, lambda run: median_us(recorded(run)))
    times["graph, device"] = least(name, runs, lambda run: device_us(recorded(run)))
    times["graph, TF32"] = tf32
    say(name, times)


def floats(*shape):
    return torch.randn(*shape, device=DEVICE)


def products():
    for m, n, k in ((1024, 1024, 1024), (4096, 4096, 4096), (1, 4096, 4096), (8, 4096, 4096)):
        a, b = floats(m, k), floats(k, n)
        name = f"product {m}x{n}x{k}"
        row(name, [lambda: a @ b])
        torch.backends.cuda.preferred_blas_library("cublaslt")
        say(name, {"cuBLASLt": least(name, [lambda: a @ b], lambda r: median_us(recorded(r)))})
        torch.backends.cuda.preferred_blas_library("cublas")


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
    row(name, [lambda: first(x), lambda: last(y)], True)


def models():
    mlp = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10), nn.Softmax(-1))
    mlp = mlp.to(DEVICE).eval()
    for batch in (1, 32):
        x = floats(batch, 784)
        row(f"mlp_b{batch}", [lambda x=x: mlp(x)], True)
    layer = nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True, activation="gelu")
    layer, x = layer.to(DEVICE).eval(), floats(1, 128, 768)
    row("encoder", [lambda layer=layer, x=x: layer(x)], True)
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


def through_jax():
    """The same kernels by XLA; products with all bits of f32."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        print("no JAX")
        return
    jax.config.update("jax_default_matmul_precision", "highest")

    def normed(x):
        mean = x.mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)

    rows_of = [(f"product {m}x{n}x{k}", jnp.matmul, ((m, k), (k, n))) for m, n, k in
               ((1024, 1024, 1024), (4096, 4096, 4096), (1, 4096, 4096), (8, 4096, 4096))]
    rows_of += [("layer_norm 32x768", normed, ((32, 768),)),
                ("softmax 32x10000", jax.nn.softmax, ((32, 10000),)),
                ("gelu 1048576", lambda x: jax.nn.gelu(x, approximate=False), ((1 << 20,),)),
                ("sum 1048576", jnp.sum, ((1 << 20,),)),
                ("softmax 65536x4096", jax.nn.softmax, ((65536, 4096),)),
                ("layer_norm 262144x1024", normed, ((262144, 1024),)),
                ("gelu 268435456", lambda x: jax.nn.gelu(x, approximate=False), ((1 << 28,),)),
                ("sum 268435456", jnp.sum, ((1 << 28,),))]
    for name, function, shapes in rows_of:
        try:
            compiled = jax.jit(function)
            xs = [jax.random.normal(jax.random.key(i), s) for i, s in enumerate(shapes)]
            say(name, {"JAX": median_us(lambda: compiled(*xs).block_until_ready())})
        except Exception as error:  # a row that XLA refuses must not stop the others
            print(f"{name}: JAX: {str(error)[:80]}")


def through_compile(end):
    for name, runs in KEPT.items():
        if time.perf_counter() > end:
            print("no time left for torch.compile of the other models")
            return
        try:
            torch._dynamo.reset()
            run = torch.compile(runs[-1])
            say(name, {"compile + graph": median_us(recorded(run))})
        except Exception as error:
            print(f"{name}: torch.compile: {str(error)[:80]}")


until = time.perf_counter() + (float(sys.argv[1]) if len(sys.argv) > 1 else 120)
print(f"torch {torch.__version__}, {torch.cuda.get_device_name(0)}")
products()
rows()
models()
q = floats(4, 16, 4096, 128)
row("attention 4x16x4096x128", [lambda: nn.functional.scaled_dot_product_attention(q, q, q)])
del q
through_jax()
through_compile(until)
