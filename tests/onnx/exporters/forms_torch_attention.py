"""forms_torch_attention.py - attention and rotary embeddings, as modules of torch write them."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from forms_torch import DIM, HEADS, ROWS, Of, form, rows

SIZE = DIM // HEADS


def heads(x, count=HEADS):
    return x.view(x.shape[0], x.shape[1], count, -1).transpose(1, 2)


def joined(x):
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)


def layers(names="qkvo", **widths):
    return {n: nn.Linear(DIM, widths.get(n, DIM)) for n in names}


def attend(q, k, v, mask=None, how="after"):
    if how == "before":
        scores = (q * SIZE ** -0.5) @ k.transpose(-1, -2)
    elif how == "both":
        scores = (q * SIZE ** -0.25) @ (k * SIZE ** -0.25).transpose(-1, -2)
    elif how == "none":
        scores = q @ k.transpose(-1, -2)
    else:
        scores = q @ k.transpose(-1, -2) / math.sqrt(SIZE)
    if mask is not None:
        scores = mask(scores) if callable(mask) else scores + mask
    return F.softmax(scores, -1) @ v


def net(function, *inputs, **parts):
    """`function` on the module and its input, whose result is a whole row."""
    return Of(function, **{**layers(), **parts}), (rows(), *inputs)


def eager(mask=None, how="after"):
    def run(m, x):
        return m.o(joined(attend(heads(m.q(x)), heads(m.k(x)), heads(m.v(x)), mask, how)))
    return net(run)


@form
def attention():
    return eager()


@form
def attention_scaled_query():
    return eager(how="before")


@form
def attention_scaled_both():
    return eager(how="both")


@form
def attention_unscaled():
    return eager(how="none")


@form
def attention_position_bias():
    bias = nn.Parameter(torch.randn(1, HEADS, ROWS, ROWS))

    def run(m, x):
        return m.o(joined(attend(heads(m.q(x)), heads(m.k(x)), heads(m.v(x)), m.bias, "none")))
    return net(run, bias=bias)


@form
def attention_given_mask():
    def run(m, x, mask):
        far = (1.0 - mask[:, None, None, :]) * -10000.0
        return m.o(joined(attend(heads(m.q(x)), heads(m.k(x)), heads(m.v(x)), far)))
    return net(run, torch.ones(2, ROWS))


@form
def attention_filled():
    def run(m, x, mask):
        def fill(scores):
            return scores.masked_fill(mask[:, None, None, :] == 0, -1e9)
        return m.o(joined(attend(heads(m.q(x)), heads(m.k(x)), heads(m.v(x)), fill)))
    return net(run, torch.ones(2, ROWS))


@form
def attention_causal_selected():
    causal = torch.ones(ROWS, ROWS).tril().bool()[None, None]
    return eager(lambda s: torch.where(causal, s, torch.finfo(s.dtype).min))


@form
def attention_causal_added():
    return eager(torch.full((ROWS, ROWS), -1e9).triu(1)[None, None])


@form
def attention_slopes():
    slopes = torch.tensor([2.0 ** -(i + 1) for i in range(HEADS)]).view(1, HEADS, 1, 1)
    far = torch.arange(ROWS).view(1, 1, 1, ROWS) - torch.arange(ROWS).view(1, 1, ROWS, 1)
    return eager(slopes * far.float())


@form
def attention_capped():
    return eager(lambda s: torch.tanh(s / 50.0) * 50.0)


@form
def attention_by_bmm():
    def run(m, x):
        q, k, v = (heads(l(x)).reshape(-1, ROWS, SIZE) for l in (m.q, m.k, m.v))
        y = torch.bmm(F.softmax(torch.bmm(q * SIZE ** -0.5, k.transpose(1, 2)), -1), v)
        return m.o(joined(y.view(-1, HEADS, ROWS, SIZE)))
    return net(run)


@form
def attention_by_einsum():
    def run(m, x):
        q, k, v = (l(x).view(2, ROWS, HEADS, SIZE) for l in (m.q, m.k, m.v))
        weights = F.softmax(torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(SIZE), -1)
        return m.o(torch.einsum("bhqk,bkhd->bqhd", weights, v).reshape(2, ROWS, DIM))
    return net(run)


@form
def attention_one_product():
    """Query, key and value from one product, in three slots, as vision transformers have it."""
    def run(m, x):
        qkv = m.qkv(x).reshape(2, ROWS, 3, HEADS, SIZE).permute(2, 0, 3, 1, 4)
        return m.o(joined(attend(*qkv.unbind(0), how="before")))
    return net(run, qkv=nn.Linear(DIM, 3 * DIM))


@form
def attention_chunks():
    """Query, key and value from one product, cut by chunks."""
    def run(m, x):
        return m.o(joined(attend(*(heads(p) for p in m.qkv(x).chunk(3, -1)))))
    return net(run, qkv=nn.Linear(DIM, 3 * DIM))


@form
def attention_split_heads():
    """Query, key and value of each head side by side."""
    def run(m, x):
        qkv = m.qkv(x).view(2, ROWS, HEADS, 3 * SIZE).transpose(1, 2)
        return m.o(joined(attend(*qkv.chunk(3, -1))))
    return net(run, qkv=nn.Linear(DIM, 3 * DIM))


@form
def attention_of_picture():
    """Keys and values of a picture's places, channels first."""
    def run(m, x):
        q, k, v = m.qkv(x).reshape(2, 3, HEADS, SIZE, 16).unbind(1)
        weights = F.softmax(q.transpose(-2, -1) @ k * SIZE ** -0.5, -1)
        return (v @ weights.transpose(-2, -1)).reshape(2, DIM, 4, 4)
    return Of(run, qkv=nn.Conv2d(DIM, 3 * DIM, 1)), (torch.randn(2, DIM, 4, 4),)


