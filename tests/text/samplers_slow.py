"""samplers_slow.py - every sampler, and chains of them, against llama.cpp's own by ctypes: the same
candidates, probabilities to 1e-5. Needs the package xllamacpp, whose library has them; --write
makes tests/corpus/samplers/llama_cpp.txt again."""
import ctypes
import glob
import os
import sys

from _library import ROOT, in_venv

try:
    import xllamacpp
except ImportError:
    in_venv("xllamacpp")
from _chain import check, text_of  # pylint: disable=wrong-import-position


class Candidate(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int32), ("score", ctypes.c_float), ("share", ctypes.c_float)]


class Candidates(ctypes.Structure):
    _fields_ = [("at", ctypes.POINTER(Candidate)), ("count", ctypes.c_size_t),
                ("chosen", ctypes.c_int64), ("is_sorted", ctypes.c_bool)]


class Settings(ctypes.Structure):
    """llama_model_params, whose fields are not looked at; it is smaller."""
    _fields_ = [("bytes", ctypes.c_char * 1024)]


P, F, I, Z = ctypes.c_void_p, ctypes.c_float, ctypes.c_int32, ctypes.c_size_t
llama = ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(xllamacpp.__file__), "*.so"))[0])
if not hasattr(llama, "_Z30llama_sampler_init_dry_testingffiiRKSt6vectorIS_IiSaIiEESaIS1_EE"):
    print("skipped: the functions of this version of xllamacpp have other arguments")
    sys.exit(77)
for name, result, arguments in [
        ("llama_model_default_params", Settings, []),
        ("llama_model_load_from_file", P, [ctypes.c_char_p, Settings]),
        ("llama_model_get_vocab", P, [P]), ("llama_sampler_apply", None, [P, P]),
        ("llama_sampler_accept", None, [P, I]), ("llama_sampler_free", None, [P]),
        ("llama_sampler_init_temp", P, [F]), ("llama_sampler_init_temp_ext", P, [F, F, F]),
        ("llama_sampler_init_top_n_sigma", P, [F]), ("llama_sampler_init_top_k", P, [I]),
        ("llama_sampler_init_top_p", P, [F, Z]), ("llama_sampler_init_min_p", P, [F, Z]),
        ("llama_sampler_init_typical", P, [F, Z]),
        ("llama_sampler_init_xtc", P, [F, F, Z, ctypes.c_uint32]),
        ("llama_sampler_init_penalties", P, [I, I, F, F, F]),
        ("llama_sampler_init_dry",
         P, [P, F, F, I, I, ctypes.POINTER(ctypes.c_char_p), Z]),
        ("llama_sampler_init_dist", P, [ctypes.c_uint32])]:
    function = getattr(llama, name)
    function.restype, function.argtypes = result, arguments
quiet = ctypes.CFUNCTYPE(None, I, ctypes.c_char_p, P)(lambda *_: None)
llama.llama_log_set(quiet, None)
vocabulary = llama.llama_model_get_vocab(llama.llama_model_load_from_file(
    os.path.join(ROOT, "tests/corpus/gguf/tiny.gguf").encode(),
    llama.llama_model_default_params()))


def sampler(name, s, breakers):
    texts = (ctypes.c_char_p * max(len(breakers), 1))(*[b.encode() for b in breakers])
    return {
        "temperature": lambda: llama.llama_sampler_init_temp_ext(
            s["temperature"], s.get("dynatemp_range", 0), s.get("dynatemp_exponent", 1)),
        "top_n_sigma": lambda: llama.llama_sampler_init_top_n_sigma(s["top_n_sigma"]),
        "top_k": lambda: llama.llama_sampler_init_top_k(s["top_k"]),
        "top_p": lambda: llama.llama_sampler_init_top_p(s["top_p"], 1),
        "min_p": lambda: llama.llama_sampler_init_min_p(s["min_p"], 1),
        "typ_p": lambda: llama.llama_sampler_init_typical(s["typical_p"], 1),
        "xtc": lambda: llama.llama_sampler_init_xtc(1.0, s["xtc_threshold"], 1, 1),
        "penalties": lambda: llama.llama_sampler_init_penalties(
            64, s["repeat_last_n"], s["repeat_penalty"], s.get("frequency_penalty", 0),
            s.get("presence_penalty", 0)),
        "dry": lambda: llama.llama_sampler_init_dry(
            vocabulary, s["dry_multiplier"], s["dry_base"], s["dry_allowed_length"],
            256 if s["dry_penalty_last_n"] < 0 else s["dry_penalty_last_n"], texts,
            len(breakers))}[name]()


def theirs(order, s, scores, history, breakers):
    rows = (Candidate * len(scores))(*[(i, x, 0) for i, x in enumerate(scores)])
    array = Candidates(rows, len(scores), -1, False)
    for name in order:
        one = sampler(name, s, breakers)
        for token in history:
            llama.llama_sampler_accept(one, token)
        llama.llama_sampler_apply(one, ctypes.byref(array))
        llama.llama_sampler_free(one)
    last = llama.llama_sampler_init_dist(1)  # normalises the remaining probabilities
    llama.llama_sampler_apply(last, ctypes.byref(array))
    left = {array.at[i].id: array.at[i].share for i in range(array.count)}
    return {k: v for k, v in left.items() if v > 0}


text = text_of(theirs)
if "--write" in sys.argv:
    with open(os.path.join(ROOT, "tests/corpus/samplers/llama_cpp.txt"), "w",
              encoding="utf-8") as f:
        f.write(text)
sys.exit(check(text))
