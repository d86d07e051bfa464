"""_llama.py - llama.cpp by the package xllamacpp, and generators of Takt to compare with it: scores
after each token of a text."""
import ctypes
import glob
import os
import sys

from _library import ctx, failure, in_venv, takt

try:
    import numpy
    import xllamacpp
except ImportError:
    in_venv("numpy, xllamacpp")

P, I = ctypes.c_void_p, ctypes.c_int32
F32, F16, Q8_0 = 0, 1, 8
takt.takt_generator_destroy.argtypes = [P]


class Settings(ctypes.Structure):
    """llama_model_params or llama_context_params, of which a few words are known; both are
    smaller."""
    _fields_ = [("word", ctypes.c_uint32 * 512)]


class Batch(ctypes.Structure):
    _fields_ = [("count", I)] + [(name, P) for name in ("tokens", "vectors", "positions", "counts",
                                                        "texts", "wanted")]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("tokenizer", ctypes.c_char_p),
                ("context", ctypes.c_int64), ("batch", ctypes.c_int64), ("threads", ctypes.c_int),
                ("isa", ctypes.c_char_p), ("activations", ctypes.c_char_p),
                ("cache_type_k", ctypes.c_char_p), ("cache_type_v", ctypes.c_char_p)]


# Words of llama_context_params.
CONTEXT, BATCH, THREADS, THREADS_BATCH, FLASH, TYPE_K, TYPE_V = 0, 1, 7, 8, 13, 26, 27


def library():
    llama = ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(xllamacpp.__file__), "*.so"))[0])
    for name, result, arguments in [
            ("llama_model_default_params", Settings, []),
            ("llama_context_default_params", Settings, []),
            ("llama_model_load_from_file", P, [ctypes.c_char_p, Settings]),
            ("llama_init_from_model", P, [P, Settings]), ("llama_free", None, [P]),
            ("llama_model_free", None, [P]), ("llama_decode", I, [P, Batch]),
            ("llama_batch_get_one", Batch, [P, I]),
            ("llama_get_logits_ith", ctypes.POINTER(ctypes.c_float), [P, I])]:
        function = getattr(llama, name)
        function.restype, function.argtypes = result, arguments
    quiet = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, P)(lambda *_: None)
    llama.llama_log_set(quiet, None)
    llama.quiet = quiet
    llama.llama_backend_init()
    word = llama.llama_context_default_params().word
    if (word[CONTEXT], word[BATCH], word[FLASH], word[TYPE_K], word[TYPE_V]) != (
            512, 2048, 0xffffffff, F16, F16):
        print("skipped: this version of xllamacpp has other settings")
        sys.exit(77)
    return llama


class Model:
    def __init__(self, path, words, piece):
        self.path, self.words, self.piece = path, words, piece

    def pieces(self, ids):
        return (ids[first:first + self.piece] for first in range(0, len(ids), self.piece))

    def by_llama(self, llama, ids, kind):
        """Scores after each token of each piece."""
        model = llama.llama_model_load_from_file(self.path.encode(),
                                                 llama.llama_model_default_params())
        settings = llama.llama_context_default_params()
        for at, value in ((CONTEXT, self.piece), (THREADS, 1), (THREADS_BATCH, 1), (FLASH, 1),
                          (TYPE_K, kind), (TYPE_V, kind)):
            settings.word[at] = value
        rows = []
        for piece in self.pieces(ids):
            context = llama.llama_init_from_model(model, settings)
            for token in piece:
                one = (I * 1)(token)
                if llama.llama_decode(context, llama.llama_batch_get_one(
                        ctypes.cast(one, P), 1)) != 0:
                    raise ValueError("llama_decode fails")
                rows.append(llama.llama_get_logits_ith(context, -1)[:self.words])
            llama.llama_free(context)
        llama.llama_model_free(model)
        return numpy.array(rows, numpy.float64)

    def opened(self, activations=b"f32", kind=b"f32"):
        generator = P()
        options = Options(size=ctypes.sizeof(Options), context=self.piece, batch=16, threads=1,
                          activations=activations, cache_type_k=kind, cache_type_v=kind)
        if takt.takt_generator_open(ctx, self.path.encode(), ctypes.byref(options),
                                    ctypes.byref(generator)) != 0:
            raise failure()
        return generator

    def scores(self, generator, token):
        if takt.takt_generator_read(generator, (I * 1)(token), ctypes.c_size_t(1)) != 0:
            raise failure()
        return takt.takt_generator_scores(generator, None)[:self.words]

    def by_takt(self, ids, activations=b"f32", kind=b"f32"):
        rows = []
        for piece in self.pieces(ids):
            generator = self.opened(activations, kind)
            rows += [self.scores(generator, token) for token in piece]
            takt.takt_generator_destroy(generator)
        return numpy.array(rows, numpy.float64)

    def text(self, count):
        """The model's own output, at temperature 1."""
        draw, ids = numpy.random.default_rng(7), []
        while len(ids) < count:
            generator, token = self.opened(), 1
            for _ in range(self.piece):
                ids.append(token)
                x = numpy.array(self.scores(generator, token), numpy.float64)
                share = numpy.exp(x - x.max())
                token = int(draw.choice(self.words, p=share / share.sum()))
            takt.takt_generator_destroy(generator)
        return ids
