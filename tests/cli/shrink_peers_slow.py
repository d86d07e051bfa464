"""shrink_peers_slow.py - takt quantize beside onnxruntime's static quantizer on the same data.

mnist-8 and MLPerf Tiny's ic01 in floats, calibrated on 100 samples; hits on the others must not be
fewer than onnxruntime's by more than what 95 % intervals leave open. Needs the models and data of
TAKT_DATA, and onnx, onnxruntime and numpy, here or in build/venv; without them this is skipped.
"""
import gzip
import os
import sys

import _venv

try:
    import numpy as np
    import onnxruntime as ort
    from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType,
                                          quantize_static)
    from onnxruntime.quantization.shape_inference import quant_pre_process
except ImportError:
    _venv.instead("onnx onnxruntime")

from _cli import ROOT, expect, finish, path, succeeds  # noqa: E402

DATA = os.environ.get("TAKT_DATA", os.path.join(os.path.dirname(ROOT), "shared", "data"))
MNIST = os.path.join(DATA, "onnx", "mnist-8", "model.onnx")
DIGITS = os.path.join(DATA, "data", "mnist")
RESNET = os.path.join(DATA, "tflite", "mlperf-ic01-fp32", "model.tflite")
CIFAR = os.path.join(DATA, "data", "cifar10", "test_first500.bin")


class Reader(CalibrationDataReader):
    def __init__(self, name, samples):
        self.left = iter([{name: x} for x in samples])

    def get_next(self):
        return next(self.left, None)


def digits(name, head):
    with gzip.open(os.path.join(DIGITS, name)) as f:
        return np.frombuffer(f.read()[head:], np.uint8)


def hits(model, samples, labels):
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return sum(int(session.run(None, {name: x})[0].argmax()) == label
               for x, label in zip(samples, labels))


def compare(what, model, samples, labels, calib):
    """Hits of both quantisers on the samples, each from one run at a time as the models have it."""
    ready, theirs, ours = path(f"{what}.onnx"), path(f"{what}-ort.onnx"), path(f"{what}-takt.onnx")
    given = path(f"{what}-given.onnx")
    succeeds("convert", model, "-o", given)  # scales per channel need opset 13
    quant_pre_process(given, ready, skip_symbolic_shape=True)  # that needs sympy
    name = ort.InferenceSession(ready, providers=["CPUExecutionProvider"]).get_inputs()[0].name
    quantize_static(ready, theirs, Reader(name, calib), quant_format=QuantFormat.QDQ,
                    per_channel=True, activation_type=QuantType.QInt8,
                    weight_type=QuantType.QInt8,
                    extra_options={"QDQDisableWeightAdjustForInt32Bias": True})
    archive = path(f"{what}.npz")
    np.savez(archive, **{name: np.concatenate(calib)})
    succeeds("quantize", model, "--calib", archive, "--size-first", "-o", ours)
    count = len(labels)
    floats, mine, other = (hits(m, samples, labels) for m in (ready, ours, theirs))
    print(f"{what}: of {count} floats {floats}, takt {mine}, onnxruntime {other}")
    share = max(other / count, 1 / count)
    spread = 1.96 * (2 * count * share * max(1 - share, 1 / count)) ** 0.5
    expect(mine >= other - spread, f"{what}: {mine} of {count}, onnxruntime has {other}")


if not all(os.path.exists(f) for f in (MNIST, DIGITS, RESNET, CIFAR)):
    print("skipped: models and data are not here: set TAKT_DATA")
    sys.exit(77)
images = digits("t10k-images-idx3-ubyte.gz", 16).reshape(-1, 1, 1, 28, 28).astype(np.float32)
truth = digits("t10k-labels-idx1-ubyte.gz", 8)
train = digits("train-images-idx3-ubyte.gz", 16)[:100 * 784].reshape(-1, 1, 1, 28, 28)
compare("mnist", MNIST, list(images), list(truth), list(train.astype(np.float32)))
raw = np.fromfile(CIFAR, np.uint8).reshape(-1, 3073)
pictures = raw[:, 1:].reshape(-1, 1, 3, 32, 32).transpose(0, 1, 3, 4, 2).astype(np.float32)
turned = path("ic01-turned.onnx")
succeeds("convert", RESNET, "-o", turned)  # channels first, between transposes
for what, model in (("ic01", RESNET), ("ic01 from onnx", turned)):
    compare(what, model, list(pictures[100:]), list(raw[100:, 0]), list(pictures[:100]))
finish()
