"""_variants.py SUITE OUT - seeds of a fuzzing campaign, from ONNX's own test suite.

SUITE has a folder for each test: model.onnx and test_data_set_0/input_N.pb. For each model OUT gets
the model as it is; with all its inputs, or all but the first, or those of integers as initializers,
so that the reader computes what depends on values; and with names instead of sizes in the types of
its inputs. Models above 16 KiB are left out.
"""
import glob
import hashlib
import os
import sys

from _pb import field, varint

GRAPH, INITIALIZER, INPUT = 7, 5, 11
LARGEST = 1 << 14


def number(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, wire type, payload): a number, or bytes."""
    at = 0
    while at < len(data):
        key, at = number(data, at)
        kind = key & 7
        if kind == 0:
            value, at = number(data, at)
            yield key >> 3, kind, value
            continue
        length = {1: 8, 5: 4}.get(kind)
        if kind == 2:
            length, at = number(data, at)
        yield key >> 3, kind, data[at:at + length]
        at += length


def encoded(key, kind, body):
    if kind in (1, 5):
        return varint(key << 3 | kind) + body
    return field(key, body)


def mapped(data, change):
    """The message with change(number, payload) instead of each payload."""
    return b"".join(encoded(key, kind, change(key, body)) for key, kind, body in fields(data))


def first(data, key):
    return next((body for number_, _, body in fields(data) if number_ == key), None)


def named_sizes(value, letter):
    """A ValueInfoProto whose sizes have names; equal sizes share one."""
    def dim(key, body):
        return body if key != 1 or first(body, 1) is None else field(2, f"{letter}{first(body, 1)}")

    def descend(path):
        if not path:
            return lambda body: mapped(body, dim)
        return lambda body: mapped(body, lambda k, b: descend(path[1:])(b) if k == path[0] else b)
    return descend((2, 1, 2))(value)


def tensors(folder):
    """Name to TensorProto of the inputs that are tensors."""
    found = {}
    for path in glob.glob(os.path.join(folder, "test_data_set_0", "input_*.pb")):
        with open(path, "rb") as file:
            data = file.read()
        name = first(data, 8)
        if isinstance(name, bytes) and isinstance(first(data, 2), int):
            found[name] = data
    return found


def variants(model, given):
    yield model
    graph = first(model, GRAPH)
    inputs = [first(body, 1) for key, _, body in fields(graph) if key == INPUT]
    whole = [name for name in inputs if name in given and first(given[name], 2) in (6, 7, 9)]
    for chosen in (inputs, inputs[1:], inputs[:1], whole):
        more = b"".join(field(INITIALIZER, given[name]) for name in chosen if name in given)
        if more:
            yield mapped(model, lambda k, b, more=more: b + more if k == GRAPH else b)
            kept = b"".join(encoded(*f) for f in fields(graph)
                            if f[0] != INPUT or first(f[2], 1) not in chosen)
            kept = mapped(kept, lambda k, b: named_sizes(b, "n") if k == INPUT else b)
            yield mapped(model, lambda k, b, g=kept + more: g if k == GRAPH else b)
    for letter in ("n", "d"):
        changed = mapped(graph, lambda k, b, c=letter: named_sizes(b, c) if k == INPUT else b)
        yield mapped(model, lambda k, b, g=changed: g if k == GRAPH else b)


def main(suite, out):
    count = 0
    os.makedirs(out, exist_ok=True)
    for path in sorted(glob.glob(os.path.join(suite, "*", "model.onnx"))):
        with open(path, "rb") as file:
            model = file.read()
        if len(model) > LARGEST:
            continue
        for made in variants(model, tensors(os.path.dirname(path))):
            if len(made) <= LARGEST:
                with open(os.path.join(out, hashlib.sha1(made).hexdigest()), "wb") as file:
                    file.write(made)
                count += 1
    print(f"{count} inputs in {out}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
