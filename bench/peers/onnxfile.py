"""onnxfile.py - writes a graph as ONNX; the few fields of its protocol buffers that this takes."""
import struct

from late import np

TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "float16": 10, "float64": 11}
OPSET, IR_VERSION = 20, 9


def _varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _int(field, value):
    return _varint(field << 3) + _varint(value)


def _bytes(field, value):
    value = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _attribute(name, value):
    if isinstance(value, float):
        return _bytes(1, name) + _varint(2 << 3 | 5) + struct.pack("<f", value) + _int(20, 1)
    if isinstance(value, int):
        return _bytes(1, name) + _int(3, value) + _int(20, 2)
    return _bytes(1, name) + b"".join(_int(8, v) for v in value) + _int(20, 7)


def _tensor(name, array):
    dims = b"".join(_int(1, n) for n in array.shape)
    raw = np.ascontiguousarray(array).tobytes()
    return dims + _int(2, TYPES[str(array.dtype)]) + _bytes(8, name) + _bytes(9, raw)


def _value(name, dtype, shape):
    dims = b"".join(_bytes(1, _int(1, n)) for n in shape)
    tensor = _int(1, TYPES[str(dtype)]) + _bytes(2, dims)
    return _bytes(1, name) + _bytes(2, _bytes(1, tensor))


def _node(op, inputs, output, attributes):
    """`op` may have a domain before its name: com.microsoft.MatMulNBits."""
    domain, _, op = op.rpartition(".")
    text = b"".join(_bytes(1, i) for i in inputs) + _bytes(2, output) + _bytes(4, op)
    text += b"".join(_bytes(5, _attribute(k, v)) for k, v in attributes.items())
    return text + (_bytes(7, domain) if domain else b"")


def write(graph, path):
    body = [_bytes(1, _node(*node)) for node in graph.nodes] + [_bytes(2, "workload")]
    body += [_bytes(5, _tensor(name, array)) for name, array in graph.weights.items()]
    body += [_bytes(11, _value(name, a.dtype, a.shape)) for name, a in graph.inputs.items()]
    out = graph.output
    body.append(_bytes(12, _value(out, graph.types[out], graph.shapes[out])))
    model = _int(1, IR_VERSION) + _bytes(2, "takt") + _bytes(7, b"".join(body))
    with open(path, "wb") as file:
        file.write(model + _bytes(8, _bytes(1, "") + _int(2, OPSET)))
        for domain in sorted({node[0].rpartition(".")[0] for node in graph.nodes} - {""}):
            file.write(_bytes(8, _bytes(1, domain) + _int(2, 1)))
