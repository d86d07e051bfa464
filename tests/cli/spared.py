"""spared.py - no flag of any verb overwrites a file that the verb reads. Verbs and flags come from
`takt help --json`, so new ones are covered automatically.
"""
import re

from _cli import MLP, ROOT, expect, fails, finish, parsed, path, write

VERBS = parsed("help", "--json")["verbs"]
with open(f"{ROOT}/{MLP}", encoding="utf-8") as text:
    MODEL = text.read()


def is_file(flag):
    """By what the help shows as its argument: F, F.html, NAME=F, DIR."""
    return re.search(r"\b(F|DIR)\b", flag["argument"]) is not None


def reading(verb, read):
    """Ways to make the verb read a file: the arguments, and the file."""
    takes = {flag["name"] for flag in verb["flags"]}
    model = write("spared.takt", MODEL)
    other = write("spared.json", "{}")
    name = ["gesture"] if verb["arguments"].startswith("NAME") else []
    if verb["arguments"].startswith("MODEL") and "model" not in takes:
        name = [model]
        yield [model], model
    if "model" in takes:
        yield [model], model
        yield ["--model", model], model
    elif "results" in takes:
        yield [other] * (1 if verb["arguments"] == "RESULT" else 2), other
    for flag in read:
        before = "n=" if "NAME=" in flag["argument"] else ""
        yield ([model] if "model" in takes and flag["name"] != "model" else name) + [
            "--" + flag["name"], before + other], other


def writing(flag, file):
    yield ["--" + flag["name"], file]
    yield [f"--{flag['name']}={file}"]
    if "letter" in flag:
        yield ["-" + flag["letter"], file]
    if "NAME=" in flag["argument"]:
        yield ["--" + flag["name"], "n=" + file]


def kept(verb, words, file):
    """Refused before anything is done, whichever comes first."""
    with open(file, encoding="utf-8") as opened:
        before = opened.read()
    fails(2, *verb["name"].split(), *words, says=["would be written over"])
    with open(file, encoding="utf-8") as opened:
        expect(opened.read() == before, f"takt {verb['name']} {words}: {file} was written over")


tried = 0
for verb in VERBS:
    for flag in verb["flags"]:
        expect("file" in flag or not is_file(flag),
               f"takt {verb['name']} --{flag['name']} {flag['argument']}: is that a file?")
    read = [flag for flag in verb["flags"] if flag.get("file") == "read"]
    written = [flag for flag in verb["flags"] if flag.get("file") == "written"]
    for flag in written:
        for words, file in reading(verb, read):
            if flag["argument"] == "[F.json]" and not file.endswith(".json"):
                continue
            for more in writing(flag, file):
                kept(verb, [*words, *more], file)
                kept(verb, [*more, *words], file)
                tried += 2
expect(tried > 200, f"only {tried} ways were tried")

# A folder whose files have their own names.
inside = write("01-cse.takt", MODEL)
fails(2, "opt", inside, "--emit-each-pass", path("."), says=["would be written over"])
with open(inside, encoding="utf-8") as text:
    expect(text.read() == MODEL, "--emit-each-pass wrote over the model")
finish()
