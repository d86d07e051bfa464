"""patterns.py - patterns that split texts into words: the same words as Hugging Face's library, for
all patterns that GGUF files name, for other pre_tokenizers, and for difficult patterns; and the
same ids as tiktoken (alone: patterns.py tiktoken). Needs the packages tokenizers and tiktoken in
build/venv."""
import base64
import ctypes
import os
import random
import re
import sys

from _library import ROOT, TMP, ctx, in_venv, takt

try:
    import tiktoken
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
except ImportError:
    in_venv("tokenizers, tiktoken")

from hugging_face import SEED, encode, texts  # pylint: disable=wrong-import-position

STRINGS = int(os.environ.get("TAKT_STRINGS", "200"))
CL100K = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
          r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s")
OTHERS = {
    "lazy": [r"[a-z]+?\b|\d{2,}?"], "behind": [r"(?<=[a-z])[A-Z]|(?<!\d)\d"],
    "nested": [r"(?:a|b(?:c|d)*|\s(?=[A-Z]))+"], "sets": [r"[^\w\s&&[^_]]+|[[a-f][0-9]]{1,4}"],
    "lines": [r"^.|.$", r"\A\s|\s\z"], "words": [r"\w+", r"\W"], "empty": [r"(?=[A-Z])|x*"],
    "case": [r"(?i)st|k[a-e]"], "groups": [r"(?i:s)++|(?<=(?i:k))\w", r"(?i:[^e])?+e"],
    "ruby": [r"\p{N}{1,3}+", r"[^\p{^L}]+"],
    "hard": [r"(?:\w+\s?)+!"], "letters": [r"\p{Lu}\p{Ll}*|\P{L}+|\p{Han}"],
}


def named():
    """The patterns of src/text/pre_known.c, by name."""
    with open(os.path.join(ROOT, "src/text/pre_known.c"), encoding="utf-8") as file:
        source = file.read().replace("\\\n", " ")
    macros = dict(re.findall(r"^#define (\w+) (.*)$", source, re.MULTILINE))
    rows = r'\.name = "([^"]+)",\s*\.patterns =\s*\{(.*?)\}[,}]\s*(?=[.{}]|$)'
    for name, body in re.findall(rows, source, re.DOTALL):
        for macro, text in macros.items():
            body = re.sub(rf'(?<=[\s,{{"]){macro}(?=[\s,}}"]|$)|^{macro}\b',
                          lambda m, t=text: f" {t} ", body)
        patterns = [""]
        for literal, comma in re.findall(r'"((?:[^"\\]|\\.)*)"|(,)', body):
            if comma:
                patterns.append("")
            else:
                patterns[-1] += re.sub(
                    r"\\(U[0-9A-F]{8}|u[0-9A-F]{4}|.)",
                    lambda m: chr(int(m[1][1:], 16)) if len(m[1]) > 1 else
                    {"n": "\n", "r": "\r", "t": "\t"}.get(m[1], m[1]), literal)
        yield name, patterns


def loaded(name, text):
    path, ours = os.path.join(TMP, name), ctypes.c_void_p()
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    if takt.takt_tokenizer_load(ctx, path.encode(), ctypes.byref(ours)):
        raise SystemExit(f"{name}: {takt.takt_last_error(ctx).decode()}")
    return ours


def check(name, pre):
    """With a vocabulary of all words the ids show where a text was split."""
    strings = list(texts(random.Random(11), True))[:STRINGS]
    words = {word for text in strings for word, _ in pre.pre_tokenize_str(text)}
    theirs = Tokenizer(models.WordLevel({w: i for i, w in enumerate(["?", *sorted(words)])}, "?"))
    theirs.pre_tokenizer = pre
    ours = loaded(f"cut_{name}.json", theirs.to_str())
    wrong = 0
    for text in strings:
        got, want = encode(ours, text, 3), theirs.encode(text).ids
        if got != want:
            wrong += 1
            if wrong < 3:
                print(f"{name}: {text!r}: {[theirs.id_to_token(i) for i in got]}, "
                      f"not {[theirs.id_to_token(i) for i in want]}")
    takt.takt_tokenizer_destroy(ours)
    print(f"{name}: {wrong} of {len(strings)} differ")
    return wrong


def split(patterns, how="isolated", invert=False):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(p), how, invert) for p in patterns])


def ways():
    yield from ((name, split(patterns)) for name, patterns in named())
    yield from ((name, split(patterns)) for name, patterns in OTHERS.items())
    for how in ("removed", "merged_with_previous", "merged_with_next", "contiguous"):
        yield how, split([r"[-. ]|\d"], how)
        yield how + "_inverted", split([r"[-. ]|\d"], how, True)
    yield "literal", pre_tokenizers.Split("a.", "isolated")
    yield "whitespace_words", pre_tokenizers.Whitespace()
    yield "whitespace_split", pre_tokenizers.WhitespaceSplit()
    yield "punctuation", pre_tokenizers.Punctuation()
    yield "digits", pre_tokenizers.Digits()
    yield "bert_words", pre_tokenizers.BertPreTokenizer()
    yield "scripts", pre_tokenizers.UnicodeScripts()
    yield "scripts_words", pre_tokenizers.Sequence([pre_tokenizers.UnicodeScripts(),
                                                    pre_tokenizers.WhitespaceSplit()])
    yield "two", pre_tokenizers.Sequence([pre_tokenizers.Punctuation("contiguous"),
                                          pre_tokenizers.Digits(individual_digits=True)])


def ranks():
    """tiktoken: ranks of pairs that are frequent in some text."""
    draw, known = random.Random(3), [bytes([i]) for i in range(256)]
    plain = [text.encode() for text in texts(random.Random(5), True)][:200]
    for _ in range(3000):
        text = draw.choice(plain)
        begin = draw.randrange(max(1, len(text) - 1))
        known.append(text[begin:begin + draw.randint(2, 5)])
    table = {token: i for i, token in enumerate(dict.fromkeys(t for t in known if t))}
    theirs = tiktoken.Encoding("own", pat_str=CL100K, mergeable_ranks=table, special_tokens={})
    ours = loaded("own.tiktoken", "".join(f"{base64.b64encode(token).decode()} {rank}\n"
                                          for token, rank in table.items()))
    strings = list(texts(random.Random(SEED + 6), False))[:STRINGS]
    wrong = [t for t in strings if encode(ours, t, 0) != theirs.encode(t, disallowed_special=())]
    for text in wrong[:3]:
        print(f"tiktoken: {text!r}: {encode(ours, text, 0)}, not {theirs.encode(text)}")
    takt.takt_tokenizer_destroy(ours)
    print(f"tiktoken: {len(wrong)} of {len(strings)} differ")
    return len(wrong)


if __name__ == "__main__":
    if sys.argv[1:] == ["tiktoken"]:
        sys.exit(ranks() > 0)
    count = len(list(named()))
    print(f"{count} named ways to cut")
    sys.exit(sum(check(*way) for way in ways()) + ranks() > 0 or count < 20)
