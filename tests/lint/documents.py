"""documents.py - files, folders and built programs that ARCHITECTURE.md and docs/ name exist, and
ARCHITECTURE.md names all folders of src/ and tests/ but families of kernels and the tests' data.

Names in backquotes are checked if they have an ending of code, or begin with a folder of the root
or of src/. It may be the end of a path, `group.c` or `cpu/cpu.h`; * stands for anything, and so
does what is written in capitals (`src/op/NAME.c`).
"""
import fnmatch
import os
import re

from _lint import complain, files, finish, read

NAME = re.compile(r"`([\w*.-]+(?:/[\w*.-]+)*)/?`")
CODE = (".c", ".h", ".py", ".def", ".cmake", ".sh")
BUILT = re.compile(r"`build/([\w./-]+)")
PLACEHOLDER = re.compile(r"(?<![\w-])[A-Z]+(?![\w-])")

paths = set(files(""))
for path in list(paths):
    while path := os.path.dirname(path):
        paths.add(path)
ends = {"/" + path for path in paths}
presets = read("CMakePresets.json")
tops = {path for path in paths if "/" not in path} | {
    path.split("/")[1] for path in paths if path.startswith("src/")}


def is_there(name):
    pattern = "*/" + PLACEHOLDER.sub("*", name)
    if "*" in pattern[1:]:
        return bool(fnmatch.filter(ends, pattern))
    return any(end.endswith("/" + name) for end in ends)


def is_built(name):
    """The command, the peers' files, and in a preset's folder programs of the tests, unit_ops of
    tests/unit/ops.c; files that programs write there are ignored."""
    folder, _, program = name.partition("/")
    kind, _, stem = program.partition("_")
    is_program = program == "check_kernels" or bool(
        {f"tests/{kind}/{stem}.c", f"tests/fuzz/{program}.c"} & paths)
    return folder in ("takt", "peers") or (
        f'"name": "{folder}"' in presets and ("." in program or is_program))


for document in files(".md"):
    if document != "ARCHITECTURE.md" and not document.startswith("docs/"):
        continue
    for name in NAME.findall(read(document)):
        is_path = "/" in name and name.split("/")[0] in tops
        is_code = name.endswith(CODE) and not name.startswith(".")
        if (is_path or is_code) and not is_there(name):
            complain(f"{document}: there is no `{name}`")
    for name in BUILT.findall(read(document)):
        if not is_built(name):
            complain(f"{document}: nothing is built as build/{name}")
told = set(re.findall(r"([\w-]+)/", read("ARCHITECTURE.md")))
for folder in {os.path.dirname(path) for path in files(".c", ".h", ".py", ".sh")}:
    if re.match(r"src/(?!kernel/)|tests/\w+$", folder) and os.path.basename(folder) not in told:
        complain(f"ARCHITECTURE.md does not name {folder}/")
finish()
