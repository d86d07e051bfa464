"""forms_paddle.py - one small module of Paddle for every form of an operation that is recognised.

FORMS: name -> function that returns the module and its inputs. `by_paddle.py` exports them.
"""
import numpy as np
import paddle
from paddle import nn
from paddle.nn import functional as F

DIM, HEADS, ROWS = 8, 2, 6
SIZE = DIM // HEADS
FORMS = {}


def form(function):
    FORMS[function.__name__] = function
    return function


class Of(nn.Layer):
    """A layer of one function of its inputs and the layers that it holds."""

    def __init__(self, function, **parts):
        super().__init__()
        self.function = function
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x, other=None):
        return self.function(self, x) if other is None else self.function(self, x, other)


def rows(*shape):
    return paddle.randn(shape or (2, ROWS, DIM))


def picture(channels=4):
    return paddle.randn((2, channels, 8, 8))


def simple(name, function, make=rows):
    FORMS[name] = lambda: (Of(lambda _, x: function(x)), (make(),))


simple("gelu", F.gelu)
simple("gelu_tanh", lambda x: F.gelu(x, approximate=True))
simple("gelu_new", lambda x: 0.5 * x * (1 + paddle.tanh(
    0.7978845608 * (x + 0.044715 * paddle.pow(x, 3)))))
simple("gelu_parts", lambda x: x * 0.5 * (1 + paddle.erf(x / 2 ** 0.5)))
simple("silu", F.silu)
simple("silu_parts", lambda x: x * F.sigmoid(x))
simple("silu_quotient", lambda x: x / (1 + paddle.exp(-x)))
simple("hard_swish", F.hardswish)
simple("hard_swish_parts", lambda x: x * F.relu6(x + 3) / 6)
simple("hard_swish_gate", lambda x: x * F.hardsigmoid(x))
simple("unshuffle", lambda x: F.pixel_unshuffle(x, 2), lambda: picture(3))
simple("focus", lambda x: paddle.concat(
    (x[:, :, ::2, ::2], x[:, :, 1::2, ::2], x[:, :, ::2, 1::2], x[:, :, 1::2, 1::2]), 1),
       lambda: picture(3))


@form
def layer_norm():
    return Of(lambda m, x: m.norm(x), norm=nn.LayerNorm(DIM)), (rows(),)


@form
def layer_norm_parts():
    def parts(m, x):
        mean = x.mean(-1, keepdim=True)
        spread = (x - mean).pow(2).mean(-1, keepdim=True)
        return m.norm.weight * (x - mean) / paddle.sqrt(spread + 1e-5) + m.norm.bias
    return Of(parts, norm=nn.LayerNorm(DIM)), (rows(),)


@form
def layer_norm_channels():
    def parts(m, x):
        mean = x.mean(1, keepdim=True)
        spread = (x - mean).pow(2).mean(1, keepdim=True)
        x = (x - mean) / paddle.sqrt(spread + 1e-6)
        return m.norm.weight.reshape((4, 1, 1)) * x + m.norm.bias.reshape((4, 1, 1))
    return Of(parts, norm=nn.LayerNorm(4)), (picture(),)


@form
def layer_norm_turned():
    def parts(m, x):
        return m.norm(x.transpose((0, 2, 3, 1))).transpose((0, 3, 1, 2))
    return Of(parts, norm=nn.LayerNorm(4)), (picture(),)


@form
def rms_norm():
    def parts(m, x):
        return m.norm.weight * (x * paddle.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))
    return Of(parts, norm=nn.LayerNorm(DIM)), (rows(),)


@form
def group_norm():
    return Of(lambda m, x: m.norm(x), norm=nn.GroupNorm(2, 4)), (picture(),)


@form
def group_norm_bare():
    norm = nn.GroupNorm(2, 4, weight_attr=False, bias_attr=False)
    return Of(lambda m, x: m.norm(x), norm=norm), (picture(),)


@form
def merge():
    def cut(m, x):
        x = paddle.concat((x[:, ::2, ::2], x[:, 1::2, ::2], x[:, ::2, 1::2], x[:, 1::2, 1::2]), -1)
        return m.down(m.norm(x))
    parts = {"norm": nn.LayerNorm(16), "down": nn.Linear(16, 8)}
    return Of(cut, **parts), (paddle.randn((1, 8, 8, 4)),)


# ---- attention ----

def heads(x):
    return x.reshape((2, -1, HEADS, SIZE)).transpose((0, 2, 1, 3))


def joined(x):
    return x.transpose((0, 2, 1, 3)).reshape((2, -1, DIM))


def net(function, *inputs, **parts):
    layers = {n: nn.Linear(DIM, DIM) for n in "qkvo"}
    return Of(function, **{**layers, **parts}), (rows(), *inputs)


def attend(q, k, v, change=lambda s: s):
    weights = F.softmax(change(paddle.matmul(q, k, transpose_y=True) * SIZE ** -0.5), -1)
    return paddle.matmul(weights, v)


def eager(change=lambda s: s):
    def run(m, x):
        return m.o(joined(attend(heads(m.q(x)), heads(m.k(x)), heads(m.v(x)), change)))
    return net(run)


@form
def attention():
    return eager()


