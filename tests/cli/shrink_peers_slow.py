"""shrink_peers_slow.py - takt quantize compared with onnxruntime's static quantizer, NNCF and
TensorFlow's converter on the same data.

mnist-8 and MLPerf Tiny's ic01 in floats, calibrated on 100 samples. All files run in onnxruntime on
the other samples, those of TensorFlow in LiteRT: Takt's hits must not be fewer than a peer's by
more than the 95 % interval of the difference, sample by sample. Needs the models and data of
TAKT_DATA, and onnx, onnxruntime and numpy, here or in build/venv; without them this is skipped.
NNCF is compared where it is installed, TensorFlow where it and ai-edge-litert are.
"""
import gzip
import os
import sys

import _venv

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType,
                                          quantize_static)
    from onnxruntime.quantization.shape_inference import quant_pre_process
except ImportError:
    _venv.instead("onnx onnxruntime")
try:
    import nncf
except ImportError:
    nncf = None
try:
    import _tensorflow
except ImportError:
    _tensorflow = None

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


def by_onnxruntime(ready, to, name, calib):
    quantize_static(ready, to, Reader(name, calib), quant_format=QuantFormat.QDQ,
                    per_channel=True, activation_type=QuantType.QInt8,
                    weight_type=QuantType.QInt8,
                    extra_options={"QDQDisableWeightAdjustForInt32Bias": True})


def by_nncf(ready, to, name, calib):
    """Its defaults: symmetric ranges, fast bias correction."""
    samples = nncf.Dataset(calib, lambda x: {name: x})
    onnx.save(nncf.quantize(onnx.load(ready), samples, subset_size=len(calib)), to)


PEERS = [("onnxruntime", by_onnxruntime)] + ([("nncf", by_nncf)] if nncf else [])


def right(model, samples, labels):
    """Which samples the model classifies correctly, one run each as the models have it."""
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return np.array([int(session.run(None, {name: x})[0].argmax()) == label
                     for x, label in zip(samples, labels)])


def compare(what, model, samples, labels, calib):
    """Hits of all quantisers on the samples."""
    ready, ours, given = path(f"{what}.onnx"), path(f"{what}-takt.onnx"), path(f"{what}-given.onnx")
    succeeds("convert", model, "-o", given)  # scales per channel need opset 13
    quant_pre_process(given, ready, skip_symbolic_shape=True)  # that needs sympy
    name = ort.InferenceSession(ready, providers=["CPUExecutionProvider"]).get_inputs()[0].name
    archive = path(f"{what}.npz")
    np.savez(archive, **{name: np.concatenate(calib)})
    succeeds("quantize", model, "--calib", archive, "--size-first", "-o", ours)
    floats, mine = right(ready, samples, labels), right(ours, samples, labels)
    print(f"{what}: of {len(labels)} floats {floats.sum()}, takt {mine.sum()}")
    others = []
    for peer, quantise in PEERS:
        theirs = path(f"{what}-{peer}.onnx")
        quantise(ready, theirs, name, calib)
        others.append((peer, right(theirs, samples, labels)))
    if _tensorflow:
        theirs = _tensorflow.integers(ready, name, calib)
        others.append(("tensorflow", _tensorflow.right(theirs, samples, labels)))
    for peer, other in others:
        spread = 1.96 * np.count_nonzero(mine != other) ** 0.5
        print(f"{what}: {peer} {other.sum()}, {np.count_nonzero(mine != other)} samples differ")
        expect(mine.sum() >= other.sum() - spread,
               f"{what}: {mine.sum()} of {len(labels)}, {peer} has {other.sum()}")


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
