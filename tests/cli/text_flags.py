"""text_flags.py - command lines as people of llama.cpp write them: other names of the same flags,
and what is said about flags that have no counterpart."""
import json
import os
import re
import struct

from _cli import ROOT, TMP, expect, fails, finish, parsed, succeeds, takt

TINY = "tests/corpus/gguf/tiny.gguf"


def names():
    want = parsed("generate", TINY, "-p", "a b", "-n", "8", "--temp", "0", "--json")["text"]
    for words in (["-m", TINY, "-p", "a b", "-n", "8", "--temp", "0"],
                  ["--model", TINY, "a b", "--predict", "8", "--temperature", "0"]):
        got = parsed("generate", *words, "--json")["text"]
        expect(got == want, f"{words}: {got!r}, not {want!r}")
    full = [parsed("generate", TINY, "a", "-n", n, "-c", "24", "--temp", "0", "--ignore-eos",
                   "--json") for n in ("-1", "-2", "0")]
    settings = os.path.join(TMP, "endless.json")
    with open(settings, "w", encoding="utf-8") as file:
        file.write('{"n-predict": -1}')
    rest = ["generate", TINY, "a", "-c", "24", "--temp", "0", "--ignore-eos", "--json"]
    full.append(parsed(*rest, "--config", settings))
    for n in ("-1", "-2"):
        full.append(json.loads(succeeds(*rest, env={"TAKT_N_PREDICT": n})))
    expect(full[0]["end"] == "context" and len({f["text"] for f in full}) == 1, f"{full}")
    ids = parsed("tokenize", TINY, "a b", "--ids", "--json")
    expect(parsed("tokenize", "-m", TINY, "a b", "--ids", "--json") == ids, "-m of tokenize")
    expect(parsed("perplexity", "-m", TINY, "-p", "a b a b", "-c", "16", "--json")["tokens"] == 4,
           "-m of perplexity")
    fails(1, "generate", TINY, "b", "-jf", '{"not": {}}', says=["3772", "not"])
    bare = takt("generate", TINY, "b", "-ctk", "f16", "-ctv", "f16", "-n", "1")
    expect(bare.returncode == 0 and "note" not in bare.stderr, f"-ctk: {bare}")
    fails(2, "generate", TINY, "b", "-ctk", "q8_0", says=["multiple of 32", "-ctk f16"])
    talk = takt("generate", TINY, "-cnv", "-sys", "a", "--chat-template", "vicuna", "-n", "2",
                input="a b\n")
    expect(talk.returncode == 0 and talk.stdout.count("> ") == 2, f"-cnv: {talk}")


def beaten():
    """What the command line says counts before the environment."""
    want = succeeds("generate", TINY, "a b", "-n", "4", "--temp", "0")
    for name, value in (("TAKT_MODEL", "nothing.gguf"), ("TAKT_PROMPT", "b b")):
        got = succeeds("generate", TINY, "a b", "-n", "4", "--temp", "0", env={name: value})
        expect(got == want, f"{name}: {got!r}, not {want!r}")
    got = succeeds("generate", "-n", "4", "--temp", "0",
                   env={"TAKT_MODEL": TINY, "TAKT_PROMPT": "a b"})
    expect(got == want, f"both from the environment: {got!r}, not {want!r}")


def without_counterpart():
    for words, hint in ((["-ngl", "99"], "processor"), (["--n-gpu-layers=9"], "processor"),
                        (["-fa", "on"], "leave it out"), (["--mlock"], "leave it out"),
                        (["-no-cnv"], "--chat"), (["-st"], "--chat"), (["-i"], "--interactive"),
                        (["-hf", "a/b"], "file or folder"), (["--lora", "a"], "merge")):
        fails(2, "generate", TINY, "-p", "a", *words,
              says=[f"no flag {words[0].split('=')[0]}", hint])
    fails(2, "serve", TINY, "-a", "name", says=["no flag -a", "called as its file"])
    fails(2, "generate", TINY, "-p", "a", "-xy", says=["no flag -x"])
    for verb in ("serve", "embed", "tokenize", "perplexity", "generate"):
        flags = succeeds(verb, "--help-all")
        expect(verb != "generate" or r"in place of \n :" in flags, flags)
        for word in ("st", "i", "if", "keep", "no-escape", "log-disable", "cb", "to", "a",
                     "metrics", "no-cnv"):
            run = takt(verb, TINY, f"-{word}")
            hint = run.stderr.partition("hint: ")[2]
            expect(run.returncode == 2 and f"no flag -{word}" in run.stderr and hint, f"{run}")
            for name in re.findall(r"(?<![\w-])--?[a-z][\w-]*", hint):
                expect(re.search(rf"(?<![\w-]){name}(?![\w-])", flags),
                       f"takt {verb} -{word}: there is no {name}: {hint}")
    fails(2, "generate", TINY, "-p", "a", "-n", "-3", says=["-3"])
    fails(2, "generate", TINY, "-p", "a", "-c", "0", says=["from 1", "as trained"])
    said = fails(1, "generate", TINY, "-p", "a", "--json-schema", '{"type": "integr"}',
                 says=['type "integr"'])
    expect(said.count("at byte") == 1, said)
    fails(2, "generate", TINY, "-f", TINY, "-n", "2", says=["byte 0 at position", "-m MODEL"])


def two_texts():
    fails(2, "generate", TINY, "a", "-p", "b", says=["two texts"])
    fails(2, "generate", TINY, "-p", "b", "-j", '{"const": 1}', says=["--json-schema"])
    fails(2, "generate", "-m", TINY, "a", "b", says=["does not take the argument b"])
    fails(2, "generate", "-m", TINY, says=["the text is missing"])
    fails(1, "generate", TMP, "-p", "b", says=["cannot open", "config.json"])


def too_long():
    run = takt("generate", TINY, "a b " * 40, "-c", "16")
    expect(run.returncode == 2 and run.stdout == "" and "do not fit" in run.stderr,
           f"a prompt that is too long is shown: {run}")
    expect(succeeds("generate", TINY, "a b", "-c", "16", "-n", "2", "-q").startswith("a b"),
           "a prompt that fits is not shown")


def too_short():
    """One token, of a tokenizer that adds none: nothing is predicted, and no weight is read."""
    folder, key = os.path.join(TMP, "bare"), b"tokenizer.ggml.add_bos_token"
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "bare.gguf")
    with open(os.path.join(ROOT, TINY), "rb") as file:
        data = file.read()
    more = (struct.pack("<Q28sIB", len(key), key, 7, 0) +
            struct.pack("<Q1sIQ2s", 1, b"x", 8, 2, b"ab"))
    expect(len(more) % 32 == 0, "tensors would move")
    with open(path, "wb") as file:
        file.write(data[:16] + struct.pack("<Q", struct.unpack("<Q", data[16:24])[0] + 2) + more +
                   data[24:])
    expect("[" in succeeds("tokenize", path, "a", "--ids"), "a is not a token")
    said = fails(2, "perplexity", path, "a", says=["too short"])
    expect("quantised" not in said, f"weights were read: {said}")


names()
beaten()
without_counterpart()
two_texts()
too_long()
too_short()
finish()