@form
def attention_causal_added():
    far = np.triu(np.full((ROWS, ROWS), -1e9, np.float32), 1)
    return eager(lambda s: s + paddle.to_tensor(far))


@form
def attention_causal_selected():
    near = np.tril(np.ones((1, 1, ROWS, ROWS), bool))
    return eager(lambda s: paddle.where(paddle.to_tensor(near), s, paddle.full_like(s, -1e9)))


@form
def attention_given_mask():
    def run(m, x, mask):
        far = (1.0 - mask.reshape((2, 1, 1, ROWS))) * -10000.0
        return m.o(joined(attend(heads(m.q(x)), heads(m.k(x)), heads(m.v(x)), lambda s: s + far)))
    return net(run, paddle.ones((2, ROWS)))


@form
def attention_one_product():
    def run(m, x):
        qkv = m.qkv(x).reshape((2, ROWS, 3, HEADS, SIZE)).transpose((2, 0, 3, 1, 4))
        return m.o(joined(attend(qkv[0], qkv[1], qkv[2])))
    return net(run, qkv=nn.Linear(DIM, 3 * DIM))


@form
def attention_module():
    part = nn.MultiHeadAttention(DIM, HEADS)
    return Of(lambda m, x: m.part(x, x, x), part=part), (rows(),)


@form
def attention_module_masked():
    part = nn.MultiHeadAttention(DIM, HEADS)
    mask = paddle.zeros((2, HEADS, ROWS, ROWS))
    return Of(lambda m, x, mask: m.part(x, x, x, attn_mask=mask), part=part), (rows(), mask)


def dot(**how):
    def run(m, x):
        parts = (layer(x).reshape((2, ROWS, HEADS, SIZE)) for layer in (m.q, m.k, m.v))
        return m.o(F.scaled_dot_product_attention(*parts, **how).reshape((2, ROWS, DIM)))
    return net(run)


@form
def sdpa():
    return dot()


@form
def sdpa_causal():
    return dot(is_causal=True)


@form
def gqa():
    def repeated(x):
        x = x.reshape((2, ROWS, 2, 1, 2)).expand((2, ROWS, 2, 2, 2)).reshape((2, ROWS, 4, 2))
        return x.transpose((0, 2, 1, 3))

    def run(m, x):
        q = m.q(x).reshape((2, ROWS, 4, 2)).transpose((0, 2, 1, 3))
        return m.o(joined(attend(q, repeated(m.k(x)), repeated(m.v(x)))))
    return net(run, k=nn.Linear(DIM, 4), v=nn.Linear(DIM, 4))


@form
def window_shifted():
    far = np.zeros((1, 4, 1, 16, 16), np.float32)
    far[:, 1::2, :, :8, 8:] = -100.0

    def run(m, x):
        x = paddle.roll(x, (-2, -2), (1, 2))
        x = x.reshape((-1, 2, 4, 2, 4, DIM)).transpose((0, 1, 3, 2, 4, 5))
        qkv = m.qkv(x.reshape((-1, 16, DIM))).reshape((-1, 16, 3, HEADS, SIZE))
        q, k, v = qkv.transpose((2, 0, 3, 1, 4)).unbind(0)
        scores = paddle.matmul(q * SIZE ** -0.5, k, transpose_y=True)
        scores = scores.reshape((-1, 4, HEADS, 16, 16)) + paddle.to_tensor(far)
        scores = scores.reshape((-1, HEADS, 16, 16))
        y = paddle.matmul(F.softmax(scores, -1), v).transpose((0, 2, 1, 3))
        y = m.o(y.reshape((-1, 16, DIM))).reshape((-1, 2, 2, 4, 4, DIM))
        y = y.transpose((0, 1, 3, 2, 4, 5)).reshape((-1, 8, 8, DIM))
        return paddle.roll(y, (2, 2), (1, 2))
    return net(run, qkv=nn.Linear(DIM, 3 * DIM))[0], (paddle.randn((1, 8, 8, DIM)),)


# ---- rotary embeddings of [batch, heads, rows, size] ----

def angles():
    at = np.arange(ROWS, dtype=np.float32)[:, None]
    return at / 10000 ** (np.arange(SIZE // 2, dtype=np.float32) / (SIZE // 2))


def queries():
    return (rows(2, HEADS, ROWS, SIZE),)


@form
def rotary():
    both = np.concatenate((angles(), angles()), -1)

    def run(_, x):
        c, s = paddle.to_tensor(np.cos(both)), paddle.to_tensor(np.sin(both))
        first, second = x.chunk(2, -1)
        return x * c + paddle.concat((-second, first), -1) * s
    return Of(run), queries()


@form
def rotary_chunked():
    def run(_, x):
        c, s = paddle.to_tensor(np.cos(angles())), paddle.to_tensor(np.sin(angles()))
        a, b = x.chunk(2, -1)
        return paddle.concat((a * c - b * s, b * c + a * s), -1)
    return Of(run), queries()


@form
def rotary_pairs():
    def run(_, x):
        c, s = paddle.to_tensor(np.cos(angles())), paddle.to_tensor(np.sin(angles()))
        a, b = x[:, :, :, ::2], x[:, :, :, 1::2]
        return paddle.stack((a * c - b * s, b * c + a * s), -1).flatten(-2)
    return Of(run), queries()
