"""_hints.py - what names from other libraries, and misspelt ones, are called here."""
from __future__ import annotations

import difflib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

# Of PyTorch, Keras and NumPy; where the name alone is another, that is all there is to say.
_THEIRS = {
    "Linear": "takt.nn.Dense(units), which finds the width of its input by itself",
    "Conv2D": "takt.nn.Conv2d", "Conv1D": "takt.nn.Conv1d", "Conv3D": "takt.nn.Conv3d",
    "ConvTranspose2d": "takt.nn.ConvTranspose", "BatchNorm1d": "takt.nn.BatchNorm",
    "BatchNorm2d": "takt.nn.BatchNorm", "BatchNormalization": "takt.nn.BatchNorm",
    "LayerNormalization": "takt.nn.LayerNorm", "RMSNorm": "takt.nn.RmsNorm",
    "MaxPool2d": "takt.nn.MaxPool", "MaxPooling2D": "takt.nn.MaxPool",
    "AvgPool2d": "takt.nn.AvgPool", "AveragePooling2D": "takt.nn.AvgPool",
    "AdaptiveAvgPool2d": "takt.ops.global_avg_pool in forward(), for one number a channel",
    "MultiheadAttention": "takt.nn.Attention", "MultiHeadAttention": "takt.nn.Attention",
    "TransformerEncoderLayer": "takt.nn.TransformerBlock",
    "ReLU": "act=\"relu\" of a layer, or takt.ops.relu in forward()",
    "GELU": "act=\"gelu\" of a layer, or takt.ops.gelu in forward()",
    "SiLU": "act=\"silu\" of a layer, or takt.ops.silu in forward()",
    "Sigmoid": "takt.ops.sigmoid in forward()", "Tanh": "takt.ops.tanh in forward()",
    "Softmax": "takt.ops.softmax in forward()", "Flatten": "takt.ops.flatten in forward()",
    "CrossEntropyLoss": "loss=\"cross_entropy\" of takt.Trainer",
    "MSELoss": "loss=\"mse\" of takt.Trainer", "BCELoss": "loss=\"bce\" of takt.Trainer",
    "Sequential": "takt.Sequential", "Module": "takt.Module", "Parameter": "takt.Parameter",
    "ModuleList": "a list of modules as an attribute", "optim": "takt.Adam and the like",
    "ModuleDict": "a dictionary of modules as an attribute",
    "no_grad": "not needed: calls keep nothing for gradients",
    "inference_mode": "not needed: calls keep nothing for gradients",
    "from_numpy": "takt.asarray", "as_tensor": "takt.tensor", "cat": "takt.ops.concat",
    "concatenate": "takt.ops.concat", "where": "takt.ops.select", "clamp": "takt.ops.clip",
    "permute": "takt.ops.transpose", "sum": "takt.ops.reduce_sum",
    "mean": "takt.ops.reduce_mean", "arange": "takt.ops.iota", "train": "takt.Trainer",
}


def missing(module: ModuleType, name: str) -> AttributeError:
    """The exception for a name that `module` does not have."""
    said = f"module {module.__name__!r} has no attribute {name!r}"
    if name.startswith("_"):  # asked for by tools, which catch it
        return AttributeError(said)
    from . import nn, ops
    known = {**{key: f"takt.ops.{key}" for key in ops.__all__},
             **{key: f"takt.nn.{key}" for key in nn.__all__},
             **{key: f"{module.__name__}.{key}" for key in dir(module) if key[0] != "_"}}
    close = difflib.get_close_matches(name, known, 1, 0.75)
    if name in known or name in _THEIRS:
        said += f"; here it is {known.get(name) or _THEIRS[name]}"
    elif close:
        said += f"; did you mean {known[close[0]]}?"
    return AttributeError(said)
