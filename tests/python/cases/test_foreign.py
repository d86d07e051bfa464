"""test_foreign.py - samples of every op by torch and by JAX; takt.TorchBackend, takt.JaxBackend.

Nothing of these frameworks' results comes from the engine: they are a second opinion on its ops.
"""
import json
import os
import re
import subprocess
import unittest

import takt

try:
    import numpy as np
except ImportError:
    np = None
try:
    import torch
except ImportError:
    torch = None
try:
    import jax
except ImportError:
    jax = None

TOOL = os.environ.get("TAKT_TOOL", "")
ALL = os.environ.get("TAKT_SAMPLES") == "all"  # tests/python/oracles_slow.py sets it
# Ops that are not compared with another framework, and why.
LEFT = {
    "their meaning is Takt's own stream of random numbers":
        "bernoulli dropout multinomial rand random_normal random_uniform",
    "their meaning is a format of packed weights, or fixed-point arithmetic":
        "block_dequantize block_matmul ggml_dequantize ggml_experts_i8 ggml_matmul "
        "ggml_matmul_i8 ggml_quantize ggml_rows integer_add integer_conv integer_matmul "
        "integer_mul integer_softmax narrow_conv quantize_away requantize rescale pack_bits "
        "unpack_bits look_up",
    "sizes of their results depend on values": "find_true length nms sized unique",
    "they have subgraphs or programs": "custom fixpoint if loop scan",
    "they are leaves or places of a graph": "constant dim get input state",
    "another framework has no such thing":
        "deform_conv gather_sum max_roi_pool max_roi_pool_dx roi_align roi_align_dx "
        "semiring_matmul semiring_matmul_grad tree_ensemble",
    "they reinterpret or shift bits, which torch and JAX define otherwise": "bitcast shl shr",
    "starts are known only in the run": "dynamic_slice update_slice",
}
# Tolerance by element type, and where a result is a long sum of rounded terms.
CLOSE = {"f64": 1e-9, "f32": 2e-5, "f16": 4e-3, "bf16": 4e-2}


def catalogue():
    from takt import _takt
    return {op["name"]: op for op in json.loads(_takt.catalogue("ops"))["ops"]}


