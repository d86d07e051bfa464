"""text_compiled.py - language models as compiled files: every verb of text takes them, with the
result of the model that they were made of, and refuses settings other than theirs."""
import os

from _cli import TMP, expect, fails, finish, parsed, succeeds
from _serve import Server

TINY, BERT, T5 = (f"tests/corpus/gguf/tiny{kind}.gguf" for kind in ("", "_bert", "_t5"))
FOLDER = "tests/corpus/hf_tiny"


def compiled(model, name, *flags, verb="convert"):
    path = os.path.join(TMP, name)
    succeeds(verb, model, "-o", path, "-c", "64", *flags)
    return path


def same(ask, model, path, *settings):
    """The verb's answer for both models, without times."""
    got = [parsed(*ask[:1], model, *ask[1:], *settings, "--json"), parsed(*ask[:1], path, *ask[1:],
                                                                          "--json")]
    for told in got:
        for key in [key for key in told if key.endswith("_s") or key.endswith("share")]:
            del told[key]
    expect(got[0] == got[1], f"{path}: {ask}: {got}")
    return got[1]


def texts():
    for model, ask in ((TINY, "a b"), (FOLDER, "hello"), (T5, "a b c")):
        for kind in ("int8", "f32"):
            path = compiled(model, "text.taktp", "--activations", kind)
            settings = ("-c", "64", "--activations", kind)
            same(("generate", "-p", ask, "-n", "12", "-s", "3"), model, path, *settings)
            if model != T5:
                same(("perplexity", "-p", f"{ask} {ask} {ask}"), model, path, *settings)
        ids = [succeeds("tokenize", m, ask, "--ids") for m in (model, path)]
        expect(ids[0] == ids[1], f"{ids}")
    path = compiled(TINY, "text.taktp", "--activations", "int8", verb="compile")
    same(("generate", "-p", "a b", "--chat-template", "vicuna", "-n", "8", "-s", "3"), TINY, path,
         "-c", "64")
    halves = compiled(TINY, "half.taktp", "-ctk", "f16", "-ctv", "f16")
    same(("generate", "-p", "a b", "-n", "12", "-s", "3"), TINY, halves, "-c", "64", "-ctk", "f16",
         "-ctv", "f16", "--activations", "f32")
    again = os.path.join(TMP, "again.taktp")
    succeeds("convert", path, "-o", again)
    same(("generate", "-p", "a b", "-n", "12", "-s", "3"), path, again)
    prompts = os.path.join(TMP, "prompts.txt")
    with open(prompts, "w", encoding="utf-8") as file:
        file.write("a b\nb a c\n")
    both = [parsed("generate", m, "-f", prompts, "-np", "2", "-n", "8", "-s", "3", "--json", *more)
            for m, more in ((TINY, ("-c", "64")), (path, ()))]
    expect(both[0] == both[1], f"{both}")
    sizes = [parsed("plan", m, "--parallel", "2", "--json", *more)
             for m, more in ((TINY, ("-c", "64")), (path, ()))]
    expect(sizes[0] == sizes[1], f"{sizes}")
    return path


def vectors():
    path = os.path.join(TMP, "bert.taktp")
    succeeds("convert", BERT, "-o", path)
    same(("embed", "-p", "a b"), BERT, path)
    with Server(path) as server:
        status, told = server.post("/v1/embeddings", {"input": "a b"})
        expect(status == 200 and told["model"] == "bert", f"{told}")


def served(path):
    want = parsed("generate", path, "-p", "a b", "-n", "8", "-s", "3", "--json")["text"]
    with Server(path, "--parallel", "2") as server:
        got = server.post("/v1/completions", {"prompt": "a b", "max_tokens": 8, "seed": 3})[1]
        expect(got["choices"][0]["text"] == want and got["model"] == "text", f"{got}, not {want}")


def damaged(path, name):
    """The file with another byte at the end of its weights."""
    to = os.path.join(TMP, name)
    with open(path, "rb") as file:
        data = bytearray(file.read())
    data[-1] ^= 1
    with open(to, "wb") as file:
        file.write(data)
    return to


def drafts():
    """A draft of another vocabulary is refused before checksums of weights are verified."""
    model, other = (damaged(compiled(m, "sound.taktp"), f"{name}.taktp")
                    for m, name in ((TINY, "model"), (FOLDER, "other")))
    fails(1, "generate", model, "-p", "a", says=["checksum"])
    for words in (["generate", TINY, "-p", "a", "-md", other],
                  ["generate", model, "-p", "a", "-md", other],
                  ["serve", model, "--port", "0", "-md", other]):
        fails(1, *words, says=["3765", "draft", "family"])
    fails(1, "generate", T5, "-p", "a " * 99, "-c", "8", "--lookup", says=["3765", "forget"])


def refused(path):
    for words, said in ((["-c", "32"], "context is another"), (["-ctk", "f16"], "another type"),
                        (["--activations", "f32"], "are rounded")):
        fails(2, "generate", path, "-p", "a", "-n", "1", *words, says=[said, "compile"])
    halves = os.path.join(TMP, "half.taktp")
    fails(2, "generate", halves, "-p", "a", "-n", "1", "-ctv", "f32", says=["another type"])
    bare = os.path.join(TMP, "bare.taktp")
    succeeds("convert", "examples/mlp.takt", "-o", bare)
    fails(1, "generate", bare, "-p", "a", says=["no tokenizer in it", "compile it again"])
    fails(2, "convert", TINY, "-o", os.path.join(TMP, "x.gguf"), "-c", "8", says=["ctx-size"])
    fails(2, "convert", TINY, "-o", os.path.join(TMP, "x") + "/", "--activations", "int8",
          says=["activations"])
    for verb, words in (("convert", ("-c", "32")), ("convert", ("--activations", "f32")),
                        ("compile", ("-ctk", "f16"))):
        fails(2, verb, path, "-o", os.path.join(TMP, "x.taktp"), *words,
              says=["is compiled", "again with it"])
    with open(path, "rb") as file:
        bytes_ = bytearray(file.read())
    bytes_[bytes_.index(b"GGUF") + 40] ^= 1
    with open(bare, "wb") as file:
        file.write(bytes_)
    fails(1, "tokenize", bare, "a", says=["checksum of section tokn"])


made = texts()
drafts()
vectors()
served(made)
refused(made)
finish()
