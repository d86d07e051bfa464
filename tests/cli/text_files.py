"""text_files.py - language models from one form into another: files in parts."""
import os
import re

from _cli import ROOT, TMP, expect, fails, finish, succeeds

TINY = "tests/corpus/gguf/tiny.gguf"


def shards():
    """A file in parts: the same text, and back to the same bytes; mapped, too."""
    whole, back = os.path.join(TMP, "parts.gguf"), os.path.join(TMP, "back.gguf")
    told = succeeds("convert", TINY, "-o", whole, "--shard-size", "6K")
    first = told.split(":")[0]
    expect(re.search(r"parts-00001-of-0000[2-9]\.gguf$", first), f"{told} is no first part")
    texts = [succeeds("generate", m, "a b", "-n", "8", "--temp", "0", "-q") for m in (TINY, first)]
    expect(texts[0] == texts[1], f"{texts}")
    succeeds("convert", first, "-o", back)
    with open(os.path.join(ROOT, TINY), "rb") as a, open(back, "rb") as b:
        expect(a.read() == b.read(), "joined parts are another file")
    second = first.replace("-00001-", "-00002-")
    fails(1, "generate", second, "a", says=["tokenizer", "first part"])
    fails(1, "plan", second, says=["not the first part", "-00001-of-"])
    os.rename(second, back)
    fails(1, "generate", first, "a", says=["-00002-of-", "all of them in one folder"])


shards()
finish()
