"""stored.py - trained models from files: rows of the table if their folder exists.

The folder is `../shared/data/onnx` next to the project, or what TAKT_DATA says; each model has its
`model.onnx` and inputs in `test_data_set_0`. Nothing of it is copied.
"""
import os

from late import np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.environ.get("TAKT_DATA", os.path.join(ROOT, "..", "shared", "data"))
NAMES = ["mnist-8", "super-resolution-10", "shufflenet-v2-12-int8", "silero-vad-16k-op15",
         "yunet-n-320", "ultraface-slim-320", "dtln-1", "openwakeword-hello"]
TYPES = {1: "float32", 2: "uint8", 3: "int8", 6: "int32", 7: "int64", 11: "float64"}


def _varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def _fields(data):
    """(number, value) of a message; values are numbers or bytes."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        if tag & 7 == 0:
            value, at = _varint(data, at)
        else:
            size, at = (8, at) if tag & 7 == 1 else (4, at) if tag & 7 == 5 else _varint(data, at)
            value, at = data[at:at + size], at + size
        yield tag >> 3, value


def _read(path):
    with open(path, "rb") as file:
        return file.read()


def _tensor(path):
    dims, kind, raw = [], 1, b""
    for field, value in _fields(_read(path)):
        if field == 1 and isinstance(value, int):
            dims.append(value)
        elif field == 1:  # packed
            at = 0
            while at < len(value):
                size, at = _varint(value, at)
                dims.append(size)
        elif field == 2:
            kind = value
        elif field in (4, 9):
            raw = value
        elif field == 7:
            numbers, at = [value], 0
            if isinstance(value, bytes):
                numbers = []
                while at < len(value):
                    number, at = _varint(value, at)
                    numbers.append(number)
            raw += np.array(numbers, np.int64).tobytes()
    return np.frombuffer(raw, TYPES[kind]).reshape(dims)


def _text(message, number):
    return next((v.decode() for field, v in _fields(message) if field == number), "")


class Stored:
    """The interface that peers.py expects of a graph, for an existing model file."""

    def __init__(self, folder):
        self.folder = folder
        path = os.path.join(folder, "model.onnx")
        graph = list(_fields(next(v for field, v in _fields(_read(path)) if field == 7)))
        weights = {_text(v, 8) for field, v in graph if field == 5}
        names = [_text(v, 1) for field, v in graph if field == 11]
        names = [name for name in names if name not in weights]
        data = os.path.join(folder, "test_data_set_0")
        self.inputs = {name: _tensor(os.path.join(data, f"input_{i}.pb"))
                       for i, name in enumerate(names)}
        self.output = next(_text(v, 1) for field, v in graph if field == 12)
        answer = _tensor(os.path.join(data, "output_0.pb"))
        self.shapes, self.types = {self.output: answer.shape}, {self.output: answer.dtype}
        self.weights, self.flops = {}, 0
        self.size = os.path.getsize(path) + sum(a.nbytes for a in self.inputs.values()) \
            + answer.nbytes

    def traffic(self):
        return self.size

    def write(self, folder):
        """A link to the model, and its inputs; no engine has an operation called `Stored`."""
        os.makedirs(folder, exist_ok=True)
        link = os.path.join(folder, "model.onnx")
        if os.path.lexists(link):
            os.remove(link)
        os.symlink(os.path.abspath(os.path.join(self.folder, "model.onnx")), link)
        lines, at = [], 0
        with open(os.path.join(folder, "data.bin"), "wb") as data:
            for name, array in self.inputs.items():
                dims = " ".join(map(str, (array.ndim, *array.shape)))
                lines.append(f"input {name} {array.dtype} {at} {dims}")
                at += data.write(np.ascontiguousarray(array).tobytes())
                at += data.write(b"\0" * (-at % 64))
        shape = self.shapes[self.output]
        dims = " ".join(map(str, (len(shape), *shape)))
        lines.append(f"node Stored {self.output} - 1 {next(iter(self.inputs))} {dims}")
        lines.append(f"output {self.output} {self.types[self.output]} 0 {dims}")
        with open(os.path.join(folder, "graph.txt"), "w", encoding="ascii") as text:
            text.write("\n".join(lines) + "\n")


def folders():
    """(name, folder) of the models that are present."""
    for name in NAMES:
        folder = os.path.join(DATA, "onnx", name)
        if os.path.exists(os.path.join(folder, "model.onnx")):
            yield name, folder
