"""exports_slow.py - torchvision's detectors as exported by torch: sizes found at run time, in
branches and in loops. Results are compared with onnxruntime.

Small ones with random weights, images of three sizes each. Needs torch, torchvision and
onnxruntime, here or in build/venv (TAKT_VENV); without them this is skipped. Names as arguments
select some.
"""
import os
import subprocess
import sys
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VENV = os.environ.get("TAKT_VENV", os.path.join(ROOT, "build", "venv"))
TOOL = os.environ.get("TAKT_TOOL", os.path.join(ROOT, "build", "takt"))
TMP = os.environ.get("TAKT_TEST_TMP", "/tmp")

try:
    import numpy as np
    import onnxruntime
    import torch
    from torch import nn
    from torchvision.models import detection
    from torchvision.models.detection.anchor_utils import AnchorGenerator
    from torchvision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead
    from torchvision.models.detection.keypoint_rcnn import (KeypointRCNNHeads,
                                                            KeypointRCNNPredictor)
    from torchvision.models.detection.mask_rcnn import MaskRCNNHeads, MaskRCNNPredictor
    from torchvision.ops import MultiScaleRoIAlign
except ImportError:
    PYTHON = os.path.join(VENV, "bin", "python")
    if os.path.exists(PYTHON) and os.environ.get("TAKT_IN_VENV") is None:
        os.environ["TAKT_IN_VENV"] = "1"
        os.execv(PYTHON, [PYTHON, os.path.abspath(sys.argv[0]), *sys.argv[1:]])
    print("skipped: torch, torchvision and onnxruntime are not installed")
    sys.exit(77)

IMAGES = ((80, 112), (96, 96), (60, 130))
failures = []


def backbone():
    layers = [nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 16, 3, 2, 1), nn.ReLU(),
              nn.Conv2d(16, 16, 3, 2, 1)]
    net = nn.Sequential(*layers)
    net.out_channels = 16
    return net


def anchors():
    return AnchorGenerator(((16, 32, 64),), ((0.5, 1.0, 2.0),))


def two_stages(classes):
    return {"num_classes": None, "rpn_anchor_generator": anchors(), "min_size": 96, "max_size": 128,
            "box_roi_pool": MultiScaleRoIAlign(["0"], 7, 2), "box_head": TwoMLPHead(16 * 49, 32),
            "box_predictor": FastRCNNPredictor(32, classes), "box_score_thresh": 0.3}


MODELS = {
    "faster": lambda: detection.FasterRCNN(backbone(), **two_stages(4)),
    "retina": lambda: detection.RetinaNet(
        backbone(), num_classes=4, anchor_generator=anchors(), min_size=96, max_size=128,
        head=detection.retinanet.RetinaNetHead(16, 9, 4), score_thresh=0.2),
    "mask": lambda: detection.MaskRCNN(
        backbone(), mask_roi_pool=MultiScaleRoIAlign(["0"], 14, 2),
        mask_head=MaskRCNNHeads(16, (16, 16), 1), mask_predictor=MaskRCNNPredictor(16, 16, 3),
        **two_stages(3)),
    "keypoint": lambda: detection.KeypointRCNN(
        backbone(), keypoint_roi_pool=MultiScaleRoIAlign(["0"], 14, 2),
        keypoint_head=KeypointRCNNHeads(16, (16, 16)),
        keypoint_predictor=KeypointRCNNPredictor(16, 5), **two_stages(2)),
}


def export(name):
    torch.manual_seed(1)
    model = MODELS[name]().eval()
    spread = 0.9 if name == "retina" else 1.6
    with torch.no_grad():
        for key, weight in model.named_parameters():
            if weight.dim() > 1:
                nn.init.normal_(weight, 0, spread / weight[0].numel() ** 0.5)
                weight.mul_(0.3 if "bbox" in key else 1)
            else:
                weight.mul_(0.1)
    path = os.path.join(TMP, f"{name}.onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, ([torch.rand(3, 80, 112)],), path, opset_version=17,
                          input_names=["image"], dynamic_axes={"image": {1: "h", 2: "w"}},
                          dynamo=False)
    return path


def takt(path, image, out):
    """Bounds of all sizes follow from the image: no --bound is needed."""
    return subprocess.run([TOOL, "run", path, "-i", f"image={image}", "-o", out], text=True,
                          capture_output=True, check=False)


def partners(got, want):
    """For each wanted detection the row of `got` with the nearest box of its class.

    A box that one side leaves out by rounding shifts all that follow, and equal scores swap.
    """
    boxes, classes = ([next(x for x in side if x.ndim == rank and x.dtype.kind in kind)
                       for side in (got, want)] for rank, kind in ((2, "f"), (1, "i")))
    apart = np.abs(boxes[1][:, None].astype(np.float64) - boxes[0]).max(axis=2)
    return np.where(classes[1][:, None] == classes[0], apart, np.inf).argmin(axis=1)


def differs(got, want, rows):
    """A box on the edge of a pixel may shift its mask or points by a pixel: a few rows in a
    hundred."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
    far = np.abs(got[rows].astype(np.float64) - want) > 5e-3
    count = far.reshape(len(far), -1).any(axis=1).sum()
    return f"{count} of {len(far)}" if count > max(1, len(far) // 25) else ""


def check(name):
    path = export(name)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    for height, width in IMAGES:
        image, out = os.path.join(TMP, "image.npy"), os.path.join(TMP, "out.npz")
        x = rng.random((3, height, width)).astype(np.float32)
        np.save(image, x)
        wanted = session.run(None, {"image": x})
        run = takt(path, image, out)
        if run.returncode != 0:
            failures.append(f"{name}, {height} x {width}: {run.stderr.strip()[-300:]}")
            continue
        results = np.load(out)
        made = [results[port.name] for port in session.get_outputs()]
        rows = partners(made, wanted)
        for port, got, want in zip(session.get_outputs(), made, wanted):
            why = differs(got, want, rows)
            if why:
                failures.append(f"{name}, {height} x {width}, {port.name}: {why}")
        print(f"{name}, {height} x {width}: {[w.shape for w in wanted]}")


if __name__ == "__main__":
    for model_name in sys.argv[1:] or MODELS:
        check(model_name)
    print("\n".join(failures) or "all agree with onnxruntime")
    sys.exit(1 if failures else 0)
