"""forms_torch_scores.py - attention whose scores are more than a product, a factor and a mask, and
rotary embeddings by tables of angles that are repeated when the model runs."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from forms_torch import DIM, HEADS, ROWS, Of, form
from forms_torch_attention import SIZE, angles, heads, joined, layers, net, queries, turned_half

SCALE = SIZE ** -0.5
CAUSAL = torch.full((1, 1, ROWS, ROWS), -1e9).triu(1)


def flat(x):
    return x.reshape(-1, x.shape[-2], x.shape[-1])


def ended(m, scores, v):
    """Weights of heads that are samples."""
    return m.o(joined((F.softmax(scores, -1).view(-1, ROWS, ROWS) @ flat(v)).view(
        -1, HEADS, ROWS, SIZE)))


@form
def attention_slopes_by_baddbmm():
    """BLOOM: slopes for merged heads, then a mask."""
    slopes = torch.tensor([2.0 ** -(i + 1) for i in range(HEADS)])
    far = (slopes[:, None, None] * torch.arange(ROWS)).repeat(2, 1, 1)

    def run(m, x):
        q, k = flat(heads(m.q(x))), flat(heads(m.k(x)))
        scores = far.baddbmm(q, k.transpose(1, 2), beta=1.0, alpha=SCALE)
        return ended(m, scores.view(2, HEADS, ROWS, ROWS) + CAUSAL, heads(m.v(x)))
    return net(run)


@form
def attention_merged_again():
    """LED, LongT5 and Switch: heads are apart for the mask alone."""
    def run(m, x):
        scores = flat(heads(m.q(x))) * SCALE @ flat(heads(m.k(x))).transpose(1, 2)
        scores = (scores.view(2, HEADS, ROWS, ROWS) + CAUSAL).view(-1, ROWS, ROWS)
        return ended(m, scores, heads(m.v(x)))
    return net(run)


@form
def attention_scaled_sum():
    """XLNet and Funnel: the product and relative positions are scaled together."""
    def run(m, x):
        q, k = heads(m.q(x)), heads(m.k(x))
        near = (q @ m.far.transpose(-1, -2))[..., 1:ROWS + 1]
        scores = (q @ k.transpose(-1, -2) + near) * SCALE + CAUSAL
        return m.o(joined(F.softmax(scores, -1) @ heads(m.v(x))))
    return net(run, far=nn.Parameter(torch.randn(1, HEADS, ROWS + 2, SIZE)))


@form
def attention_rows_and_columns():
    """MViTv2 and SAM: positions of rows and of columns, to scores as pictures."""
    def run(m, x):
        q, k, v = m.qkv(x).reshape(1, 16, 3, HEADS, SIZE).permute(2, 0, 3, 1, 4).unbind(0)
        part = q.view(HEADS, 4, 4, SIZE)
        down = torch.einsum("bhwc,hkc->bhwk", part, m.down)
        along = torch.einsum("bhwc,wkc->bhwk", part, m.along)
        scores = (q * SCALE @ k.transpose(-1, -2)).view(HEADS, 4, 4, 4, 4)
        scores = scores + down[..., :, None] + along[..., None, :]
        return m.o(joined(F.softmax(scores.view(1, HEADS, 16, 16), -1) @ v))
    place = {name: nn.Parameter(torch.randn(4, 4, SIZE)) for name in ("down", "along")}
    parts = {"qkv": nn.Linear(DIM, 3 * DIM), **layers("o"), **place}
    return Of(run, **parts), (torch.randn(1, 16, DIM),)


@form
def attention_of_windows():
    """Hiera, NesT and Twins: windows are an axis of their own."""
    def run(m, x):
        qkv = m.qkv(x).view(1, 3, ROWS, 3, HEADS, SIZE).permute(3, 0, 4, 1, 2, 5)
        q, k, v = qkv.unbind(0)
        y = F.softmax(q * SCALE @ k.transpose(-1, -2), -1) @ v
        return m.o(y.permute(0, 2, 3, 1, 4).reshape(1, 3 * ROWS, DIM))
    parts = {"qkv": nn.Linear(DIM, 3 * DIM), **layers("o")}
    return Of(run, **parts), (torch.randn(1, 3 * ROWS, DIM),)


def cosine_net(count):
    """Swin v2: products of unit vectors, a factor for each head, perhaps masks of windows."""
    far = torch.zeros(1, 2, 1, ROWS, ROWS)
    far[:, 1, :, :3, 3:] = -100.0

    def run(m, x):
        q, k = F.normalize(heads(m.q(x)), dim=-1), F.normalize(heads(m.k(x)), dim=-1)
        scores = q @ k.transpose(-2, -1) * torch.clamp(m.gain, max=4.6).exp() + m.bias
        if count > 1:
            scores = (scores.view(-1, count, HEADS, ROWS, ROWS) + far).view(-1, HEADS, ROWS, ROWS)
        return m.o(joined(F.softmax(scores, -1) @ heads(m.v(x))))
    return net(run, gain=nn.Parameter(torch.randn(HEADS, 1, 1)),
               bias=nn.Parameter(torch.randn(1, HEADS, ROWS, ROWS)))


@form
def attention_cosine():
    return cosine_net(1)


@form
def attention_cosine_windows():
    return cosine_net(2)


@form
def rotary_pairs_repeated():
    """GPT-J and CodeGen: cosines and sines of positions, each twice in turn."""
    table = torch.cat((angles().sin(), angles().cos()), -1)

    def run(_, x, at):
        sine, cosine = (t[:, None].repeat_interleave(2, 3) for t in table[at].chunk(2, -1))
        other = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
        return x * cosine + other * sine
    return Of(run), (*queries(), torch.arange(ROWS)[None])


@form
def rotary_tiled():
    """DINOv3: cosines and sines of places, all twice."""
    def run(m, x, at):
        both = (2 * math.pi * at[:, :, None] / m.rates).flatten(1, 2).tile((2,))
        return x * both.cos() + turned_half(x) * both.sin()
    return Of(run, rates=nn.Parameter(torch.ones(1))), (*queries(), torch.rand(ROWS, 2))
