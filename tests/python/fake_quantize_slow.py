"""fake_quantize_slow.py - the op fake_quantize next to torch.ao: values and gradients.

Grids come from the FakeQuantize modules of torch.ao.quantization after they have observed data:
moving ranges of activations in 8 and 4 bits, symmetric weights per tensor and per channel; and
from numbers, with learnt scales and zero points (_fake_quantize_learnable_*). PyTorch multiplies
by the reciprocal of the scale, Takt divides: where a quotient is as near to a half as that differs,
the neighbouring level is right, too.

Needs torch, here or in build/venv (TAKT_VENV); without it this is skipped.
"""
import os
import subprocess
import sys
import warnings

from _runner import BUILD, ROOT, environment, has_extension, skip

VENV = os.environ.get("TAKT_VENV", os.path.join(ROOT, "build", "venv"))


def again():
    """In a Python that has torch, with the extension in its path."""
    if not has_extension():
        skip("the extension was not built: Python's headers are missing (python3-dev)")
    for python in (sys.executable, os.path.join(VENV, "bin", "python")):
        if os.path.exists(python) and subprocess.run([python, "-c", "import torch, numpy"],
                                                     capture_output=True, check=False
                                                     ).returncode == 0:
            sys.exit(subprocess.run([python, __file__, "inside"], check=False,
                                    env=environment(os.path.join(BUILD, "python"))).returncode)
    skip("torch is not installed")


if "inside" not in sys.argv:
    again()

warnings.simplefilter("ignore")  # torch.ao tells that it will move
import numpy as np
import torch
import torch.ao.quantization as ao
import takt

ROWS, COLUMNS = 48, 512
failures, elements, ties = [], 0, 0


def mine(x, dy, scale, zero, low, high):
    """Value and gradients of x, scale and zero, by the CPU and by the reference."""
    grid = f"f32[{', '.join(map(str, scale.shape))}]"
    model = takt.loads(
        f"model m(x: f32[{ROWS}, {COLUMNS}], dy: f32[{ROWS}, {COLUMNS}], s: {grid}, z: {grid}) {{\n"
        f"  y = fake_quantize(x, s, z, low={low}, high={high})\n"
        "  return y = y, loss = reduce_sum(y * dy)\n}\n").gradient("loss", "x,s,z")
    for device in ("cpu", "ref"):
        y, _, *gradients = takt.compile(model, backend=device)(x, dy, scale, zero)
        yield device, [np.asarray(v) for v in (y, *gradients)]


def check(name, x, dy, scale, zero, levels, want):
    """`want`: value, dx and, if learnt, gradients of scale and zero."""
    global elements, ties
    quotient = x.astype(np.float64) / scale
    half = np.abs(np.abs(quotient - np.floor(quotient)) - 0.5)
    tie = half <= 4e-7 * np.maximum(1, np.abs(quotient))
    edge = (np.abs(np.rint(quotient) + zero - levels[0]) <= 1) | \
        (np.abs(np.rint(quotient) + zero - levels[1]) <= 1)
    step = np.broadcast_to(scale, x.shape)
    for device, have in mine(x, dy, scale, zero, *levels):
        moved = off = np.abs(have[0] - want[0]) > 1e-5 * np.maximum(step, np.abs(want[0]))
        if (off & ~tie).any() or (np.abs(have[0] - want[0]) > 1.001 * step).any():
            failures.append(f"{name} on {device}: {np.count_nonzero(off & ~tie)} values differ")
        off = have[1] != want[1]
        if (off & ~(tie & edge)).any():
            failures.append(f"{name} on {device}: {np.count_nonzero(off)} gradients differ")
        for which, a, b in zip(("scale", "zero"), have[2:], want[2:]):
            # sums in f32 of differences of numbers up to the highest level; another level moves
            # them by dy
            slack = (1e-5 + 3e-8 * levels[1]) * np.abs(dy).sum() / scale.size + \
                np.abs(dy[moved]).sum()
            if np.abs(a - b.reshape(a.shape)).max() > slack:
                failures.append(f"{name} on {device}: d{which} {a.ravel()[:4]}, not "
                                f"{b.ravel()[:4]}")
    elements += x.size
    ties += int(tie.sum())


