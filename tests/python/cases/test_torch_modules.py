"""test_torch_modules.py - torch.compile(backend="takt"): modules, and what stays in torch."""
import copy
import unittest

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError:
    torch = None

if torch is not None:
    from takt import torch_backend


def floats(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + len(shape)))


if torch is not None:
    class Small(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Sequential(
                nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.Hardswish(), nn.AdaptiveAvgPool2d(1))
            self.out = nn.Linear(8, 5)

        def forward(self, x):
            return self.out(self.features(x).flatten(1))

    class Sorted(nn.Module):
        """torch.linalg.eigvalsh has no counterpart."""

        def forward(self, x):
            y = torch.relu(x @ x.transpose(-1, -2))
            return torch.linalg.eigvalsh(y) * 2 + 1


@unittest.skipIf(torch is None, "torch is not installed")
class Modules(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        torch._dynamo.reset()
        torch_backend.clear_reports()

    def test_inference(self):
        module, x = Small().eval(), floats(2, 3, 8, 8)
        compiled = torch.compile(module, backend=torch_backend.takt, fullgraph=True)
        with torch.no_grad():
            torch.testing.assert_close(compiled(x), module(x), rtol=1e-4, atol=1e-4)
            for size in (4, 5, 6):  # other batches: torch makes the size a name
                x = floats(size, 3, 8, 8)
                torch.testing.assert_close(compiled(x), module(x), rtol=1e-4, atol=1e-4)
        self.assertTrue(all(r.is_whole and r.regions == 1 for r in torch_backend.reports()))

    def test_training(self):
        module, x = Small().train(), floats(4, 3, 8, 8)
        other = copy.deepcopy(module)
        compiled = torch.compile(other, backend=torch_backend.takt, fullgraph=True)
        steps = [torch.optim.SGD(m.parameters(), 0.1) for m in (module, other)]
        for _ in range(3):
            for m, step in zip((module, compiled), steps):
                step.zero_grad()
                F.cross_entropy(m(x), torch.tensor([0, 1, 2, 3])).backward()
                step.step()
        self.assertEqual([r.graph for r in torch_backend.reports()], ["forward", "backward"])
        self.assertTrue(all(r.is_whole for r in torch_backend.reports()))
        for (name, a), b in zip(module.state_dict().items(), other.state_dict().values()):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4, msg=name)

    def test_encoder_layers(self):
        x = floats(2, 7, 16)
        for act in ("relu", "gelu"):
            for first in (False, True):
                layer = nn.TransformerEncoderLayer(16, 4, 32, activation=act, norm_first=first,
                                                   batch_first=True).eval()
                compiled = torch.compile(layer, backend=torch_backend.takt, fullgraph=True)
                with torch.no_grad():
                    torch.testing.assert_close(compiled(x), layer(x), rtol=1e-4, atol=1e-4)
        self.assertTrue(all(r.is_whole for r in torch_backend.reports()))

    def test_tensors_made_in_forward(self):
        class Scaled(nn.Module):
            def forward(self, x):
                return x / torch.sqrt(torch.tensor(x.shape[-1], dtype=torch.float) * 3)
        x = floats(2, 5)
        compiled = torch.compile(Scaled(), backend=torch_backend.takt, fullgraph=True)
        with torch.no_grad():
            torch.testing.assert_close(compiled(x), Scaled()(x))
        compiled(x.requires_grad_()).sum().backward()
        torch.testing.assert_close(x.grad, torch.full((2, 5), 15 ** -0.5))

    def test_no_elements(self):
        module = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
        compiled = torch.compile(module, backend=torch_backend.takt, fullgraph=True)
        for rows in (0, 2, 0):
            x = torch.ones(rows, 4, requires_grad=True)
            made = compiled(x)
            torch.testing.assert_close(made, module(x))
            made.sum().backward()
            self.assertEqual(x.grad.shape, (rows, 4))

    def test_what_stays_in_torch_is_named(self):
        x = floats(2, 3, 3)
        compiled = torch.compile(Sorted(), backend=torch_backend.takt, fullgraph=True)
        with self.assertLogs("takt.torch", "WARNING") as told, torch.no_grad():
            torch.testing.assert_close(compiled(x), Sorted()(x), rtol=1e-4, atol=1e-4)
        self.assertIn("eigh", told.output[0])
        report = torch_backend.reports()[-1]
        self.assertFalse(report.is_whole)
        self.assertEqual(len(report.left), 1)
        self.assertEqual(report.regions, 2)

    def test_dropout_draws_as_torch_does(self):
        module = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.ReLU()).train()
        compiled = torch.compile(module, backend=torch_backend.takt, fullgraph=True)
        x = floats(4, 8)
        with self.assertLogs("takt.torch", "WARNING"):
            torch.manual_seed(5)
            got = compiled(x)
        torch.manual_seed(5)
        torch.testing.assert_close(got, module(x), rtol=1e-4, atol=1e-4)

    def test_options(self):
        x = floats(2, 3, 8, 8)
        with torch.no_grad():
            compiled = torch.compile(Small().eval(), backend=torch_backend.takt,
                                     options={"threads": 1, "freeze": False})
            self.assertEqual(compiled(x).shape, (2, 5))
            torch._dynamo.reset()
            wrong = torch.compile(Small().eval(), backend=torch_backend.takt,
                                  options={"treads": "1"})
            with self.assertRaisesRegex(Exception, "did you mean threads"):
                wrong(x)
