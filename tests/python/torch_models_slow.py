"""torch_models_slow.py - torchvision's models by torch.compile(backend="takt").

Ten models with random weights: no graph breaks, nothing stays in torch, results within 1e-4 of
torch's. Gradients of the first two, in f64: in f32 an element on the other side of a kink of ReLU6
changes a whole row, in torch as well as here. Needs torch and torchvision, here or in build/venv
(TAKT_VENV); without them this is skipped. Names of models as arguments choose some.
"""
import copy
import os
import sys

from _runner import BUILD, ROOT, has_extension, skip

VENV = os.environ.get("TAKT_VENV", os.path.join(ROOT, "build", "venv"))
MODELS = {"resnet18": 96, "mobilenet_v2": 96, "mobilenet_v3_small": 96, "shufflenet_v2_x1_0": 96,
          "squeezenet1_1": 96, "googlenet": 96, "vgg11": 64, "efficientnet_v2_s": 96,
          "convnext_small": 96, "vit_b_32": 224}
GRADIENTS = ("resnet18", "mobilenet_v2")

if not has_extension():
    skip("the extension was not built: Python's headers are missing (python3-dev)")
try:
    import torch
    import torchvision
except ImportError:
    PYTHON = os.path.join(VENV, "bin", "python")
    if os.path.exists(PYTHON) and os.environ.get("TAKT_IN_VENV") is None:
        os.environ["TAKT_IN_VENV"] = "1"
        os.execv(PYTHON, [PYTHON, os.path.abspath(sys.argv[0]), *sys.argv[1:]])
    skip("torch and torchvision are not installed")

sys.path.insert(0, os.path.join(BUILD, "python"))
from takt import torch_backend  # noqa: E402

failures = []


def make(name):
    """A model whose results are of ordinary size: random weights, statistics of random images."""
    torch.manual_seed(0)
    more = {"init_weights": False} if name == "googlenet" else {}
    model = getattr(torchvision.models, name)(weights=None, **more)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 1.0
        if isinstance(module, torch.nn.Linear) and not module.weight.any():
            torch.nn.init.normal_(module.weight, std=0.02)
    with torch.no_grad():
        model.train()(torch.randn(8, 3, MODELS[name], MODELS[name]))
    return model.eval()


def error(got, want):
    return ((got - want).abs().max() / want.abs().max().clamp(min=1e-12)).item()


def check(name, good, what):
    print(f"{name}: {what}", flush=True)
    if not good:
        failures.append(name)
        print(f"FAILED: {name}: {what}")


def check_results(name, model, x):
    breaks = torch._dynamo.explain(model)(x).graph_break_count
    compiled = torch.compile(model, backend=torch_backend.takt, fullgraph=True)
    with torch.no_grad():
        got, want = error(compiled(x), model(x)), 1e-4
    left = {why for report in torch_backend.reports() for why in report.left.values()}
    check(name, got <= want and breaks == 0 and not left,
          f"error {got:.1e}, {breaks} graph breaks, {len(left)} operations in torch {left or ''}")


def gradients(model, call, x):
    model.zero_grad()
    torch.nn.functional.cross_entropy(call(x), torch.arange(len(x))).backward()
    return [p.grad.clone() for p in model.parameters()]


def check_gradients(name, model, x):
    model, x = model.double(), x.double()
    other = copy.deepcopy(model)
    compiled = torch.compile(other, backend=torch_backend.takt, fullgraph=True)
    want, got = gradients(model, model, x), gradients(other, compiled, x)
    worst = max(error(a, b) for a, b in zip(got, want))
    names = [report.graph for report in torch_backend.reports()]
    check(name, worst <= 1e-9 and "backward" in names, f"gradients: error {worst:.1e}")


for name in sys.argv[1:] or MODELS:
    torch._dynamo.reset()
    torch_backend.clear_reports()
    model = make(name)
    check_results(name, model, torch.randn(1, 3, MODELS[name], MODELS[name]))
    if name in GRADIENTS:
        torch_backend.clear_reports()
        check_gradients(name, model, torch.randn(2, 3, 64, 64))
sys.exit(bool(failures))