def by_module(name, make, axis, data, x, dy):
    """The grid that a FakeQuantize module has after some batches, and its value and gradient."""
    module = make()
    for batch in data:
        module(torch.from_numpy(batch))
    module.disable_observer()
    given = torch.from_numpy(x).requires_grad_()
    y = module(given)
    y.backward(torch.from_numpy(dy))
    shape = () if axis is None else (-1, 1)
    scale, zero = (np.asarray(v, np.float32).reshape(shape)
                   for v in (module.scale, module.zero_point))
    check(name, x, dy, scale, zero, (module.activation_post_process.quant_min,
                                     module.activation_post_process.quant_max),
          (y.detach().numpy(), given.grad.numpy()))


def learnt(name, x, dy, scale, zero, levels, factor):
    scale, zero = np.array(scale, np.float32), np.array(zero, np.float32)
    given, s, z = (torch.from_numpy(v.copy()).requires_grad_() for v in (x, scale, zero))
    if scale.ndim == 0:
        y = torch._fake_quantize_learnable_per_tensor_affine(given, s.reshape(1), z.reshape(1),
                                                             *levels, factor)
    else:
        y = torch._fake_quantize_learnable_per_channel_affine(given, s.reshape(-1), z.reshape(-1),
                                                              0, *levels, factor)
    y.backward(torch.from_numpy(dy))
    check(name, x, dy, scale, zero, levels,
          (y.detach().numpy(), given.grad.numpy(), s.grad.numpy(), z.grad.numpy()))


MOVING = dict(observer=ao.MovingAverageMinMaxObserver, averaging_constant=0.01)
MODULES = {
    "activations of 8 bits": (lambda: ao.FakeQuantize(**MOVING, quant_min=0, quant_max=255), None),
    "activations of 4 bits": (lambda: ao.FakeQuantize(**MOVING, quant_min=0, quant_max=15), None),
    "signed activations": (lambda: ao.FakeQuantize(**MOVING, quant_min=-128, quant_max=127,
                                                   dtype=torch.qint8), None),
    "weights": (lambda: ao.FakeQuantize(
        observer=ao.MinMaxObserver, quant_min=-127, quant_max=127, dtype=torch.qint8,
        qscheme=torch.per_tensor_symmetric), None),
    "weights by channel": (lambda: ao.FakeQuantize(
        observer=ao.PerChannelMinMaxObserver, quant_min=-127, quant_max=127, dtype=torch.qint8,
        qscheme=torch.per_channel_symmetric), 0),
    "weights of 4 bits": (lambda: ao.FakeQuantize(
        observer=ao.MovingAveragePerChannelMinMaxObserver, quant_min=-7, quant_max=7,
        dtype=torch.qint8, qscheme=torch.per_channel_symmetric), 0),
}

generator = np.random.default_rng(24)


def normal(spread=1.0):
    return (spread * generator.standard_normal((ROWS, COLUMNS))).astype(np.float32)


for label, (make, axis) in MODULES.items():
    for size in (1e-3, 1.0, 300.0):
        # what is rounded lies outside of the range that was seen, too
        by_module(f"{label}, {size:g}", make, axis, [normal(size) for _ in range(3)],
                  normal(1.5 * size), normal())
for label, low, high in (("8 bits", -128, 127), ("4 bits", -8, 7), ("16 bits", -32768, 32767)):
    most = np.float32(3 / high)
    learnt(f"learnt, {label}", normal(), normal(), most, 2, (low, high), 1.0)
    scales = (most * (0.5 + generator.random((ROWS, 1)))).astype(np.float32)
    zeros = generator.integers(-3, 4, (ROWS, 1)).astype(np.float32)
    learnt(f"learnt by channel, {label}", normal(), normal(), scales, zeros, (low, high), 1.0)
halves = (np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS) - 12000) / 128
learnt("halves", halves, normal(), 0.25, 0, (-128, 127), 1.0)

for failure in failures:
    print("FAILED:", failure)
print(f"{elements} values and gradients as torch {torch.__version__}'s, {ties} of them ties")
sys.exit(1 if failures else 0)