def samples(name):
    told = subprocess.run([TOOL, "ops", name], check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^  example: (.*)$", told, re.MULTILINE)
    return found if ALL else found[:1]


def draw(text, random):
    """An array of a type such as 'f32[2, 3] in (-9, 9)'."""
    if text == "none":
        return None
    kind, shape, low, high = re.fullmatch(
        r"(\w+)\[([^\]]*)\](?: in \((.*), (.*)\))?", text).groups()
    dims = [int(n) for n in shape.split(",") if n.strip()]
    if kind in ("f64", "f32", "f16", "bf16"):
        low, high = (float(low), float(high)) if low else (-1.0, 1.0)
        made = np.asarray(random.uniform(low, high, dims))
        made = np.asarray(made, "float64" if kind == "f64" else "float32")
        return made if kind in ("f64", "f32") else takt.ops.cast(takt.array(made), dtype=kind)
    names = {"i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8", "u64": "uint64",
             "u32": "uint32", "u16": "uint16", "u8": "uint8", "bool": "bool"}
    if kind not in names:
        raise takt.UnsupportedError(f"{kind} has no type in NumPy")
    low, high = (int(low), int(high)) if low else (0, 1) if kind == "bool" else \
        (0 if kind[0] == "u" else -5, 5)
    return np.asarray(random.integers(low, high, dims, endpoint=True), names[kind])


def evaluated(name, given, attributes):
    """The engine's result."""
    from takt._ops import call
    if given and all(x is not None for x in given):
        return call(name, [takt.asarray(x) for x in given], dict(attributes))
    from takt._tensor import operation
    if not given:
        text = ", ".join(f"{k}={json.dumps(v).strip(chr(34))}" for k, v in attributes.items())
        model = takt.loads(f"model m() {{ return y = op.{name}({text}) }}")
        return takt.asarray(takt.compile(model)())
    made = operation(name, [None if x is None else takt.tensor(x) for x in given], attributes)
    return tuple(x.array() for x in made) if isinstance(made, tuple) else made.array()


def as_floats(x):
    if isinstance(x, takt.Array):
        x = takt.ops.cast(x, dtype="f64") if x.dtype in ("f16", "bf16") else x
        return takt.numpy(x)
    if torch is not None and isinstance(x, torch.Tensor):
        return x.to(torch.float64).numpy() if x.is_floating_point() else x.numpy()
    return np.asarray(x.astype("float64") if "float" in str(x.dtype) else x)


@unittest.skipIf(np is None, "NumPy is not installed")
@unittest.skipIf(not os.path.exists(TOOL), "the samples are reported by the command: TAKT_TOOL")
class Samples(unittest.TestCase):
    def check(self, space):
        from takt._foreign import Statement
        from takt._foreign_ops import OPS
        random, done, refused = np.random.default_rng(7), 0, []
        for name in sorted(OPS.keys() & catalogue().keys()):
            compared = 0
            for sample in samples(name):
                said = Statement(f"y = {sample}")
                attributes = said.settings({})
                with self.subTest(sample):
                    try:
                        given = [draw(text, random) for text in said.inputs]
                        values = {f"x{i}": None if x is None else space.take_in(takt.asarray(x))
                                  for i, x in enumerate(given)}
                        said.inputs, said.names = list(values), [f"y{i}" for i in range(9)]
                        said.run(space, values, {})
                    except (takt.UnsupportedError, NotImplementedError, RuntimeError,
                            TypeError) as error:
                        refused.append(f"{sample}: {str(error).splitlines()[0][:70]}")
                        continue
                    want = evaluated(name, given, attributes)
                    for i, one in enumerate(want if isinstance(want, tuple) else (want,)):
                        self.same(values[f"y{i}"], one, space)
                    compared += 1
            done += compared
            if jax is not None and ALL:
                jax.clear_caches()  # compiled code of all samples would take gigabytes
            with self.subTest(name):
                self.assertGreater(compared, 0, f"no sample was compared: {refused[-3:]}")
        print(f"{type(space).__name__}: {done} samples agree, {len(refused)} were refused")
        self.assertLess(len(refused), done // 4, refused)

    def same(self, got, want, space):
        self.assertEqual(space.dtype(got), want.dtype)
        self.assertEqual(tuple(got.shape), want.shape)
        close = CLOSE.get(want.dtype, 0)
        np.testing.assert_allclose(as_floats(got), as_floats(want), rtol=close, atol=close)

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_torch(self):
        from takt._foreign_torch import TorchSpace
        self.check(TorchSpace())

    @unittest.skipIf(jax is None, "jax is not installed")
    @unittest.skipIf(not ALL, "JAX compiles each of them: tests/python/oracles_slow.py")
    def test_jax(self):
        from takt._foreign_jax import JaxSpace
        self.check(JaxSpace())

    def test_none_is_a_word_where_the_attribute_is_one(self):
        from takt._foreign import Statement
        for text, want in (("mse(a, b, reduction=none)", {"reduction": "none"}),
                           ("cross_entropy(a, b, ignore=none)", {"ignore": None}),
                           ("gelu(a, approximate=none)", {"approximate": "none"})):
            self.assertEqual(Statement(f"y = {text}").settings({}), want)

    def test_every_op_is_asked_or_left_for_a_reason(self):
        from takt import _foreign  # noqa: F401 - it fills the table
        from takt._foreign_ops import OPS
        left = {name for names in LEFT.values() for name in names.split()}
        self.assertEqual(catalogue().keys() - OPS.keys() - left, set())
        self.assertEqual(left & OPS.keys(), set())
        self.assertEqual(left - catalogue().keys(), set())


MODEL = """model m(x: f32[batch, 3, 9, 9]) seed=4 {
  h = max_pool(conv(x, 4, 3, act=relu), 2)
  h = flatten(layer_norm(h))
  return y = softmax(dense(h, 5, act=gelu)), n = op.reduce_sum(x, axes=[1, 2, 3])
}"""


class Backends(unittest.TestCase):
    def compare(self, backend, close=1e-5):
        model = takt.loads(MODEL)
        x = np.random.default_rng(1).standard_normal((2, 3, 9, 9)).astype("float32")
        want = takt.compile(model)(x)
        other = takt.compile(model, backend=backend)
        for got, one in zip(other(x), want):
            np.testing.assert_allclose(as_floats(got), one, rtol=close, atol=close)
        self.assertEqual(other(x=x[:1])[0].shape, (1, 5))
        with self.assertRaises(takt.ArgumentError):
            other(x[0])
        with self.assertRaises(takt.ArgumentError):
            other()
        return other

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_torch(self):
        self.compare(takt.TorchBackend())
        self.compare(takt.TorchBackend(torch_dynamo=True, jit_options={"backend": "eager"}))
        traced = self.compare(takt.TorchBackend(torch_fx=True))
        self.assertTrue(any("convolution" in str(n.target) for n in traced._call.graph.nodes))
        double = self.compare(takt.TorchBackend(precision="float64"))
        self.assertEqual(double(np.zeros((1, 3, 9, 9), "float32"))[0].dtype, torch.float64)
        self.compare(takt.TorchBackend(enable_amp=True), close=5e-2)
        with self.assertRaises(takt.UnsupportedError):
            takt.TorchBackend(jit_options={"static_argnums": 1})
        with self.assertRaises(takt.ArgumentError):
            takt.TorchBackend(precision="int3")
        with self.assertRaises(takt.ArgumentError):
            takt.compile(takt.loads(MODEL), backend=takt.TorchBackend(), level=0)

    @unittest.skipIf(jax is None, "jax is not installed")
    def test_jax(self):
        self.compare(takt.JaxBackend())
        self.compare(takt.JaxBackend(jit=False))
        self.compare(takt.JaxBackend(jit_options={"donate_argnums": (0,)}))
        self.compare(takt.JaxBackend(precision="bfloat16"), close=0.3)

    @unittest.skipIf(torch is None and jax is None, "neither torch nor jax is installed")
    def test_what_they_do_not_run(self):
        backend = takt.TorchBackend() if torch is not None else takt.JaxBackend()
        state = "model s(x: f32[2]) {\n  state a: f32[2] = 0\n  next a = a + x\n  return y = a\n}"
        with self.assertRaisesRegex(takt.UnsupportedError, "states"):
            takt.compile(takt.loads(state), backend=backend)
        with self.assertRaisesRegex(takt.UnsupportedError, "bitcast"):
            takt.compile(takt.loads("model b(x: f32[2]) { return y = op.bitcast(x, dtype=i32) }"),
                         backend=backend)

    @unittest.skipIf(torch is not None, "torch is installed")
    def test_without_torch(self):
        with self.assertRaisesRegex(takt.UnsupportedError, "not installed"):
            takt.compile(takt.loads(MODEL), backend=takt.TorchBackend())

    @unittest.skipIf(jax is not None, "jax is installed")
    def test_without_jax(self):
        with self.assertRaisesRegex(takt.UnsupportedError, "not installed"):
            takt.compile(takt.loads(MODEL), backend=takt.JaxBackend())
