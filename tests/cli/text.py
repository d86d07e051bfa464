"""text.py - the verbs of text: the commands of docs/text.md, a trained model's text, mistakes."""
import json
import os
import re
import shlex
import shutil
import struct
import sys

from _cli import ROOT, TMP, expect, fails, finish, parsed, succeeds, takt

sys.path.insert(0, os.path.join(ROOT, "tests/text"))
import _tiny  # noqa: E402

TINY = "tests/corpus/gguf/tiny.gguf"
FOLDER = "tests/corpus/hf_tiny"
BERT = "tests/corpus/gguf/tiny_bert.gguf"
DATA = os.environ.get("TAKT_DATA", os.path.join(ROOT, "../shared/data"))
STORIES = os.path.join(DATA, "llm/stories260K")


def document():
    with open(os.path.join(ROOT, "docs/text.md"), encoding="utf-8") as file:
        blocks = re.findall(r"^```sh\n(.*?)^```", file.read(), re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines()]
    expect(len(lines) >= 9, "docs/text.md has lost its commands")
    for line in lines:
        words = shlex.split(line.replace("/tmp/", TMP + "/"))
        expect(succeeds(*words[1:]), f"{line} prints nothing")


def small():
    first = parsed("generate", TINY, "-p", "a b", "-n", "12", "-s", "3", "--json")
    small, large = (parsed("plan", TINY, "-c", str(n), "--json") for n in (16, 64))
    expect(small != large, "-c does not change the plan")
    fails(2, "generate", TINY, "a", "--activations", "f64", says=["f32 or int8"])
    fails(2, "plan", TINY, "--activations", "int4", says=["f32 or int8, not int4"])
    caches()
    for more in (["-t", "1"], ["-t", "4", "-b", "1"], ["--isa", "scalar"], ["-c", "20"]):
        again = parsed("generate", TINY, "-p", "a b", "-n", "12", "-s", "3", "--json", *more)
        expect(again["text"] == first["text"], f"another text with {more}")
    expect(first["tokens"] <= 12 and first["end"] in ("length", "eos"), f"{first}")
    shown = succeeds("generate", TINY, "a b", "-n", "2", "--temp", "0", "-q")
    hidden = succeeds("generate", TINY, "a b", "-n", "2", "--temp", "0", "-q",
                      "--no-display-prompt")
    expect(shown == "a b" + hidden, f"{shown!r} and {hidden!r}")
    plain, off, on = (succeeds("generate", TINY, "a b a b", "-n", "8", "--temp", "0", "-q", *more)
                      for more in ([], ["--repeat-penalty", "9", "--repeat-last-n", "0"],
                                   ["--repeat-penalty", "9"]))
    expect(off == plain != on, f"{off!r} looks at tokens, or {on!r} does not")
    rated = parsed("perplexity", TINY, "-p", "a b a b", "-c", "16", "--json")
    expect(rated["tokens"] == 4 and 1 < rated["perplexity"] < 1e4, f"{rated}")
    vector = parsed("embed", BERT, "a b", "--json")["embedding"]
    expect(len(vector) == 32 and abs(sum(v * v for v in vector) - 1) < 1e-5, "not of length 1")
    expect("logits: f32[count, 11]" in succeeds("inspect", TINY), "inspect has no logits")
    expect("decoder_0" in succeeds("summary", TINY), "summary has no blocks")
    expect(parsed("plan", TINY, "-D", "seq=1..64", "--json"), "no plan")


def caches():
    """Keys and values in 16 bits: half the state, and one text for any threads and parts."""
    def state(*more):
        return parsed("plan", TINY, "-c", "64", "--json", *more)["memory"]["state"]
    for kind in ("f16", "bf16"):
        flags = ["--cache-type-k", kind, "--cache-type-v", kind]
        one = state("--cache-type-k", kind)
        expect(state() > one > state(*flags), f"{kind}: {state()}, {one}, {state(*flags)}")
        texts = {parsed("generate", TINY, "-p", "a b a b", "-n", "24", "--temp", "0", "--json",
                        *flags, *more)["text"]
                 for more in ([], ["-t", "1", "-b", "1"], ["-t", "4", "-b", "3"],
                              ["--isa", "scalar"])}
        expect(len(texts) == 1, f"{kind}: {texts}")
    expect(state("-ctk", "f16", "-ctv=f16") == state("--cache-type-k", "f16", "--cache-type-v",
                                                     "f16"), "-ctk and -ctv are others")
    fails(2, "generate", TINY, "a", "--cache-type-k", "q9", says=["f32, f16, bf16 or q8_0"])
    fails(2, "plan", TINY, "--cache-type-v", "q9", says=["f32, f16, bf16 or q8_0"])
    blocks()


