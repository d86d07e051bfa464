"""forms_torch.py - one small module of torch for every form of an operation that is recognised.

FORMS: name -> function that returns the module and its inputs. `by_torch.py` exports them.
"""
import math

import torch
from torch import nn
from torch.nn import functional as F

DIM, HEADS, ROWS = 8, 2, 6
FORMS = {}


def form(function):
    FORMS[function.__name__] = function
    return function


class Of(nn.Module):
    """A module of one function of its inputs and the modules that it holds."""

    def __init__(self, function, **parts):
        super().__init__()
        self.function = function
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *inputs):
        return self.function(self, *inputs)


def rows(*shape):
    return torch.randn(*(shape or (2, ROWS, DIM)))


def picture(channels=4, size=8):
    return torch.randn(2, channels, size, size)


def simple(name, function, make=rows):
    FORMS[name] = lambda: (Of(lambda _, x: function(x)), (make(),))


simple("gelu", F.gelu)
simple("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"))
simple("gelu_new", lambda x: 0.5 * x * (1 + torch.tanh(
    math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3)))))
simple("gelu_fast", lambda x: 0.5 * x * (1 + torch.tanh(
    x * 0.7978845608 * (1 + 0.044715 * x * x))))
simple("gelu_parts", lambda x: x * 0.5 * (1 + torch.erf(x / math.sqrt(2))))
simple("gelu_gain", lambda x: F.gelu(x) * 1.7015043497085571)
simple("silu", F.silu)
simple("silu_parts", lambda x: x * torch.sigmoid(x))
simple("silu_quotient", lambda x: x / (1 + torch.exp(-x)))
simple("hard_swish", F.hardswish)
simple("hard_swish_parts", lambda x: x * F.relu6(x + 3) / 6)
simple("hard_swish_gate", lambda x: x * F.hardsigmoid(x))


@form
def layer_norm():
    return Of(lambda m, x: m.norm(x), norm=nn.LayerNorm(DIM)), (rows(),)


@form
def layer_norm_bare():
    return Of(lambda m, x: m.norm(x), norm=nn.LayerNorm(DIM, elementwise_affine=False)), (rows(),)


@form
def layer_norm_parts():
    def parts(m, x):
        mean = x.mean(-1, keepdim=True)
        spread = (x - mean).pow(2).mean(-1, keepdim=True)
        return m.norm.weight * (x - mean) / torch.sqrt(spread + 1e-5) + m.norm.bias
    return Of(parts, norm=nn.LayerNorm(DIM)), (rows(),)


@form
def layer_norm_variance():
    def parts(m, x):
        spread = x.var(-1, keepdim=True, unbiased=False)
        return (x - x.mean(-1, keepdim=True)) * torch.rsqrt(spread + 1e-6) * m.norm.weight \
            + m.norm.bias
    return Of(parts, norm=nn.LayerNorm(DIM)), (rows(),)


@form
def layer_norm_channels():
    def parts(m, x):
        mean = x.mean(1, keepdim=True)
        spread = (x - mean).pow(2).mean(1, keepdim=True)
        x = (x - mean) / torch.sqrt(spread + 1e-6)
        return m.norm.weight[:, None, None] * x + m.norm.bias[:, None, None]
    return Of(parts, norm=nn.LayerNorm(4)), (picture(),)


@form
def layer_norm_turned():
    def parts(m, x):
        return m.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
    return Of(parts, norm=nn.LayerNorm(4)), (picture(),)


@form
def rms_norm():
    def parts(m, x):
        return m.norm.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))
    return Of(parts, norm=nn.LayerNorm(DIM)), (rows(),)


@form
def rms_norm_module():
    return Of(lambda m, x: m.norm(x), norm=nn.RMSNorm(DIM, eps=1e-6)), (rows(),)


@form
def rms_norm_one_more():
    def parts(m, x):
        normal = x.float() * torch.rsqrt((x.float() ** 2).mean(-1, keepdim=True) + 1e-6)
        return (normal * (1 + m.norm.weight.float())).type_as(x)
    return Of(parts, norm=nn.LayerNorm(DIM)), (rows(),)


@form
def group_norm():
    return Of(lambda m, x: m.norm(x), norm=nn.GroupNorm(2, 4)), (picture(),)


@form
def group_norm_line():
    return Of(lambda m, x: m.norm(x), norm=nn.GroupNorm(2, 4)), (torch.randn(2, 4, 8),)


@form
def group_norm_bare():
    return Of(lambda m, x: m.norm(x), norm=nn.GroupNorm(2, 4, affine=False)), (picture(),)


@form
def focus():
    def cut(m, x):
        x = torch.cat((x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]),
                      1)
        return m.conv(x)
    return Of(cut, conv=nn.Conv2d(12, 4, 3, padding=1)), (picture(3),)


@form
def focus_of_four():
    def cut(_, x):
        return torch.cat([x[:, :, i::4, j::4] for i in range(4) for j in range(4)], 1)
    return Of(cut), (picture(1),)


@form
def unshuffle():
    return Of(lambda _, x: F.pixel_unshuffle(x, 2)), (picture(3),)


@form
def merge():
    def cut(m, x):
        x = torch.cat((x[:, ::2, ::2], x[:, 1::2, ::2], x[:, ::2, 1::2], x[:, 1::2, 1::2]), -1)
        return m.down(m.norm(x))
    return Of(cut, norm=nn.LayerNorm(16), down=nn.Linear(16, 8)), (torch.randn(1, 8, 8, 4),)
