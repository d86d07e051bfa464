"""hugging_face.py - tokenizers trained by Hugging Face's library: the same ids and texts for random
strings, of each kind that Takt reads. Needs the package tokenizers in build/venv."""
import ctypes
import json
import os
import random
import sys
import unicodedata

from _library import ROOT, TMP, ctx, in_venv, takt

STRINGS = int(os.environ.get("TAKT_STRINGS", "3000"))
SEED = int(os.environ.get("SEED", "7"))

try:
    from tokenizers import (AddedToken, Tokenizer, Regex, decoders, models, normalizers,
                            pre_tokenizers, processors, trainers)
except ImportError:
    in_venv("tokenizers")

for name in ("takt_tokenizer_load", "takt_tokenize", "takt_detokenize"):
    getattr(takt, name).restype = ctypes.c_int


class Room(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("capacity", ctypes.c_size_t), ("count", ctypes.c_size_t)]


CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LINES = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + LINES
QWEN2 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + LINES
QWEN35 = (CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}" +
          LINES.replace(r"\p{L}\p{N}", r"\p{L}\p{M}\p{N}"))
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
BEFORE, SLASHES = r"[^\r\n\p{L}\p{N}]?", LINES.replace(r"]+[\r\n]*", r"]+[\r\n/]*")
O200K = (f"{BEFORE}{UPPER}*{LOWER}+{CONTRACTIONS}?|{BEFORE}{UPPER}+{LOWER}*{CONTRACTIONS}?" +
         r"|\p{N}{1,3}" + SLASHES)
TEKKEN = f"{BEFORE}{UPPER}*{LOWER}+|{BEFORE}{UPPER}+{LOWER}*" + r"|\p{N}" + SLASHES
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"
SPECIAL = ["<|end|>", "<|im_start|>"]


def lines(*files):
    return [line for path in files for line in open(os.path.join(ROOT, path), encoding="utf-8")]


def corpus():
    words = lines("README.md", "ARCHITECTURE.md", "docs/language.md", "docs/numerics.md")
    return words + ["Äpfel und Öl, café, naïve 我想在 apple 工作 한국어 нещо на Български 🚀 ½ "] * 40


def split(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False,
                                                             use_regex=False)])


def byte_level(pre, **more):
    t = Tokenizer(models.BPE(**more))
    t.pre_tokenizer = pre
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=1200, special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    t.add_tokens([AddedToken("<think>", normalized=False),
                  AddedToken("<r>", rstrip=True, normalized=False),
                  AddedToken("<l>", lstrip=True, normalized=False),
                  AddedToken("one", single_word=True, normalized=False)])
    return t


def gpt2():
    return byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False))


def repeated():
    """Added tokens that the model has as well."""
    t = gpt2()
    t.add_tokens([AddedToken("어", normalized=False), AddedToken("…", normalized=False)])
    return t


def roberta():
    t = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True))
    t.post_processor = processors.RobertaProcessing(("<|end|>", 0), ("<|im_start|>", 1))
    return t


def llama3():
    return byte_level(split(LLAMA3), ignore_merges=True)


def qwen2():
    t = byte_level(split(QWEN2))
    t.normalizer = normalizers.NFC()
    return t


def qwen35():
    t = byte_level(split(QWEN35))
    t.normalizer = normalizers.NFC()
    return t


def o200k():
    return byte_level(split(O200K))


def tekken():
    return byte_level(split(TEKKEN), ignore_merges=True)


def bloom():
    return byte_level(split(BLOOM))


def smollm():
    return byte_level(pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False)]))


def bert():
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator(corpus(), trainers.WordPieceTrainer(
        vocab_size=1200, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], show_progress=False))
    t.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    t.decoder = decoders.WordPiece(prefix="##")
    return t


def llama2():
    t = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    words = [word for line in corpus() for word in line.replace(" ", " ▁").split(" ")]
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    t.train_from_iterator(words, trainers.BpeTrainer(vocab_size=1400, show_progress=False,
                                                     special_tokens=special))
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(),
                                   decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    parts = json.loads(t.to_str())  # bytes are ordinary tokens, not added ones
    parts["added_tokens"] = parts["added_tokens"][:3]
    return Tokenizer.from_str(json.dumps(parts))


def mistral():
    t = llama2()
    t.normalizer = None
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=True)
    return t


def gemma():
    t = llama2()
    t.normalizer = normalizers.Replace(" ", "▁")
    t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(),
                                   decoders.Fuse()])
    return t