def blocks():
    """Keys and values in blocks of 8 bits: 34 bytes of 128, one text however it is read."""
    path = os.path.join(TMP, "heads_of_32.gguf")
    with open(path, "wb") as file:
        file.write(_tiny.wide())

    def state(*more):
        return parsed("plan", path, "-c", "64", "--json", *more)["memory"]["state"]
    plain, one, both = state(), state("-ctk", "q8_0"), state("-ctk", "q8_0", "-ctv", "q8_0")
    expect(plain - one == one - both == 64 * (128 - 34), f"{plain}, {one}, {both}")
    flags = ["-ctk", "q8_0", "-ctv", "q8_0", "-n", "40", "-s", "5", "--json"]
    texts = [parsed("generate", path, "-p", "a b a b c a b", *flags, *more)["text"]
             for more in ([], ["-t", "1", "-b", "1"], ["-t", "4", "-b", "3"], ["--isa", "scalar"],
                          ["--lookup"])]
    expect(len(set(texts)) == 1, f"{texts}")
    exact, rounded = (parsed("perplexity", path, "-p", "a b a b c a b a c", "-c", "16", "--json",
                             *more)["perplexity"] for more in ([], flags[:4]))
    expect(exact != rounded and abs(exact - rounded) < 0.02 * exact, f"{exact}, {rounded}")
    fails(2, "plan", TINY, "-ctk", "q8_0", says=["multiple of 32"])


