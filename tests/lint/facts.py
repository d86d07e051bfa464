"""facts.py - facts are typed, and only a backend's folder and one list know its name.

Kernel names, kinds, notes, causes and messages are written for people. Code in src/ or tools/ that
compares them with strcmp or looks into them with strstr breaks when they are reworded: takt_facts,
enums and error ids hold the same facts. And nothing outside src/backend/NAME and src/backend/list.h
names a backend's record, but for the places below: a new backend is a folder and a line of that
list.
"""
import re

from _lint import complain, files, finish, read

WORDS = "kernel|kind|note|message|cause|bound|refused|reason|remedy"
CALL = re.compile(r"\b(?:str(?:n?cmp|str|chr|rchr|casecmp)|takt_span_is)\s*\(")
ENDS_IN_WORD = re.compile(rf"(?:->|\.)(?:{WORDS})\s*(?:[+].*)?$")
BY_WORDS = {
    "src/pass/driver.c": "two events of a trace are the same if their words are",
    "src/lang/diag.c": "an error that is reported twice is shown once",
    "src/io/read.c": "a file's name is put before a sentence that does not have it",
    "src/io/gguf/gguf_read.c": "the place in a text that is not the user's is taken out",
    "src/kernel/cuda/launch_pointers.c": "kernels of an image are known by name",
    "src/kernel/cuda/images.c": "kernels of an image are known by name",
    "tools/takt/print.c": "a file that is not there is named in the sentence, and in no field",
}
BACKEND = re.compile(r"\btakt_backend_(cpu|ref|blas|cuda)\b")
BY_NAME = {
    "src/backend/list.h": "the list",
    "src/backend/cpu/cpu.c": "what has no kernel is interpreted",
}


def calls(text):
    """Calls of functions that read words: the line, and the arguments."""
    for match in CALL.finditer(text):
        depth, at = 1, match.end()
        while depth > 0 and at < len(text):
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        yield text.count("\n", 0, match.start()) + 1, text[match.end():at - 1]


for path in [*files(".c", ".h", under="src"), *files(".c", ".h", under="tools")]:
    text = read(path)
    for line, arguments in calls(text):
        if path not in BY_WORDS and any(ENDS_IN_WORD.search(part.strip())
                                        for part in arguments.split(",")):
            complain(f"{path}:{line}: reads words where there should be a fact: {arguments}")
    for name in set(BACKEND.findall(text)):
        if not path.startswith(f"src/backend/{name}/") and path not in BY_NAME:
            complain(f"{path}: names the backend {name}, which only its folder and a list do")
finish()