@form
def attention_cross():
    def run(m, x, other):
        return m.o(joined(attend(heads(m.q(x)), heads(m.k(other)), heads(m.v(other)))))
    return net(run, rows(2, 5, DIM))


@form
def attention_module():
    part = nn.MultiheadAttention(DIM, HEADS, batch_first=True)
    return Of(lambda m, x: m.part(x, x, x, need_weights=False)[0], part=part), (rows(),)


@form
def attention_module_padded():
    part = nn.MultiheadAttention(DIM, HEADS, batch_first=True)

    def run(m, x, pad):
        return m.part(x, x, x, key_padding_mask=pad, need_weights=False)[0]
    return Of(run, part=part), (rows(), torch.zeros(2, ROWS, dtype=torch.bool))


def dot(**how):
    def run(m, x):
        return m.o(joined(F.scaled_dot_product_attention(
            heads(m.q(x)), heads(m.k(x)), heads(m.v(x)), **how)))
    return net(run)


@form
def sdpa():
    return dot()


@form
def sdpa_causal():
    return dot(is_causal=True)


@form
def sdpa_scale():
    return dot(scale=1.0)


@form
def sdpa_float_mask():
    def run(m, x, mask):
        return m.o(joined(F.scaled_dot_product_attention(
            heads(m.q(x)), heads(m.k(x)), heads(m.v(x)), attn_mask=mask)))
    return net(run, torch.zeros(2, 1, ROWS, ROWS))


@form
def sdpa_bool_mask():
    def run(m, x, mask):
        return m.o(joined(F.scaled_dot_product_attention(
            heads(m.q(x)), heads(m.k(x)), heads(m.v(x)), attn_mask=mask)))
    return net(run, torch.ones(2, 1, ROWS, ROWS, dtype=torch.bool))


def repeated(x, times=2):
    b, kv, n, d = x.shape
    return x[:, :, None].expand(b, kv, times, n, d).reshape(b, kv * times, n, d)


@form
def gqa():
    def run(m, x):
        k, v = repeated(heads(m.k(x), 2)), repeated(heads(m.v(x), 2))
        return m.o(joined(attend(heads(m.q(x), 4), k, v)))
    return net(run, k=nn.Linear(DIM, 4), v=nn.Linear(DIM, 4))


@form
def gqa_interleaved():
    def run(m, x):
        k, v = (heads(l(x), 2).repeat_interleave(2, 1) for l in (m.k, m.v))
        return m.o(joined(attend(heads(m.q(x), 4), k, v)))
    return net(run, k=nn.Linear(DIM, 4), v=nn.Linear(DIM, 4))


