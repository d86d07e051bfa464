"""verify_highs.py - `takt verify` finds the optimum of random relu nets that HiGHS finds, to 1e-6.

A net of 5 or 24 inputs and up to two layers of 20 relus becomes a mixed-integer program. Takt must
prove that the output stays above HiGHS's minimum less 1e-6, and find an input below that minimum
plus 1e-6; its certificate must pass. What takes it longer than TAKT_TIMEOUT is counted. Needs the
Python package highspy, here or in build/venv; without it this is skipped. TAKT_NETS says how many
nets, TAKT_FIRST the first seed.
"""
import json
import os
import struct

import _venv

try:
    import highspy
    import numpy
except ImportError:
    _venv.instead("highspy")

from _cli import expect, finish, path, succeeds, takt, write  # noqa: E402

FIRST, NETS = int(os.environ.get("TAKT_FIRST", "1")), int(os.environ.get("TAKT_NETS", "8"))
GAP = 1e-6


def weights(model):
    """Weights and biases of the dense layers, as the model was initialised."""
    file = path("relus.safetensors")
    succeeds("convert", model, "-o", file)
    with open(file, "rb") as opened:
        data = opened.read()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    entries = json.loads(data[8:start])

    def array(name):
        first, end = (start + at for at in entries[name]["data_offsets"])
        return numpy.frombuffer(data[first:end], "<f4").reshape(entries[name]["shape"]).astype("f8")
    count = sum(name.endswith(".bias") for name in entries)
    return [(array(f"dense_{i}.weight"), array(f"dense_{i}.bias")) for i in range(count)]


def minimum(layers, low, high):
    """The least output, by HiGHS: a binary variable for each relu that may be on or off."""
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    for option, value in (("mip_rel_gap", 0.0), ("mip_abs_gap", 0.0),
                          ("mip_feasibility_tolerance", 1e-9),
                          ("primal_feasibility_tolerance", 1e-9)):
        solver.setOptionValue(option, value)

    def row(lower, upper, terms):
        solver.addRow(lower, upper, len(terms), numpy.array([t[0] for t in terms], "i4"),
                      numpy.array([t[1] for t in terms], "f8"))
    for least, most in zip(low, high):
        solver.addVar(least, most)
    before, infinity = list(range(len(low))), highspy.kHighsInf
    count = len(low)
    for weight, bias in layers[:-1]:
        least = numpy.maximum(weight, 0).T @ low + numpy.minimum(weight, 0).T @ high + bias
        most = numpy.maximum(weight, 0).T @ high + numpy.minimum(weight, 0).T @ low + bias
        now = []
        for j, (a, b) in enumerate(zip(least, most)):
            y, on = count, count + 1
            count += 2
            solver.addVar(0, max(b, 0))
            solver.addVar(0, 1)
            solver.changeColIntegrality(on, highspy.HighsVarType.kInteger)
            linear = [(y, 1.0)] + [(i, -w) for i, w in zip(before, weight[:, j])]
            row(bias[j], infinity, linear)
            row(-infinity, bias[j] - min(a, 0), linear + [(on, -min(a, 0))])
            row(-infinity, 0, [(y, 1.0), (on, -max(b, 0))])
            now.append(y)
        before, low, high = now, numpy.maximum(least, 0), numpy.maximum(most, 0)
    weight, bias = layers[-1]
    for i, cost in zip(before, weight[:, 0]):
        solver.changeColCost(i, cost)
    solver.run()
    expect(solver.getModelStatus() == highspy.HighsModelStatus.kOptimal, "HiGHS found no optimum")
    return solver.getInfo().objective_function_value + bias[0]


def verdict(model, low, high, bound, *flags):
    text = "".join(f"(declare-const X_{i} Real)\n" for i in range(len(low)))
    text += "(declare-const Y_0 Real)\n"
    for i, (least, most) in enumerate(zip(low, high)):
        text += f"(assert (>= X_{i} {float(least)!r}))\n(assert (<= X_{i} {float(most)!r}))\n"
    file = write("relus.vnnlib", text + f"(assert (<= Y_0 {float(bound)!r}))\n")
    return takt("verify", model, "--property", file, "--arithmetic", "real", "--timeout",
                os.environ.get("TAKT_TIMEOUT", "20"), "--counterexample", path("relus.npy"),
                *flags).returncode


def decide(seed, inputs):
    """Whether both sides of the optimum are decided; the proof is checked by its certificate."""
    rng = numpy.random.default_rng(seed)
    hidden = rng.integers(3, 21, size=int(rng.integers(1, 3)))
    body = "".join(f"  x = dense(x, {n}, act=relu)\n" for n in hidden)
    net = write("relus.takt", f"model relus(x: f32[1, {inputs}]) seed={seed} {{\n{body}"
                "  return dense(x, 1)\n}\n")
    centre = rng.uniform(-1, 1, inputs).astype("f4").astype("f8")
    radius = rng.choice([0.0625, 0.125, 0.25])
    low, high = centre - radius, centre + radius
    best = minimum(weights(net), low, high)
    both, proof = True, path("relus.cert")
    for bound, code in ((best - GAP, 0), (best + GAP, 1)):
        got = verdict(net, low, high, bound)
        expect(got in (code, 5), f"net {seed} {hidden}: exit {got} at {bound}, HiGHS has {best}")
        both = both and got == code
    if verdict(net, low, high, best - 100 * GAP, "--certificate", proof) == 0:
        expect(verdict(net, low, high, best - 100 * GAP, "--check", proof) == 0,
               f"net {seed} {hidden}: the certificate is refused")
        expect(verdict(net, low, high, best + 100 * GAP, "--check", proof) != 0,
               f"net {seed} {hidden}: the certificate proves what is false")
    return both


for width in (5, 24):
    decided = sum(decide(seed, width) for seed in range(FIRST, FIRST + NETS))
    print(f"{decided} of {NETS} nets of {width} inputs have the optimum that HiGHS has, the others "
          "ran out of time")
    expect(decided > NETS / 2, f"only {decided} of {NETS} were decided")
finish()
