"""_transformers.py - torch and transformers of build/venv, and generators of Takt to compare with
them."""
import ctypes
import os

from _library import TMP, ctx, failure, in_venv, takt

try:
    import torch
    import transformers
except ImportError:
    in_venv("torch, transformers")

transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
torch.set_num_threads(1)


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("tokenizer", ctypes.c_char_p),
                ("context", ctypes.c_int64), ("batch", ctypes.c_int64), ("threads", ctypes.c_int),
                ("isa", ctypes.c_char_p), ("activations", ctypes.c_char_p),
                ("cache_type_k", ctypes.c_char_p), ("cache_type_v", ctypes.c_char_p)]


def opened(path, context=128, batch=16):
    generator = ctypes.c_void_p()
    options = Options(size=ctypes.sizeof(Options), context=context, batch=batch, threads=1)
    if takt.takt_generator_open(ctx, path.encode(), ctypes.byref(options),
                                ctypes.byref(generator)) != 0:
        raise failure()
    return generator


def read(generator, ids):
    """The scores after these tokens."""
    array = (ctypes.c_int32 * len(ids))(*ids)
    count = ctypes.c_size_t()
    if takt.takt_generator_read(generator, array, ctypes.c_size_t(len(ids))) != 0:
        raise failure()
    scores = takt.takt_generator_scores(generator, ctypes.byref(count))
    return torch.tensor(scores[:count.value])


def converted(name, folder):
    """The folder as GGUF, and a GGUF file converted to itself."""
    path, again = (os.path.join(TMP, f"{name}{end}.gguf") for end in ("", ".again"))
    for source, target in ((folder, path), (path, again)):
        if takt.takt_text_convert(ctx, source.encode(), target.encode(), None) != 0:
            raise failure()
    with open(path, "rb") as one, open(again, "rb") as two:
        if one.read() != two.read():
            raise ValueError("GGUF to GGUF changes the file")
    return path