@form
def gqa_sdpa():
    def run(m, x):
        return m.o(joined(F.scaled_dot_product_attention(
            heads(m.q(x), 4), heads(m.k(x), 2), heads(m.v(x), 2), enable_gqa=True)))
    return net(run, k=nn.Linear(DIM, 4), v=nn.Linear(DIM, 4))


@form
def gqa_single():
    """All heads share one key and one value."""
    def run(m, x):
        return m.o(joined(attend(heads(m.q(x)), heads(m.k(x), 1), heads(m.v(x), 1))))
    return net(run, k=nn.Linear(DIM, SIZE), v=nn.Linear(DIM, SIZE))


def windows(x, size, shift, back=False):
    x = torch.roll(x, (-shift, -shift), (1, 2)) if shift else x
    b, h, w, c = x.shape
    x = x.view(b, h // size, size, w // size, size, c).permute(0, 1, 3, 2, 4, 5)
    return x.reshape(-1, size * size, c)


def window_net(shift):
    bias = nn.Parameter(torch.randn(1, HEADS, 16, 16))
    far = torch.zeros(1, 4, 1, 16, 16)
    far[:, 1::2, :, :8, 8:] = -100.0

    def run(m, x):
        y = windows(x, 4, shift)
        qkv = m.qkv(y).reshape(-1, 16, 3, HEADS, SIZE).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0] * SIZE ** -0.5, qkv[1], qkv[2]
        scores = q @ k.transpose(-2, -1) + m.bias
        if shift:
            scores = (scores.view(-1, 4, HEADS, 16, 16) + far).view(-1, HEADS, 16, 16)
        y = m.o(joined(F.softmax(scores, -1) @ v))
        y = y.view(-1, 2, 2, 4, 4, DIM).permute(0, 1, 3, 2, 4, 5).reshape(-1, 8, 8, DIM)
        return torch.roll(y, (shift, shift), (1, 2)) if shift else y
    parts = {"qkv": nn.Linear(DIM, 3 * DIM), "o": nn.Linear(DIM, DIM), "bias": bias}
    return Of(run, **parts), (torch.randn(1, 8, 8, DIM),)


@form
def window():
    return window_net(0)


@form
def window_shifted():
    return window_net(2)


def angles(width=SIZE):
    at = torch.arange(ROWS)[:, None] / 10000 ** (torch.arange(width // 2) / (width // 2))[None]
    return at


def turned_half(x):
    return torch.cat((-x[..., x.shape[-1] // 2:], x[..., :x.shape[-1] // 2]), -1)


def queries():
    return (torch.randn(2, HEADS, ROWS, SIZE),)


@form
def rotary():
    both = torch.cat((angles(), angles()), -1)
    return Of(lambda _, x: x * both.cos() + turned_half(x) * both.sin()), queries()


@form
def rotary_chunked():
    def run(_, x):
        first, second = x.chunk(2, -1)
        c, s = angles().cos(), angles().sin()
        return torch.cat((first * c - second * s, second * c + first * s), -1)
    return Of(run), queries()


@form
def rotary_pairs():
    """Pairs are neighbours."""
    def run(_, x):
        c, s = angles().cos(), angles().sin()
        a, b = x[..., ::2], x[..., 1::2]
        return torch.stack((a * c - b * s, b * c + a * s), -1).flatten(-2)
    return Of(run), queries()


@form
def rotary_pairs_whole():
    def run(_, x):
        c, s = (t.repeat_interleave(2, -1) for t in (angles().cos(), angles().sin()))
        other = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
        return x * c + other * s
    return Of(run), queries()


@form
def rotary_part():
    """Half of each head turns, the rest stays."""
    def run(_, x):
        part, rest = x[..., :4], x[..., 4:]
        both = torch.cat((angles(4), angles(4)), -1)
        return torch.cat((part * both.cos() + turned_half(part) * both.sin(), rest), -1)
    return Of(run), (torch.randn(2, HEADS, ROWS, 8),)


@form
def rotary_positions():
    """Angles from positions that the model is given."""
    def run(_, x, at):
        rates = 1.0 / (10000 ** (torch.arange(0, SIZE, 2).float() / SIZE))
        both = (rates[None, :, None] @ at[:, None, :].float()).transpose(1, 2)
        both = torch.cat((both, both), -1)[:, None]
        return x * both.cos() + turned_half(x) * both.sin()
    return Of(run), (*queries(), torch.arange(ROWS)[None])
