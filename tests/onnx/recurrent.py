"""recurrent.py - RNN, GRU and LSTM in corner cases that are not in ONNX's suite."""
import sys

import corners
from _pb import floats, node, tensor
from corners import F32, I32, check, failures


def activations():
    """Constants are assigned in order to the activations that have one; names are in any case."""
    x = ([1, 2, 1], [-2.0, 0.5], F32)
    weights = [tensor("w", [2, 1, 1], F32, floats(1, 1)), tensor("r", [2, 1, 1], F32, floats(0, 0))]
    for names, alpha, beta, want in (
            (["Relu", "LeakyRelu"], [0.5], [], [0.0, 0.5, -1, 0.5]),
            (["LeakyRelu", "HardSigmoid"], [0.5, 0.25], [0.75], [-1.0, 0.5, 0.25, 0.875]),
            (["HardSigmoid", "Affine"], [0.25, 2.0], [0.75, 1.0], [0.25, 0.875, -3, 2]),
            (["hardsigmoid", "leakyrelu"], [], [], [0.1, 0.6, -0.02, 0.5])):
        given = {"activation_alpha": alpha, "activation_beta": beta}
        check(f"RNN of {names}, {alpha}, {beta}", 14,
              [node("RNN", ["x", "w", "r"], ["y"], hidden_size=1, direction="bidirectional",
                    activations=names, **{key: v for key, v in given.items() if v})],
              {"x": x}, {"y": ([1, 2, 2, 1], want, F32)}, weights)


def no_step():
    """A sequence of length 0 ends in zeros, not in its initial state."""
    x, lengths = ([2, 2, 1], [0.0, 1, 0, 2], F32), ([2], [0, 1], I32)
    for op, gates, want in (("RNN", 1, 0.0), ("GRU", 3, 2.5), ("LSTM", 4, 0.48201379)):
        zeros = tensor("w", [1, gates, 1], F32, floats(*[0] * gates))
        recurrent = tensor("r", [1, gates, 1], F32, floats(*[0] * gates))
        states = {"h": ([1, 2, 1], [5.0, 5], F32), "c": ([1, 2, 1], [4.0, 4], F32)}
        outputs = {"yh": ([1, 2, 1], [0.0, want], F32)}
        if op == "LSTM":
            outputs["yc"] = ([1, 2, 1], [0.0, 2], F32)
        else:
            del states["c"]
        check(f"{op} of no step", 14,
              [node(op, ["x", "w", "r", "", "l", *states], ["", *outputs], hidden_size=1)],
              {"x": x, "l": lengths, **states}, outputs, [zeros, recurrent])


def clipped_cell():
    """Gates of 0.5 make the cell 2; the standard clips it, too, on its way into the last tanh."""
    zeros = [tensor(key, [1, 4, 1], F32, floats(0, 0, 0, 0)) for key in ("w", "r")]
    check("LSTM that clips", 14,
          [node("LSTM", ["x", "w", "r", "", "", "", "c"], ["y", "", "yc"], hidden_size=1,
                clip=1.0)],
          {"x": ([1, 1, 1], [7.0], F32), "c": ([1, 1, 1], [4.0], F32)},
          {"y": ([1, 1, 1, 1], [0.38079708], F32), "yc": ([1, 1, 1], [2.0], F32)}, zeros)


if __name__ == "__main__":
    activations()
    no_step()
    clipped_cell()
    print(f"{corners.count} models, {len(failures)} failed")
    sys.exit(1 if failures or corners.count != 8 else 0)
