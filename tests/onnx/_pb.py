"""_pb.py - ONNX models written field by field, so that they can be wrong in any way."""
import struct


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, body):
    if isinstance(body, float):
        return varint(number << 3 | 5) + struct.pack("<f", body)
    if isinstance(body, int):
        return varint(number << 3) + varint(body)
    body = body.encode() if isinstance(body, str) else body
    return varint(number << 3 | 2) + varint(len(body)) + body


def many(number, bodies):
    return b"".join(field(number, body) for body in bodies)


def attr(name, value, kind=None):
    """AttributeProto; the type follows from the value unless it is given."""
    body = field(1, name)
    if isinstance(value, Graph):
        body, kind = body + field(6, value.body), kind or 5
    elif isinstance(value, float):
        body, kind = body + field(2, value), kind or 1
    elif isinstance(value, int):
        body, kind = body + field(3, value), kind or 2
    elif isinstance(value, str):
        body, kind = body + field(4, value), kind or 3
    elif isinstance(value, bytes):
        body, kind = body + field(5, value), kind or 4
    elif value and isinstance(value[0], float):
        body, kind = body + many(7, value), kind or 6
    elif value and isinstance(value[0], str):
        body, kind = body + many(9, value), kind or 8
    else:
        body, kind = body + many(8, value), kind or 7
    return body + field(20, kind)


def node(op, inputs, outputs, name="n", domain="", **attrs):
    return (many(1, inputs) + many(2, outputs) + field(3, name) + field(4, op)
            + b"".join(field(5, attr(key, value)) for key, value in attrs.items())
            + (field(7, domain) if domain else b""))


def tensor(name, dims, dtype=1, raw=None, more=b""):
    return (many(1, dims) + field(2, dtype) + field(8, name)
            + (field(9, raw) if raw is not None else b"") + more)


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


def ints(*values):
    return struct.pack(f"<{len(values)}q", *values)


def value(name, dims, dtype=1):
    shape = many(1, [field(2, d) if isinstance(d, str) else field(1, d) for d in dims])
    return field(1, name) + field(2, field(1, field(1, dtype) + field(2, shape)))


class Graph:
    def __init__(self, nodes, inputs=(), outputs=(), weights=(), more=b""):
        self.body = (many(1, nodes) + field(2, "g") + many(5, weights) + many(11, inputs)
                     + many(12, outputs) + more)


def model(graph, opset=21, more=b""):
    body = graph.body if isinstance(graph, Graph) else graph
    return field(1, 8) + field(7, body) + field(8, field(2, opset)) + more
