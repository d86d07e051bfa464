#!/usr/bin/env python3
"""torch_views.py - PyTorch tensors on this GPU, bound in place, against copies. Every row: same
bits as on the cpu, and median times of a run as seen by a caller. Skipped (exit 77) without torch
or a device. PYTHONPATH=build/release/python names the package.
"""
import statistics
import sys
import time

try:
    import torch
except ImportError:
    print("skipped: no torch")
    sys.exit(77)
if not torch.cuda.is_available():
    print("skipped: torch sees no device")
    sys.exit(77)

import takt

ROWS = [("examples/mlp.takt", {"batch": 1}), ("examples/mlp.takt", {"batch": 32}),
        ("examples/encoder.takt", {"batch": 1, "seq": 128})]


def median_us(run, count=200):
    times = []
    for _ in range(count + 20):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times[20:]) * 1e6


def ports(session, is_input):
    return [(name, [int(n) for n in dims]) for name, _, dims in session._ports(is_input)]


def compare(path, sizes):
    cpu = takt.compile(path, **sizes)
    gpu = takt.compile(path, backend="cuda", **sizes)
    host, there, out = {}, {}, {}
    for name, dims in ports(cpu, True):
        host[name] = torch.randn(dims)
        there[name] = host[name].cuda()
    cpu.bind(**host)
    cpu.run()
    for name, dims in ports(cpu, False):
        out[name] = torch.full(dims, float("nan"), device="cuda")
    gpu.bind(**host)
    gpu.run()
    copied = median_us(gpu.run)
    gpu.bind(**there, **out)
    torch.cuda.synchronize()
    gpu.run()
    for name in out:
        want = torch.from_dlpack(cpu.output(name)).view(torch.int32)
        if not torch.equal(out[name].cpu().view(torch.int32), want):
            print(f"FAIL {path} {sizes}: {name} differs")
            return False
    bound = median_us(gpu.run)
    for name in there:  # another pointer, other values
        there[name] = torch.randn_like(there[name])
        cpu.bind(**{name: there[name].cpu()})
    gpu.bind(**there)
    torch.cuda.synchronize()
    gpu.run()
    cpu.run()
    same = all(torch.equal(out[name].cpu().view(torch.int32),
                           torch.from_dlpack(cpu.output(name)).view(torch.int32)) for name in out)
    print(f"{path} {sizes}: on the host {copied:.1f} us, on the device {bound:.1f} us, "
          f"{'equal bits' if same else 'FAIL: bits differ'}")
    return same


def refused():
    gpu = takt.compile("examples/mlp.takt", backend="cuda", batch=2)
    name, dims = ports(gpu, True)[0]
    try:
        gpu.bind(**{name: torch.zeros(dims[::-1], device="cuda").t()})
    except takt.Error as error:
        print(f"refused, as it should be: {error}")
        return True
    print("FAIL a strided tensor of the device was taken")
    return False


results = [compare(path, sizes) for path, sizes in ROWS] + [refused()]
sys.exit(0 if all(results) else 1)