def unigram():
    t = Tokenizer(models.Unigram())
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.decoder = decoders.Metaspace()
    t.train_from_iterator(corpus(), trainers.UnigramTrainer(
        vocab_size=900, special_tokens=["<unk>", "<s>", "</s>"], unk_token="<unk>",
        show_progress=False))
    t.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", t.token_to_id("</s>"))])
    return t


def t5():
    t = unigram()
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(),
                                               pre_tokenizers.Metaspace()])
    t.normalizer = normalizers.Sequence([normalizers.NFC(),
                                         normalizers.Replace(Regex(" {2,}"), " ")])
    return t


def spaced():
    """Words without marks: Metaspace does not follow, or does not mark every word."""
    t = unigram()
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return t


def scripts():
    """Words end where the script changes, as SentencePiece cuts texts."""
    t = Tokenizer(models.Unigram())
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.UnicodeScripts(),
                                               pre_tokenizers.Digits()])
    t.train_from_iterator(corpus(), trainers.UnigramTrainer(
        vocab_size=900, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False))
    t.decoder = decoders.Fuse()
    return t


CLIP = (r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|" +
        r"[^\s\p{L}\p{N}]+")


def clip():
    t = Tokenizer(models.BPE(unk_token="<|end|>", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.Sequence([normalizers.NFC(),
                                         normalizers.Replace(Regex(r"\s+"), " "),
                                         normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(CLIP), "removed", invert=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False)])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=1400, special_tokens=SPECIAL, end_of_word_suffix="</w>",
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    return t


def gpt1():
    t = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.BertNormalizer(strip_accents=False)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.BPEDecoder(suffix="</w>")
    t.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=1400, special_tokens=["<unk>"], end_of_word_suffix="</w>", show_progress=False))
    return t


def prefixed():
    """Pieces that continue a word have a mark of their own."""
    t = Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="##", fuse_unk=True))
    t.normalizer = normalizers.NFKD()
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(),
                                               pre_tokenizers.Punctuation("merged_with_next")])
    t.decoder = decoders.WordPiece(prefix="##", cleanup=False)
    t.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=1400, special_tokens=["<unk>"], continuing_subword_prefix="##",
        show_progress=False))
    return t


def pieces():
    """WordPiece whose words are not BERT's."""
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", continuing_subword_prefix="@@"))
    t.normalizer = normalizers.BertNormalizer(handle_chinese_chars=False, lowercase=False)
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    t.decoder = decoders.WordPiece(prefix="@@")
    t.train_from_iterator(corpus(), trainers.WordPieceTrainer(
        vocab_size=1200, special_tokens=["[UNK]"], continuing_subword_prefix="@@",
        show_progress=False))
    return t


def words():
    t = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    t.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.CharDelimiterSplit(" "),
                                               pre_tokenizers.Digits()])
    t.train_from_iterator(corpus(), trainers.WordLevelTrainer(
        vocab_size=3000, special_tokens=["[UNK]"], show_progress=False))
    return t


def nmt():
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(),
                                         normalizers.StripAccents(), normalizers.Strip()])
    t.pre_tokenizer = pre_tokenizers.Metaspace(replacement="_", prepend_scheme="never")
    t.decoder = decoders.Metaspace(replacement="_", prepend_scheme="never")
    t.train_from_iterator(corpus(), trainers.UnigramTrainer(
        vocab_size=900, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False))
    return t


def speech():
    t = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    t.pre_tokenizer = pre_tokenizers.FixedLength(length=1)
    t.decoder = decoders.CTC(pad_token="e", word_delimiter_token="a")
    t.train_from_iterator(corpus(), trainers.WordLevelTrainer(
        vocab_size=200, special_tokens=["[UNK]"], show_progress=False))
    return t


def spelled():
    """Bytes become characters before the text is split."""
    t = byte_level(pre_tokenizers.Split(Regex("Ġ?[^Ġ]+"), "isolated"))
    t.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.ByteLevel()])
    t.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Replace(Regex("[0-9]"), "#")])
    return t


def newer():
    """Characters whose normal forms or scripts are newer than the library's tables."""
    marks = [chr(c) for c in range(0x20000) if unicodedata.combining(chr(c)) > 0]
    pairs = [(c, f"a{c}\u0334" if unicodedata.combining(c) > 1 else f"a\u0315{c}") for c in marks]
    form, compatible = normalizers.NFD(), normalizers.NFKD()
    letters = [chr(c) for c in range(0x20000) if not 0xd800 <= c < 0xe000]
    scripts = pre_tokenizers.UnicodeScripts()
    return ({c for c in letters if c != " " and unicodedata.category(c) != "Cn" and
             all(len(scripts.pre_tokenize_str(a + c)) == 1 for a in "a我")} |
            {c for c, text in pairs
             if form.normalize_str(text) != unicodedata.normalize("NFD", text)} |
            {c for c in letters
             if compatible.normalize_str(c) != unicodedata.normalize("NFKD", c)})


