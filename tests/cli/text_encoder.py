"""text_encoder.py - a model that reads its prompt with an encoder, by the verbs of text."""
import os

from _cli import TMP, expect, fails, finish, parsed, succeeds, takt

T5 = "tests/corpus/gguf/tiny_t5.gguf"


def main():
    first = parsed("generate", T5, "-p", "c c a a a b", "-n", "12", "-s", "3", "--json")
    for more in (["-t", "1"], ["-t", "4", "-b", "1"], ["--isa", "scalar"], ["-c", "20"]):
        again = parsed("generate", T5, "-p", "c c a a a b", "-n", "12", "-s", "3", "--json", *more)
        expect(again["text"] == first["text"], f"another answer with {more}")
    shown = succeeds("generate", T5, "a b c", "-n", "3", "--temp", "0", "-q")
    expect(shown.strip() == "c c c", f"{shown!r} has the prompt")
    fails(1, "perplexity", T5, "-p", "a b", says=["answers prompts"])
    fails(1, "generate", T5, "a", "--lookup", says=["forget"])
    kept = ["generate", T5, "a", "--prompt-cache", os.path.join(TMP, "never.kv"), "--temp", "0"]
    fails(1, *kept, says=["encoder"])
    expect(takt(*kept).stdout == "", "it answers before it refuses")
    vector = parsed("embed", T5, "a b", "--json")["embedding"]
    expect(len(vector) == 32 and abs(sum(v * v for v in vector) - 1) < 1e-5, "not of length 1")
    path = os.path.join(TMP, "t5_q8.gguf")
    succeeds("convert", T5, "-o", path, "--outtype", "q8_0")
    expect(parsed("generate", path, "-p", "a b", "-n", "2", "--temp", "0", "--json"), "no answer")


main()
finish()
