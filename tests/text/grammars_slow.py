"""grammars_slow.py - grammars against llama.cpp's own by ctypes: random walks, and after each token
the same tokens may come next, whole or cut inside a character. Needs the package xllamacpp."""
import codecs
import ctypes
import glob
import os
import random
import sys

from _library import ROOT, TMP, ctx, failure, in_venv, takt

try:
    import xllamacpp
except ImportError:
    in_venv("xllamacpp")
import _tiny  # pylint: disable=wrong-import-position

WALKS, STEPS = int(os.environ.get("TAKT_WALKS", "12")), 60
P, I, Z, S = ctypes.c_void_p, ctypes.c_int32, ctypes.c_size_t, ctypes.c_char_p
CONTROL, END, NORMAL, BYTE = ["<unk>", "<s>", "</s>"], 2, 1, 6
APART = {0, 1, 3}  # llama.cpp matches names of control tokens, and never takes a NUL
PIECES = ["{\"", "\":", "\": \"", "\",", "\"}", "],", "[[", "]]", "tr", "ue", "true", "false",
          "null", "12", "0.", "1e", "-1", "ab", "abc", "hello", "wor", "ld", ", ", "  ", " a",
          "\n\n", "é", "éa", "日本", "日", "語!", "😀", "//", "/*", "*/", "==", "()",
          "(x", "x)", " + ", "+1", "\\n", "\\u00", "A1", "b2", "e4", "Nf", "O-O", "<a>", "</a",
          "if (", "return "]
GRAMMARS = {
    "arithmetic": r"""
root ::= (expr "=" ws term "\n")+
expr ::= term ([-+*/] term)*
term ::= ident | num | "(" ws expr ")" ws
ident ::= [a-z] [a-z0-9_]* ws
num ::= [0-9]+ ws
ws ::= [ \t\n]*""",
    "json": r"""
root ::= object
value ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws (string ":" ws value ("," ws string ":" ws value)*)? "}" ws
array ::= "[" ws (value ("," ws value)*)? "]" ws
string ::= "\"" ([^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}))* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
ws ::= | " " | "\n" [ \t]{0,20}""",
    "moves": r"""
root ::= [1-9] [0-9]? ". " move " " move "\n" root?
move ::= (pawn | piece | castle) [+#]?
piece ::= [NBKQR] [a-h]? [1-8]? "x"? [a-h] [1-8]
pawn ::= ([a-h] "x")? [a-h] [1-8] ("=" [NBQR])?
castle ::= "O-O" "-O"?""",
    "japanese": r"""
root ::= jp-char+ ([ \t\n] jp-char+)*
jp-char ::= hiragana | katakana | punctuation | cjk
hiragana ::= [ぁ-ゟ]
katakana ::= [ァ-ヿ]
punctuation ::= [、-〾]
cjk ::= [一-鿿]""",
    "nested": r"""
root ::= "<" [a-z]+ ">" (root | [^<>]{0,3}) "</" [a-z]+ ">" """,
    "repeated": r"""root ::= ("ab"{2,3} [^a-z] ){1,} "!"{3} ("é" | [à-ü])* .? """,
    "any": r"""root ::= .{4} [\u0041-\u005A]* "\x41" [^\n]+ "\n" """,
    "either": r"""root ::= "a" | "ab" | "abc" root | "hello" (" world" | "wor" "ld")+ # all
""",
    "sums": r"""root ::= ("x" | "(" root ")") (" + " root)?""",
}


class Candidate(ctypes.Structure):
    _fields_ = [("id", I), ("score", ctypes.c_float), ("share", ctypes.c_float)]


class Candidates(ctypes.Structure):
    _fields_ = [("at", ctypes.POINTER(Candidate)), ("count", Z), ("chosen", ctypes.c_int64),
                ("is_sorted", ctypes.c_bool)]


class Settings(ctypes.Structure):
    """llama_model_params, whose fields are not looked at; it is smaller."""
    _fields_ = [("bytes", ctypes.c_char * 1024)]


def vocabulary():
    """A model with few weights whose tokens are bytes, characters and pieces of texts."""
    words = CONTROL + [f"<0x{i:02X}>" for i in range(256)]
    kinds = [2, 3, 3] + [BYTE] * 256
    more = [chr(i) for i in range(33, 127)] + [p for p in PIECES if p != " "] + [" "]
    words += [w.replace(" ", "▁") for w in more]
    kinds += [NORMAL] * len(more)
    keys = [_tiny.key("tokenizer.ggml.model", 8, _tiny.text("llama")),
            _tiny.texts("tokenizer.ggml.tokens", words),
            _tiny.numbers("tokenizer.ggml.scores", 6, "f", [-float(i) for i in range(len(words))]),
            _tiny.numbers("tokenizer.ggml.token_type", 5, "i", kinds)]
    rows = [("token_embd.weight", [32, len(words)], _tiny.F32, 0.0)]
    rows += [(f"{name}.weight", [32], _tiny.F32, 1.0)
             for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm")]
    rows += [(f"blk.0.{name}.weight", [32, 32], _tiny.F32, 0.0)
             for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up",
                          "ffn_down")]
    path = os.path.join(TMP, "pieces.gguf")
    with open(path, "wb") as file:
        file.write(_tiny.gguf(_tiny.settings(
            "llama", **{"attention.layer_norm_rms_epsilon": 1e-5}) + keys, rows))
    return path, words


