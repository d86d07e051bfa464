"""shrink_groups_slow.py - takt prune removes the same channels together as torch-pruning.

Networks in PyTorch, exported to ONNX: plain, residual with and without a convolution in the
shortcut, concatenation, depthwise, transposed. Half of every group goes, in Takt and by
torch-pruning's dependency graph; the shapes of all weights must then be the same. Needs torch,
torch-pruning, onnx and onnxscript, here or in build/venv; without them this is skipped.
"""

import _venv

try:
    import onnx
    import onnxscript  # noqa: F401 - torch's exporter needs it
    import torch
    import torch_pruning as pruning
    from torch import nn
    from torch.nn import functional as act
except ImportError:
    _venv.instead("torch torch-pruning onnx onnxscript")

from _cli import expect, finish, path, succeeds  # noqa: E402


class Residual(nn.Module):
    def __init__(self, shortcut):
        super().__init__()
        self.stem = nn.Conv2d(3, 8 if shortcut else 12, 3, padding=1)
        self.one = nn.Conv2d(self.stem.out_channels, 10, 3, padding=1)
        self.norm = nn.BatchNorm2d(10)
        self.two = nn.Conv2d(10, 12, 3, padding=1)
        self.short = nn.Conv2d(8, 12, 1) if shortcut else nn.Identity()
        self.head = nn.Linear(12, 4)

    def forward(self, x):
        x = act.relu(self.stem(x))
        y = self.two(act.relu(self.norm(self.one(x))))
        return self.head(act.relu(y + self.short(x)).mean((2, 3)))


class Concat(nn.Module):
    def __init__(self):
        super().__init__()
        self.left = nn.Conv2d(3, 4, 3, padding=1)
        self.right = nn.Conv2d(3, 6, 1)
        self.both = nn.Conv2d(10, 8, 3)
        self.head = nn.Linear(8 * 6 * 6, 4)

    def forward(self, x):
        x = torch.cat((act.relu(self.left(x)), self.right(x)), 1)
        return self.head(act.relu(self.both(x)).flatten(1))


def chain(*layers):
    return nn.Sequential(*layers)


NETWORKS = {
    "plain": (chain(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                    nn.Conv2d(8, 12, 3), nn.ReLU(), nn.Flatten(), nn.Linear(12, 10), nn.ReLU(),
                    nn.Linear(10, 4)), (1, 3, 8, 8)),
    "residual": (Residual(False), (1, 3, 8, 8)),
    "residual with a shortcut": (Residual(True), (1, 3, 8, 8)),
    "concat": (Concat(), (1, 3, 8, 8)),
    "depthwise": (chain(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, groups=8),
                        nn.ReLU6(), nn.Conv2d(8, 12, 1), nn.BatchNorm2d(12), nn.ReLU(),
                        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 4)), (1, 3, 8, 8)),
    "transposed": (chain(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.ConvTranspose2d(8, 6, 2, 2), nn.ReLU(),
                         nn.Conv2d(6, 4, 1), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 144, 4)),
                   (1, 3, 8, 8)),
}


def halved(net, x):
    """Shapes after torch-pruning took the first half of every group."""
    graph = pruning.DependencyGraph().build_dependency(net, example_inputs=x)
    last = [m for m in net.modules() if isinstance(m, nn.Linear)][-1]
    kinds = [nn.Conv2d, nn.ConvTranspose2d, nn.Linear]
    for group in graph.get_all_groups(ignored_layers=[last], root_module_types=kinds):
        root = group[0].dep
        half = list(range(len(group[0].idxs) // 2))
        graph.get_pruning_group(root.target.module, root.handler, half).prune()
    return {name.rsplit(".", 1)[0]: tuple(w.shape) for name, w in net.named_parameters()
            if w.dim() > 1}


def written(file):
    """Shapes of all weights of convolutions and products, in the order of the graph."""
    graph = onnx.load(file).graph
    shapes = {t.name: tuple(t.dims) for t in graph.initializer}
    return [shapes[n.input[1]] for n in graph.node
            if n.op_type in ("Conv", "ConvTranspose", "Gemm", "MatMul") and n.input[1] in shapes]


def plain(shapes):
    """Products may be stored transposed, and branches in another order."""
    return sorted(tuple(sorted(s)) if len(s) == 2 else s for s in shapes)


for what, (net, size) in NETWORKS.items():
    torch.manual_seed(1)
    x = torch.randn(size)
    net.eval()
    given, ours = path("given.onnx"), path("pruned.onnx")
    torch.onnx.export(net, (x,), given, dynamo=True, verbose=False)
    succeeds("prune", given, "--amount", "0.5", "--multiple", "1", "-o", ours)
    mine, theirs = plain(written(ours)), plain(halved(net, x).values())
    print(f"{what}: {mine}")
    expect(mine == theirs, f"{what}: {mine}, torch-pruning has {theirs}")
finish()
