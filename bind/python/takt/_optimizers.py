"""_optimizers.py - how weights follow gradients."""
from __future__ import annotations

from .errors import ArgumentError


class Optimizer:
    """How weights follow gradients: a name, a rate, and numbers. ``takt train --list`` has all."""

    _name = ""

    def __init__(self, learning_rate: float = 0.0, **numbers: float):
        if "lr" in numbers:  # PyTorch's name
            raise ArgumentError(f"{type(self).__name__} has no lr: it is called learning_rate")
        self.learning_rate = float(learning_rate)
        self.numbers = numbers

    def text(self) -> str:
        """As the command takes it: 'adam:beta1=0.8'."""
        said = ",".join(f"{name}={float(value):.17g}" for name, value in self.numbers.items())
        return f"{self._name}:{said}" if said else self._name

    def __repr__(self) -> str:
        return f"takt.{type(self).__name__}({self.text()!r}, learning_rate={self.learning_rate})"


class SGD(Optimizer):
    """Gradient descent; ``momentum``, ``nesterov``, ``weight_decay``."""

    _name = "sgd"


class Adam(Optimizer):
    """Steps scaled by running means of the gradient and of its square."""

    _name = "adam"


class AdamW(Optimizer):
    """Adam with weight decay that does not pass through the moments."""

    _name = "adamw"


class RMSprop(Optimizer):
    """Gradients divided by the root of their running mean square."""

    _name = "rmsprop"


class Adagrad(Optimizer):
    """Gradients divided by the root of the sum of all their squares."""

    _name = "adagrad"


class Adadelta(Optimizer):
    """Steps in units of the running size of earlier steps."""

    _name = "adadelta"


class Lion(Optimizer):
    """Steps of one size, by the sign of an interpolated momentum."""

    _name = "lion"


class Lamb(Optimizer):
    """Adam's direction, scaled by the norm of each parameter."""

    _name = "lamb"


class Adafactor(Optimizer):
    """Little state: mean squares of matrices as one row and one column."""

    _name = "adafactor"


class Muon(Optimizer):
    """Orthogonal steps for matrices, AdamW for other parameters."""

    _name = "muon"