def texts(draw, is_old):
    """`is_old`: characters whose class has not changed since that library's tables were made."""
    unknown = newer()
    plain = corpus() + lines("src/text/scan.c", "tests/text/hugging_face.py", "CMakeLists.txt")
    pieces = SPECIAL + ["<think>", " <r>  ", "  <l> ", "one", "'s", "'LL", "'re", "\n\n", " \n ",
                        "\t",
                        "12345", "1", "  ", "   ", "é", "é", "한국어", "我", "½", "🚀", "ﬁ", "​",
                        "…", "[CLS]", "iPhone", "HTTPServer's", "a/b//\n", "ǅ",
                        "ʰ", "́", "A'Ve", "। ",
                        "İ", "Å", "ᾳ", "��", "ß", " ", "▁", " ▁ "]
    for _ in range(STRINGS):
        kind = draw.random()
        if kind < 0.3:
            yield draw.choice(plain)
        elif kind < 0.7:
            yield "".join(draw.choice(pieces + draw.choice(plain).split(" "))
                          for _ in range(draw.randint(1, 9)))
        else:
            ranges = [(1, 0x7f), (0xa0, 0x2ff), (0x300, 0x530), (0x4e00, 0x9fff), (0xac00, 0xd7a3)]
            ranges += [] if is_old else [(0x531, 0x4dff), (0xa000, 0xabff), (0xe000, 0x1ffff)]
            drawn = [chr(draw.randint(*draw.choice(ranges))) for _ in range(draw.randint(1, 24))]
            yield "".join(c for c in drawn if unicodedata.category(c) != "Cn" and c not in unknown)


def encode(tokens, text, flags):
    data = text.encode()
    array = (ctypes.c_int32 * 4096)()
    ids = Room(ctypes.addressof(array), 4096, 0)
    if takt.takt_tokenize(tokens, data, ctypes.c_size_t(len(data)), flags, ctypes.byref(ids)):
        raise SystemExit(takt.takt_last_error(ctx))
    return list(array[:ids.count])


def decode(tokens, ids):
    text = ctypes.create_string_buffer(1 << 16)
    room = Room(ctypes.addressof(text), 1 << 16, 0)
    array = (ctypes.c_int32 * len(ids))(*ids)
    takt.takt_detokenize(tokens, array, ctypes.c_size_t(len(ids)), 0, ctypes.byref(room))
    return text.raw[:room.count].decode(errors="replace")


# Their words depend on classes that have changed in newer versions of Unicode.
CLASSED = (bert, clip, gpt1, prefixed, pieces, words, nmt)


def check(make):
    theirs = make()
    path = os.path.join(TMP, make.__name__ + ".json")
    theirs.save(path)
    ours, wrong, decoded = ctypes.c_void_p(), 0, 0
    if takt.takt_tokenizer_load(ctx, path.encode(), ctypes.byref(ours)):
        raise SystemExit(f"{make.__name__}: {takt.takt_last_error(ctx).decode()}")
    for text in texts(random.Random(SEED), make in CLASSED):
        want = theirs.encode(text).ids
        got = encode(ours, text, 3)
        if want != got:
            wrong += 1
            if wrong < 4:
                print(f"{make.__name__}: {text!r}: {got}, not {want}")
        elif decode(ours, got) != theirs.decode(want):
            decoded += 1
            if decoded < 4:
                print(f"{make.__name__}: {decode(ours, got)!r}, not {theirs.decode(want)!r}")
    takt.takt_tokenizer_destroy(ours)
    print(f"{make.__name__}: {wrong} of {STRINGS} differ, {decoded} decoded otherwise")
    return wrong + decoded


if __name__ == "__main__":
    sys.exit(sum(check(make) for make in (gpt2, repeated, roberta, llama3, qwen2, qwen35, o200k,
                                          tekken, bloom, smollm, bert, llama2,
                                          mistral, gemma, unigram, t5, spaced, scripts,
                                          clip, gpt1, prefixed, pieces, words, nmt, speech,
                                          spelled)) > 0)