def folder():
    """A folder of Hugging Face, for every verb that takes a GGUF file."""
    text = parsed("generate", FOLDER, "-p", "hello", "-n", "8", "--temp", "0", "--json")
    expect(text["prompt_tokens"] == 2 and text["tokens"] <= 8, f"{text}")
    again = parsed("generate", FOLDER, "-p", "hello", "-n", "8", "--temp", "0", "--json", "-t", "2",
                   "-b", "1")
    expect(again["text"] == text["text"], "another text with other threads")
    said, bare = (succeeds("generate", FOLDER, "hell", "-n", "3", "--temp", "0", "-q", *more)
                  for more in (["--chat"], []))
    expect(said and bare, "no text")
    expect("47" in succeeds("tokenize", FOLDER, "hello", "--ids"), "hello is not token 47")
    rated = parsed("perplexity", FOLDER, "-p", "hello world the", "-c", "16", "--json")
    expect(1 < rated["perplexity"] < 1e4, f"{rated}")
    expect("logits: f32[count, 56]" in succeeds("inspect", FOLDER), "inspect has no logits")
    expect(parsed("plan", FOLDER, "-c", "32", "-D", "seq=1..16", "--json"), "no plan")
    fails(1, "generate", "tests/corpus", "a", says=["tests/corpus"])
    place, plain = os.path.join(TMP, "types"), rated["perplexity"]
    for more, same in (({"sliding_window": 2}, False),
                       ({"sliding_window": 2, "layer_types": ["sliding_attention"]}, False),
                       ({"sliding_window": 2, "layer_types": ["full_attention"]}, True)):
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(os.path.join(ROOT, FOLDER), place)
        with open(os.path.join(place, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        with open(os.path.join(place, "config.json"), "w", encoding="utf-8") as file:
            json.dump({**config, **more}, file)
        rated = parsed("perplexity", place, "-p", "hello world the", "-c", "16", "--json")
        expect((rated["perplexity"] == plain) == same, f"{more}: {rated}, without it {plain}")


def conversion():
    """From a folder to GGUF, and from there to other types."""
    want = succeeds("generate", FOLDER, "hello the", "-n", "12", "--temp", "0", "-q")
    first, again = (os.path.join(TMP, name) for name in ("a.gguf", "b.gguf"))
    succeeds("convert", FOLDER, "-o", first)
    succeeds("convert", first, "-o", again)
    with open(first, "rb") as one, open(again, "rb") as two:
        expect(one.read() == two.read(), "GGUF to GGUF is not the same file")
    got = succeeds("generate", first, "hello the", "-n", "12", "--temp", "0", "-q")
    expect(got == want, f"{got!r}, not {want!r}")
    said = succeeds("generate", first, "hell", "--chat", "-n", "3", "--temp", "0", "-q")
    expect(said == succeeds("generate", FOLDER, "hell", "--chat", "-n", "3", "--temp", "0", "-q"),
           "the chat template is lost")
    for source, name in (("unigram.json", "tokenizer.json"), ("unigram.model", "tokenizer.model"),
                         ("bpe.model", "tokenizer.model")):
        place = os.path.join(TMP, "words_" + source)
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(os.path.join(ROOT, FOLDER), place)
        os.remove(os.path.join(place, "tokenizer.json"))
        shutil.copy(os.path.join(ROOT, "tests/corpus/tokenizer", source),
                    os.path.join(place, name))
        if source == "bpe.model":
            fails(1, "convert", place, "-o", again, says=["cannot say", "SentencePiece"])
            continue
        succeeds("convert", place, "-o", again)
        one, two = (succeeds("tokenize", path, "ab  cA xy", "--ids") for path in (place, again))
        expect(one == two and one.strip(), f"{source}: {one!r} becomes {two!r}")
    without_tokenizer(again)
    exact = parsed("perplexity", TINY, "-p", "a b a b c", "-c", "16", "--json")["perplexity"]
    for kind in ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0"):
        path = os.path.join(TMP, kind + ".gguf")
        succeeds("convert", TINY, "-o", path, "--outtype", kind)
        rated = parsed("perplexity", path, "-p", "a b a b c", "-c", "16", "--activations", "f32",
                       "--json")
        expect(abs(rated["perplexity"] / exact - 1) < (0.5 if kind[0] == "q" else 0.02),
               f"{kind}: {rated} is far from {exact}")
    file_types()
    fails(2, "convert", TINY, "-o", first, "--outtype", "q9", says=["q9", "q8_0"])
    fails(1, "convert", "examples/mlp.takt", "-o", first, says=["neither"])
    fails(2, "convert", TINY, "-o", os.path.join(TMP, "x.npz"), "--outtype", "f16",
          says=[".gguf"])


def file_types():
    """general.file_type names the type of most of the file, not the requested one."""
    for outtype, want in (("q8_0", 7), ("q4_0", 2), ("q4_k", 8), ("f16", 1)):
        path = os.path.join(TMP, "type.gguf")
        takt("convert", TINY, "-o", path, "--outtype", outtype)
        with open(path, "rb") as file:
            data = file.read()
        at = data.index(b"general.file_type") + len("general.file_type")
        kind, number = struct.unpack_from("<II", data, at)
        expect((kind, number) == (4, want), f"{outtype}: file_type {number}, not {want}")


def without_tokenizer(to):
    """No value is printed; an unreadable one is a failure."""
    place = os.path.join(TMP, "wordless")
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(os.path.join(ROOT, FOLDER), place)
    os.remove(os.path.join(place, "tokenizer.json"))
    run = takt("convert", place, "-o", to)
    expect(run.returncode == 0 and "no tokenizer in " + place in run.stderr, f"{run}")
    os.mkdir(os.path.join(place, "tokenizer.json"))
    fails(1, "convert", place, "-o", to, says=["tokenizer.json"])


def chat():
    one = succeeds("generate", TINY, "a b", "--chat", "--chat-template", "vicuna", "-n", "4",
                   "--temp", "0", "-q")
    two = succeeds("generate", TINY, "USER: a b\nASSISTANT:", "-n", "4", "--temp", "0", "-q",
                   "--no-display-prompt")
    expect(one == two, f"{one!r} is not {two!r}")
    path = os.path.join(TMP, "own.jinja")
    with open(path, "w", encoding="utf-8") as file:
        file.write("{% for m in messages %}{{ m.content }} {% endfor %}")
    lines = succeeds("generate", TINY, "--interactive", "--chat-template", path, "-n", "3",
                     "--temp", "0", "-q", input="a\nb\n")
    expect(lines.count("> ") == 3, f"{lines!r}")
    again = succeeds("generate", TINY, "--interactive", "--chat-template", path, "-n", "3",
                     "--temp", "0", "-q", "--system-prompt", "b", input="a\nb\n")
    expect(again.count("> ") == 3, f"{again!r}")
    fails(1, "generate", TINY, "a", "--chat", says=["without a chat template", "--chat-template"])
    fails(2, "generate", TINY, "--chat", says=["text is missing"])
    fails(2, "generate", TINY, "a", "--chat-template", "nothing", says=["nothing", "chatml"])
    with open(path, "w", encoding="utf-8") as file:
        file.write("{% for m in messages %}{{ raise_exception('roles') }}{% endfor %}")
    fails(1, "generate", TINY, "a", "--chat-template", path, says=["3763", "roles"])


def speculation():
    """Guesses and caches of prompts: the same text."""
    for more in (["--temp", "0"], ["-s", "5"], ["-s", "6", "--temp", "1.5", "--top-k", "0"]):
        ask = ["generate", TINY, "-p", "a b a b a", "-n", "20", "--json", *more]
        want = parsed(*ask)
        expect(want["drafted"] == want["accepted"] == want["cached_tokens"] == 0, f"{want}")
        for guess in (["-md", TINY, "--draft", "4", "--draft-p-min", "0"], ["--lookup"],
                      ["--model-draft", TINY, "--lookup"]):
            got = parsed(*ask, *guess)
            expect(got["text"] == want["text"], f"{guess}: {got}, not {want}")
            if "--draft" in guess:
                expect(0 < got["accepted"] == got["drafted"], f"a model that guesses itself: {got}")
    said = takt("generate", TINY, "a b a", "-n", "12", "--temp", "0", "-md", TINY,
                "--draft-p-min", "0").stderr
    expect(re.search(r"guesses: (\d+) of \1 accepted", said), said)
    fails(1, "generate", TINY, "a", "-md", FOLDER, says=["3765"])
    fails(1, "generate", TINY, "a", "-md", "nowhere.gguf", says=["nowhere.gguf"])
    fails(2, "generate", TINY, "a", "--lookup", "--draft-p-min", "x", says=["--draft-p-min"])
    for flag in (["--draft", "4"], ["--draft-p-min", "0.5"]):
        fails(2, "generate", TINY, "a", *flag, says=["1003", flag[0] + " does nothing", "-md"])


def without(name):
    """A path without a file left over from an earlier run."""
    path = os.path.join(TMP, name)
    if os.path.exists(path):
        os.remove(path)
    return path


def prompt_cache():
    path = without("prompt.kv")
    ask = ["generate", TINY, "-n", "6", "-s", "2", "--json", "--prompt-cache", path]
    want = parsed(*ask[:-2], "-p", "a b a b a")
    for cached, more in ((0, []), (want["prompt_tokens"] - 1, []),
                         (want["prompt_tokens"] - 1, ["--prompt-cache-all"]),
                         (want["prompt_tokens"] - 1, ["--prompt-cache-ro"])):
        got = parsed(*ask, "-p", "a b a b a", *more)
        expect(got["text"] == want["text"] and got["cached_tokens"] == cached, f"{more}: {got}")
    got = parsed(*ask, "-p", "a b a b a" + want["text"] + " b", "--prompt-cache-ro")
    expect(got["cached_tokens"] >= want["prompt_tokens"], f"{got}")
    said = takt(*ask[:-3], "--prompt-cache", path, "-p", "a b a").stderr
    expect("of the prompt were cached" in said, said)
    fails(1, *ask, "-p", "a", "-c", "20", says=["3767", "another model"])
    fails(1, *ask, "-p", "a", "-ctk", "f16", says=["3767", "type of cache"])
    for flag in ("--prompt-cache-ro", "--prompt-cache-all"):
        fails(2, "generate", TINY, "a", flag, says=["1003", flag + " does nothing"])
    conversation()
    with open(path, "rb") as file:
        data = file.read()
    with open(path, "wb") as file:
        file.write(data[:-9] + b"x" + data[-8:])
    fails(1, *ask, "-p", "a", says=["3766", "checksum"])


def conversation():
    """The cache of a conversation is written at its end: all but the last answer, or all."""
    path = without("talk.kv")
    template = os.path.join(TMP, "talk.jinja")
    with open(template, "w", encoding="utf-8") as file:
        file.write("{% for m in messages %}{{ m.content }} {% endfor %}")
    ask = ["generate", TINY, "--chat-template", template, "-n", "3", "--temp", "0", "--json"]
    typed = [*ask, "--interactive", "--prompt-cache", path]

    def talk(words, *more):
        return [json.loads(line) for line in succeeds(*typed, *more, input=words).splitlines()]
    talk("", "-q")
    expect(not os.path.exists(path), "a conversation without words wrote a cache")
    want = talk("a b a\nb a\n")
    got = talk("a b a\nb a\n", "--prompt-cache-ro")
    expect([r["text"] for r in got] == [r["text"] for r in want], f"{got}, not {want}")
    expect(want[0]["cached_tokens"] == 0 and
           got[0]["cached_tokens"] == want[0]["prompt_tokens"] - 1, f"{got}")
    sizes = []
    for words, more in (("a b a\n", []), ("a b a\nb a\n", []),
                        ("a b a\nb a\n", ["--prompt-cache-all"])):
        talk(words, *more)
        sizes.append(os.path.getsize(path))
    expect(sizes[0] < sizes[1] < sizes[2], f"not all of the conversation is there: {sizes}")
    once = without("once.kv")
    parsed(*ask, "-p", "a b a", "--prompt-cache", once)
    expect(os.path.getsize(once) == sizes[0], f"{sizes} where one question is the first")


def grammar():
    path = os.path.join(TMP, "g.gbnf")
    with open(path, "w", encoding="utf-8") as file:
        file.write('root ::= ("a b" | "ba") " a"{2}')
    for seed in "123":
        text = parsed("generate", TINY, "b", "--grammar", path, "-n", "40", "--temp", "3", "-s",
                      seed, "--json")
        expect(text["text"] in ("a b a a", "ba a a") and text["end"] == "eos", f"{text}")
    text = parsed("generate", TINY, "b", "--grammar", 'root ::= "a b"', "--temp", "3", "--json")
    expect(text["text"] == "a b", f"a grammar on the command line: {text}")
    fails(1, "generate", TINY, "b", "--json-schema", ' {"not": {}}', says=["3772", "not"])
    fails(2, "generate", TINY, "b", "--grammar", "no.gbnf", says=["no.gbnf", "hint: give a file"])
    with open(path, "w", encoding="utf-8") as file:
        file.write("root ::= root")
    fails(1, "generate", TINY, "b", "--grammar", path, says=["3773", "left-recursive"])
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"not": {}}')
    fails(1, "generate", TINY, "b", "--json-schema", path, says=["3772", "not"])
    fails(2, "generate", TINY, "b", "--json-schema", path, "--grammar", path, says=["a schema"])


def mistakes():
    expect("-f reads the file" in takt("tokenize", TINY, "README.md").stderr, "a file as a text")
    fails(2, "generate", TINY, says=["text is missing"])
    fails(2, "generate", TINY, "a", "--temp", "warm", says=["--temp is a number"])
    fails(2, "generate", TINY, "a", "-l", "7", says=["bias"])
    fails(2, "generate", TINY, "a", "--samplers", "top_k;nothing", says=["nothing", "penalties"])
    fails(2, "generate", TINY, "a b " * 40, "-c", "8", says=["context", "-c N"])
    fails(2, "perplexity", TINY, "a b", "-c", "1", says=["one token predicts nothing"])
    fails(2, "perplexity", TINY, "a b", "-c", "2", says=["two tokens predicts nothing"])
    fails(1, "generate", BERT, "a", says=["does not generate text", "takt embed"])
    fails(1, "embed", TINY, "a", says=["not a sentence encoder", "takt generate"])
    fails(1, "generate", "examples/mlp.takt", "a", says=["no tokenizer"])
    fails(1, "generate", "nowhere.gguf", "a", says=["nowhere.gguf"])
    fails(1, "tokenize", TINY, "--decode", "99", says=["99"])


def stories():
    if not os.path.isdir(STORIES):
        print("skipped:", STORIES, "is not there")
        return
    with open(os.path.join(STORIES, "golden/F32.txt"), encoding="utf-8") as file:
        want = file.read().split("\ntext", 1)[1].split("\nvocab", 1)[0][1:]
    for kind in ("F32", "F16"):
        path = os.path.join(STORIES, f"stories260K-{kind}.gguf")
        got = succeeds("generate", path, "-p", "Once upon a time, there was a little", "-n", "64",
                       "--temp", "0", "-q", "--no-display-prompt")
        expect(got.rstrip("\n") == want.rstrip("\n"), f"{kind}: {got!r}, not {want!r}")


without("takt-prompt.kv")
document()
small()
folder()
conversion()
chat()
speculation()
prompt_cache()
grammar()
mistakes()
stories()
finish()
