"""test_torch_plans.py - torch.compile(backend="takt"): plans without needless copies and steps."""
import unittest

try:
    import torch
    from torch.nn import functional as F
except ImportError:
    torch = None

if torch is not None:
    from takt import torch_backend
    from takt._torch_graph import lower
    from torch.fx.experimental.proxy_tensor import make_fx


def floats(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


@unittest.skipIf(torch is None, "torch is not installed")
class Plans(unittest.TestCase):
    def test_parts_keep_the_layout(self):
        def shuffled(x, a, b):  # as in ShuffleNet
            one, two = F.conv2d(x, a).chunk(2, dim=1)
            y = torch.cat([one, F.relu(F.conv2d(two, b))], 1)
            y = y.view(1, 2, 8, 6, 6).transpose(1, 2).reshape(1, 16, 6, 6)
            one, two = y.chunk(2, dim=1)
            return torch.cat([one, F.relu(F.conv2d(two, b))], 1)

        args = floats(1, 16, 6, 6), floats(16, 16, 1, 1), floats(8, 8, 1, 1)
        graph = make_fx(shuffled, tracing_mode="fake",
                        decomposition_table=torch_backend.decompositions())(*args)
        made = lower(graph, args, {1, 2}, "shuffled").model
        steps = [line for line in made.plan(options={"threads": 1}).describe().splitlines()
                 if ": transpose " in line]
        self.assertLessEqual(len(steps), 2, steps)  # of x, and of the result

    def test_views_around_products(self):
        def block(x, w, v, b, z):  # as nn.Linear is traced for three axes
            h = F.gelu(F.linear(x, w, b))
            return z + F.linear(h, v)

        args = floats(2, 5, 8), floats(12, 8), floats(8, 12), floats(12), floats(2, 5, 8)
        graph = make_fx(block, tracing_mode="fake",
                        decomposition_table=torch_backend.decompositions())(*args)
        names = [str(node.target) for node in graph.graph.nodes]
        self.assertIn("aten.addmm.default", names)
        made = lower(graph, args, {1, 2, 3}, "block").model
        self.assertEqual(made.plan(options={"threads": 1}).steps, 2)  # the two products
        run = torch_backend.compile_graph(graph, {1, 2, 3}, "block", {"threads": 1})
        torch.testing.assert_close(run(*args), block(*args), rtol=2e-5, atol=2e-5)


if __name__ == "__main__":
    unittest.main()
