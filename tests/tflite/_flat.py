"""_flat.py - a small writer of flatbuffers, and TensorFlow Lite models of one graph or several.

    model([Op("RELU", [0], [1])], [Tensor("FLOAT32", [2, 3]), Tensor("FLOAT32", [2, 3])], [0], [1])
"""
import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "../../src/io/tflite/builtins.def"), encoding="utf-8") as names:
    BUILTINS = [line[2:-2] for line in names if line.startswith("X(")]
TYPES = ("FLOAT32 FLOAT16 INT32 UINT8 INT64 STRING BOOL INT16 COMPLEX64 INT8 FLOAT64 COMPLEX128 "
         "UINT64 RESOURCE VARIANT UINT32 UINT16 INT4 BFLOAT16 INT2 UINT4").split()
SIZES = {"b": 1, "B": 1, "h": 2, "H": 2, "i": 4, "I": 4, "f": 4, "q": 8, "Q": 8}


class Table(dict):
    """Fields by number: a pair of a kind and a value. Kinds: a letter of struct for a number, `s`
    for a text, `*` and a letter for a vector of numbers, `t` for a table, `*t` for several."""


def align(out, size):
    out.extend(bytes(-len(out) % size))


def put_table(out, table):
    """Appends a table and everything it refers to; returns its offset."""
    fields = {k: v for k, v in table.items() if v is not None}
    places, at = {}, 4
    for k, (kind, _) in sorted(fields.items(), key=lambda f: -SIZES.get(f[1][0], 4)):
        size = SIZES.get(kind, 4)
        at += -at % size
        places[k] = at
        at += size
    count = max(fields, default=-1) + 1
    align(out, 8)
    vtable = len(out)
    out += struct.pack("<HH", 4 + 2 * count, at)
    out += b"".join(struct.pack("<H", places.get(k, 0)) for k in range(count))
    align(out, 8)
    start = len(out)
    out += struct.pack("<i", start - vtable) + bytes(at - 4)
    for k, (kind, value) in fields.items():
        place = start + places[k]
        if kind in SIZES:
            out[place:place + SIZES[kind]] = struct.pack("<" + kind, value)
        else:
            to = put_other(out, kind, value)
            out[place:place + 4] = struct.pack("<I", to - place)
    return start


def put_other(out, kind, value):
    if kind == "t":
        return put_table(out, value)
    if kind == "s":
        align(out, 4)
        to = len(out)
        out += struct.pack("<I", len(value)) + value.encode() + b"\0"
        return to
    if kind == "*t":
        align(out, 4)
        to = len(out)
        out += struct.pack("<I", len(value)) + bytes(4 * len(value))
        for i, item in enumerate(value):
            place = to + 4 + 4 * i
            where = put_table(out, item)
            out[place:place + 4] = struct.pack("<I", where - place)
        return to
    size = SIZES[kind[1]]
    out.extend(bytes(-(len(out) + 4) % (16 if kind == "*B" else max(size, 4))))
    to = len(out)
    data = value if isinstance(value, bytes) else struct.pack(f"<{len(value)}{kind[1]}", *value)
    out += struct.pack("<I", len(data) // size) + data
    return to


def file_of(root, identifier=b"TFL3"):
    out = bytearray(8)
    out[4:8] = identifier
    out[0:4] = struct.pack("<I", put_table(out, root))
    align(out, 16)
    return bytes(out)


class Tensor:
    def __init__(self, dtype, shape, data=None, scale=None, zero=None, axis=0, variable=False,
                 name=None, sparsity=None):
        self.dtype, self.shape, self.data, self.variable = dtype, list(shape), data, variable
        self.scale, self.zero, self.axis, self.name = scale, zero, axis, name
        self.sparsity = sparsity
        self.signature = None  # the shape, -1 where it depends on values

    def table(self, buffer, index):
        quantisation = None
        if self.scale is not None:
            scales = self.scale if isinstance(self.scale, (list, tuple)) else [self.scale]
            zeros = self.zero if isinstance(self.zero, (list, tuple)) else [self.zero or 0]
            zeros = list(zeros) * (len(scales) if len(zeros) == 1 else 1)
            quantisation = Table({2: ("*f", scales), 3: ("*q", zeros), 6: ("i", self.axis)})
        return Table({0: ("*i", self.shape), 1: ("b", TYPES.index(self.dtype)), 2: ("I", buffer),
                      3: ("s", self.name or f"t{index}"),
                      4: quantisation and ("t", quantisation),
                      5: ("b", 1) if self.variable else None,
                      6: self.sparsity and ("t", self.sparsity),
                      7: self.signature and ("*i", self.signature)})


class Op:
    """`options`: its type number in the schema, and its fields."""

    def __init__(self, name, inputs, outputs, options=None, custom=None, between=None):
        self.name, self.inputs, self.outputs = name, inputs, outputs
        self.options, self.custom, self.between = options, custom, between


class Graph:
    def __init__(self, ops, tensors, inputs, outputs):
        self.ops, self.tensors, self.inputs, self.outputs = ops, tensors, inputs, outputs


def root_of(graphs, version=3):
    codes, buffers, parts = [], [Table()], []
    for graph in graphs:
        tensors, ops = [], []
        for i, t in enumerate(graph.tensors):
            if t.data is not None:
                buffers.append(Table({0: ("*B", bytes(t.data))}))
            tensors.append(t.table(len(buffers) - 1 if t.data is not None else 0, i))
        for op in graph.ops:
            key = (op.name, op.name not in BUILTINS)
            if key not in codes:
                codes.append(key)
            kind, fields = op.options or (0, None)
            ops.append(Table({0: ("I", codes.index(key)), 1: ("*i", op.inputs),
                              2: ("*i", op.outputs), 3: ("B", kind),
                              4: fields is not None and ("t", Table(fields)) or None,
                              5: op.custom and ("*B", op.custom) or None,
                              8: op.between and ("*i", op.between) or None}))
        parts.append(Table({0: ("*t", tensors), 1: ("*i", graph.inputs),
                            2: ("*i", graph.outputs), 3: ("*t", ops), 4: ("s", "main")}))
    tables = []
    for name, is_custom in codes:
        number = 32 if is_custom else BUILTINS.index(name)
        tables.append(Table({0: ("b", min(number, 127)), 1: is_custom and ("s", name) or None,
                             2: ("i", 1), 3: ("i", number)}))
    return Table({0: ("I", version), 1: ("*t", tables), 2: ("*t", parts), 3: ("s", "takt"),
                  4: ("*t", buffers)})


def model(ops, tensors, inputs, outputs, more=()):
    return file_of(root_of([Graph(ops, tensors, inputs, outputs), *more]))


def flex(values):
    """A flexbuffer's map of numbers, each of four bytes: options of custom operators."""
    out, places = bytearray(), {}
    for key in sorted(values):
        places[key] = len(out)
        out += key.encode() + b"\0"
    align(out, 4)
    out += struct.pack("<I", len(values))
    keys = len(out)
    for key in sorted(values):
        out += struct.pack("<I", len(out) - places[key])
    out += struct.pack("<III", len(out) - keys, 4, len(values))
    start = len(out)
    kinds = {bool: (26, "<I"), int: (1, "<i"), float: (3, "<f")}
    for key in sorted(values):
        out += struct.pack(kinds[type(values[key])][1], values[key])
    out += bytes(kinds[type(values[key])][0] << 2 | 2 for key in sorted(values))
    align(out, 4)
    out += struct.pack("<I", len(out) - start)
    return bytes(out) + bytes([9 << 2 | 2, 4])
