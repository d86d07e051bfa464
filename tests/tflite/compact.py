"""compact.py - integer models as ONNX: quantised layers, not the arithmetic of LiteRT spelled out.

A file that is written of a .tflite model has a QuantizeLinear or DequantizeLinear around each
layer, convolutions with channels second, and no transpose of floats. Takt's results of it, and
onnxruntime's where it is installed, are a few steps from the model's own: each layer may be one
off.
"""
import os
import subprocess

from _flat import Op, model
from _litert import DATA, ROOT, SKIP, TMP, TOOL, finish, np, takt_run

if np is None:
    SKIP("no numpy")
from _cases import I8, bias, ints, q, weights

try:
    import onnxruntime
except ImportError:
    onnxruntime = None
MODELS = ("hello-world-int8", "micro-speech-int8", "mlperf-ad01-int8", "mlperf-ic01-int8",
          "mlperf-kws01-int8", "mlperf-strww-int8", "mlperf-vww01-int8",
          "mobilenet-v1-0.25-128-uint8")
STEPS, MOST_NODES = 8, 200
failures, count = [], 0


def network():
    """Convolutions with a residual, depthwise, pools, a product: every rule of channels.c."""
    conv = (1, {0: ("b", 0), 1: ("i", 1), 2: ("i", 1), 3: ("b", 1)})
    deep = (2, {0: ("b", 0), 1: ("i", 2), 2: ("i", 2), 3: ("i", 1), 4: ("b", 3)})
    pool = (5, {0: ("b", 1), 1: ("i", 2), 2: ("i", 2), 3: ("i", 2), 4: ("i", 2)})
    tensors = [q(I8, [1, 16, 12, 3], 0.02),                                               # 0
               weights(I8, [8, 3, 3, 3], 0), bias(8), q(I8, [1, 16, 12, 8], 0.05, -128),  # 3
               weights(I8, [8, 1, 1, 8], 0), bias(8), q(I8, [1, 16, 12, 8], 0.1, 5),      # 6
               q(I8, [1, 16, 12, 8], 0.08, -7),                                           # 7
               weights(I8, [1, 3, 3, 8], 3), bias(8), q(I8, [1, 8, 6, 8], 0.02, -128),    # 10
               q(I8, [1, 4, 3, 8], 0.02, -128), q(I8, [1, 2, 1, 8], 0.02, -128),          # 12
               ints(1, 16), q(I8, [1, 16], 0.02, -128),                                   # 14
               weights(I8, [10, 16]), bias(10), q(I8, [1, 10], 0.3, 4),                   # 17
               q(I8, [1, 10], 1 / 256, -128)]                                             # 18
    ops = [Op("CONV_2D", [0, 1, 2], [3], conv),
           Op("CONV_2D", [3, 4, 5], [6], (1, {0: ("b", 0), 1: ("i", 1), 2: ("i", 1)})),
           Op("ADD", [3, 6], [7], (11, {})), Op("DEPTHWISE_CONV_2D", [7, 8, 9], [10], deep),
           Op("MAX_POOL_2D", [10], [11], pool), Op("AVERAGE_POOL_2D", [11], [12], pool),
           Op("RESHAPE", [12, 13], [14], (17, {})),
           Op("FULLY_CONNECTED", [14, 15, 16], [17], (8, {})),
           Op("SOFTMAX", [17], [18], (9, {0: ("f", 1.0)}))]
    return model(ops, tensors, [0], [18])


def steps(want, got):
    return int(np.abs(want.astype(int) - got.astype(int)).max())


def graph_of(path):
    """Operators by name, and values that a Transpose reads of a DequantizeLinear."""
    import onnx
    nodes = onnx.load(path).graph.node
    floats = {n.output[0] for n in nodes if n.op_type == "DequantizeLinear"}
    moved = [n.name or n.output[0] for n in nodes
             if n.op_type in ("Transpose", "Reshape") and n.input[0] in floats]
    return len(nodes), moved


def check(name, path, x):
    global count
    count += 1
    made = os.path.join(TMP, "compact.onnx")
    run = subprocess.run([TOOL, "convert", path, "-o", made], text=True, capture_output=True,
                         check=False)
    if run.returncode != 0:
        failures.append(f"{name}: {run.stderr.strip()[:300]}")
        return
    want = takt_run(path, [x], 1)[0]
    results = {"takt": takt_run(made, [x], 1)[0]}
    if onnxruntime is not None:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(made, options, providers=["CPUExecutionProvider"])
        results["onnxruntime"] = session.run(None, {session.get_inputs()[0].name: x})[0]
    for who, got in results.items():
        if got.dtype != want.dtype or steps(want, got) > STEPS:
            failures.append(f"{name}: {who} is {steps(want, got)} steps off")
    try:
        nodes, moved = graph_of(made)
    except ImportError:
        return
    if nodes > MOST_NODES or moved:
        failures.append(f"{name}: {nodes} nodes, floats are moved: {moved}")


def inputs_of(shape, dtype):
    info = np.iinfo(dtype)
    return np.random.default_rng(5).integers(info.min, info.max + 1, shape).astype(dtype)


own = os.path.join(TMP, "network.tflite")
with open(own, "wb") as file:
    file.write(network())
check("network", own, inputs_of([1, 16, 12, 3], np.int8))
for each in MODELS:
    where = os.path.join(DATA, "tflite", each, "model.tflite")
    if os.path.exists(where):
        from _litert import reference
        kind = reference.Interpreter(where).get_input_details()[0]
        check(each, where, inputs_of(kind["shape"], kind["dtype"]))
finish(failures, f"{count} models")
