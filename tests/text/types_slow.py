"""types_slow.py - types of few bits with random blocks: `takt convert --outtype f32` gives the
floats of llama.cpp's own functions and, where it knows the type, of gguf-py, bit by bit; the text
is that of the floats, and scores are llama.cpp's as far as it rounds activations. Needs the
packages gguf and xllamacpp."""
import ctypes
import os
import subprocess
import sys

import _tiny
from _library import BUILD, TMP, in_venv
from _llama import F32, Model, library, numpy

try:
    import gguf
except ImportError:
    in_venv("gguf, numpy, xllamacpp")

ggml = library()
NAMES = {number: name for name, (number, *_) in _tiny.RARE.items()}


def takt(*arguments):
    return subprocess.run([os.path.join(BUILD, "takt"), *arguments], capture_output=True,
                          text=True, check=True).stdout


def by_ggml(name, data, count):
    out = numpy.zeros(count, numpy.float32)
    getattr(ggml, "dequantize_row_" + name.lower())(
        data, out.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(count))
    return out


def by_gguf(name, data):
    """None: this version of gguf-py does not know the type."""
    kind = getattr(gguf.GGMLQuantizationType, name, None)
    size = _tiny.RARE[name][2]
    try:
        return gguf.quants.dequantize(numpy.frombuffer(data, numpy.uint8).reshape(-1, size),
                                      kind).astype(numpy.float32).ravel()
    except (NotImplementedError, KeyError, AttributeError):
        return None


def check(names):
    packed, floats = (os.path.join(TMP, name) for name in ("rare.gguf", "rare_f32.gguf"))
    with open(packed, "wb") as file:
        file.write(_tiny.rare(names))
    takt("convert", packed, "-o", floats, "--outtype", "f32")
    made = {t.name: t.data.ravel() for t in gguf.GGUFReader(floats).tensors}
    wrong = 0
    for name, dims, kind, _ in _tiny.rare_rows(names):
        if kind not in NAMES:
            continue
        data = _tiny.PACK[kind]([0] * (dims[0] * dims[1]))
        for who, want in (("llama.cpp", by_ggml(NAMES[kind], data, dims[0] * dims[1])),
                          ("gguf-py", by_gguf(NAMES[kind], data))):
            same = want is None or want.tobytes() == made[name].tobytes()
            told = "unknown to" if want is None else "as" if same else "NOT as"
            print(f"{NAMES[kind]}, {name}: {told} {who}")
            wrong += not same
    model = Model(packed, len(_tiny.LETTERS), 64)
    ids = model.text(256)
    ours, theirs = model.by_takt(ids), model.by_llama(ggml, ids, F32)
    away = float(abs(ours - theirs).max() / abs(ours).max())
    print(f"scores: {away:.1e} of the largest from llama.cpp's")
    wrong += not away < 0.02
    texts = [takt("generate", path, "a b", "-n", "16", "--temp", "0", "-q", "--activations", "f32")
             for path in (packed, floats)]
    if texts[0] != texts[1] or not texts[0]:
        print(f"texts differ: {texts}")
        wrong += 1
    return wrong


sys.exit(check(_tiny.GRIDS) + check(_tiny.DIGITS) != 0)