def library(path):
    llama = ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(xllamacpp.__file__), "*.so"))[0])
    for name, result, arguments in [
            ("llama_model_default_params", Settings, []),
            ("llama_model_load_from_file", P, [S, Settings]), ("llama_model_get_vocab", P, [P]),
            ("llama_sampler_init_grammar", P, [P, S, S]), ("llama_sampler_apply", None, [P, P]),
            ("llama_sampler_accept", None, [P, I]), ("llama_sampler_free", None, [P])]:
        function = getattr(llama, name)
        function.restype, function.argtypes = result, arguments
    llama.quiet = ctypes.CFUNCTYPE(None, ctypes.c_int, S, P)(lambda *_: None)
    llama.llama_log_set(llama.quiet, None)
    model = llama.llama_model_load_from_file(path.encode(), llama.llama_model_default_params())
    return llama, llama.llama_model_get_vocab(model)


class Walk:
    """One grammar in both."""

    def __init__(self, llama, vocab, tokenizer, count):
        self.llama, self.vocab, self.tokenizer, self.count = llama, vocab, tokenizer, count
        self.grammar, self.matcher, self.sampler = P(), P(), None

    def open(self, text):
        if takt.takt_grammar_parse(ctx, text, Z(len(text)), ctypes.byref(self.grammar)) != 0 or \
                takt.takt_matcher_create(self.grammar, self.tokenizer,
                                         ctypes.byref(self.matcher)) != 0:
            raise failure()

    def begin(self, text):
        takt.takt_matcher_reset(self.matcher)
        self.sampler = self.llama.llama_sampler_init_grammar(self.vocab, text, b"root")
        if not self.sampler:
            raise ValueError("llama.cpp does not read it")

    def end(self):
        self.llama.llama_sampler_free(self.sampler)

    def ours(self):
        bits, count = (ctypes.c_uint64 * (self.count // 64 + 1))(), Z()
        if takt.takt_matcher_mask(self.matcher, bits, ctypes.byref(count)) != 0:
            raise failure()
        return {i for i in range(self.count) if bits[i // 64] >> i % 64 & 1}

    def theirs(self):
        rows = (Candidate * self.count)(*[Candidate(i, 0.0, 0.0) for i in range(self.count)])
        all_of = Candidates(rows, self.count, -1, False)
        self.llama.llama_sampler_apply(self.sampler, ctypes.byref(all_of))
        return {rows[i].id for i in range(all_of.count) if rows[i].score > -1e30}

    def accept(self, token):
        self.llama.llama_sampler_accept(self.sampler, token)
        if takt.takt_matcher_accept(self.matcher, I(token)) != 0:
            raise failure()


def bytes_of(word):
    return bytes([int(word[3:5], 16)]) if len(word) == 6 and word[:3] == "<0x" else \
        word.replace("▁", " ").encode()


def is_text(data):
    """Whether these bytes can be a prefix of valid UTF-8. llama.cpp accepts some that cannot:
    larger lead bytes, and surrogate halves."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
        return not (data[-2:-1] == b"\xed" and data[-1] >= 0xa0)
    except UnicodeDecodeError:
        return False


def check(walk, name, text, words, chooser):
    """Number of masks compared, and of those that differ."""
    compared = wrong = 0
    walk.open(text)
    for _ in range(WALKS):
        walk.begin(text)
        said = b""
        for _ in range(STEPS):
            ours, theirs = (mask - APART for mask in (walk.ours(), walk.theirs()))
            more = [words[i] for i in theirs - ours if is_text(said + bytes_of(words[i]))]
            compared += 1
            if ours - theirs or more:
                wrong += 1
                print(f"{name}, after {said}: {[words[i] for i in ours - theirs]} here, "
                      f"{more} there")
                break
            go_on = sorted(ours - {END})
            if not go_on or (END in ours and chooser.random() < 0.1):
                break
            long = [i for i in go_on if i >= len(CONTROL) + 256]
            token = chooser.choice(long if long and chooser.random() < 0.8 else go_on)
            said += bytes_of(words[token])
            walk.accept(token)
        walk.end()
    takt.takt_matcher_destroy(walk.matcher)
    takt.takt_grammar_destroy(walk.grammar)
    return compared, wrong


def grammars():
    yield from GRAMMARS.items()
    for path in sorted(glob.glob(os.path.join(ROOT, "tests/corpus/grammar/good*"))):
        with open(path, "rb") as file:
            text = file.read()
        if path.endswith(".json"):
            made = P()
            if takt.takt_grammar_of_schema(ctx, text, Z(len(text)), ctypes.byref(made)) != 0:
                raise failure()
            text = takt.takt_grammar_text(made)
            takt.takt_grammar_destroy(made)
        yield os.path.basename(path), text.decode()


def main():
    takt.takt_grammar_text.restype = S
    for name in ("takt_matcher_destroy", "takt_grammar_destroy", "takt_matcher_reset"):
        getattr(takt, name).argtypes = [P]
    path, words = vocabulary()
    llama, vocab = library(path)
    tokenizer, chooser, sums = P(), random.Random(5), [0, 0]
    if takt.takt_tokenizer_load(ctx, path.encode(), ctypes.byref(tokenizer)) != 0:
        raise failure()
    for name, text in grammars():
        try:
            got = check(Walk(llama, vocab, tokenizer, len(words)), name, text.encode(), words,
                        chooser)
        except ValueError as error:
            print(f"{name}: {error}")
            continue
        sums = [a + b for a, b in zip(sums, got)]
    print(f"{sums[0]} masks, {sums[1]} differ")
    return sums[1] != 0 or sums[0] < 1000


sys.exit(main())
