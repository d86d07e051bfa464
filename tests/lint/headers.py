"""headers.py - each public header compiles alone, as C17 and as C++17, and so do the examples in
their comments; takt.h includes them all. Headers of src, tests and tools compile alone, too,
without flags for a processor: parts of one file, templates of kernels and what needs an instruction
set end in .inc instead, and src/kernel/README.md says in which order they are read."""
import concurrent.futures
import os
import re
import shutil
import subprocess

from _lint import BUILD, ROOT, complain, files, finish, read

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
modes = [[os.environ.get("CC", "cc"), "-std=c17", "-xc", "-Wstrict-prototypes"]]
# A header of kernels may compile alone on one architecture only: the other's compiler looks, too.
OTHER = {"aarch64": "x86_64", "x86_64": "aarch64"}.get(os.uname().machine, "") + "-linux-gnu-gcc"
if shutil.which("c++"):
    modes.append(["c++", "-std=c++17", "-xc++"])

headers = [os.path.relpath(path, "include") for path in files(".h", under="include")]
for header in headers:
    for mode in modes:
        run = subprocess.run([*mode, *WARNINGS, "-fsyntax-only", "-Iinclude", "-"], cwd=ROOT,
                             input=f"#include <{header}>\n", text=True, capture_output=True,
                             check=False)
        if run.returncode != 0:
            complain(f"{header} does not compile alone with {mode[0]} {mode[1]}:\n{run.stderr}")
if "takt/takt.h" not in headers:
    complain("include/takt/takt.h, which includes all the others, is missing")
else:
    for header in headers:
        if header != "takt/takt.h" and f"#include <{header}>" not in read("include/takt/takt.h"):
            complain(f"takt.h does not include {header}")

# Thread rules stand in the opening comment; a group of functions begins with a comment.
for header in headers:
    text = read(os.path.join("include", header))
    opening = re.match(r"/\*\*.*?\*/", text, re.DOTALL)
    if opening is None or "hread" not in opening.group(0):
        complain(f"{header}: the opening comment does not say which threads may call")
    for group in re.split(r"\n\s*\n", text):
        first = re.search(r"^TAKT_API[^;]*?\b(takt_\w+)\s*\(", group, re.MULTILINE)
        if first and "*/" not in group[:first.start()]:
            complain(f"{header}: {first.group(1)} has no comment")

# A function that can fail says how; takt.h says what a sink's refusal is.
FAILURE = re.compile(r"@return|[Ff]ail|TAKT_ERR_|refus|NULL")
for header in headers:
    comment = ""
    for part in re.findall(r"/\*\*.*?\*/|^TAKT_API[^;]*;", read(os.path.join("include", header)),
                           re.DOTALL | re.MULTILINE):
        if part.startswith("/*"):
            comment = part
        elif "takt_status takt_" in part and "takt_sink_fn" not in part \
                and not FAILURE.search(comment):
            name = re.search(r"takt_status (takt_\w+)", part).group(1)
            complain(f"{header}: the comment of {name} does not say when it fails")

# What the examples take for granted; each may declare the first three itself.
GIVEN = ("takt_ctx *ctx;", "takt_model *model;", "takt_plan *plan;", "takt_session *session;",
         "takt_session *sessions[2];", "takt_profile *profile;", "takt_tensor_pool *pool;",
         "takt_tensor_view ab[2], c;", "takt_sink_fn *sink;", "void *user;", "float numbers[6];",
         "float pixels[32 * 784];", "takt_tokenizer *tokens;")
program = ["#include <stdio.h>", "#include <takt/takt.h>"]
for header in headers:
    text = read(os.path.join("include", header))
    for lines in re.findall(r"((?:^ \*     .*\n)+)", text, re.MULTILINE):
        code = re.sub(r"^ \*     ", "", lines, flags=re.MULTILINE)
        code = re.sub(r"^\.\.\. (.*) \.\.\.$", r"\1;", code, flags=re.MULTILINE)
        code = re.sub(r"^ *\.\.\.$", "", code, flags=re.MULTILINE).replace(") ...", ") return;")
        if "takt_" not in code or "graph(" in code or ".run = " in code:
            continue  # in the model language, or about a function of the reader's
        given = "\n".join(line for line in GIVEN if line not in code)
        program.append(f"void example_{len(program)}(void);\nvoid example_{len(program)}(void)\n"
                       f"{{\n{given}\n{{\n{code}}}\n}}")
if len(program) < 12:
    complain("the examples in the headers are not found any more")
run = subprocess.run([*modes[0], "-Wall", "-Werror", "-Wno-unused", "-Wno-uninitialized",
                      "-Wno-unused-result", "-fsyntax-only", "-Iinclude", "-"],
                     cwd=ROOT, input="\n".join(program), text=True, capture_output=True,
                     check=False)
if run.returncode != 0:
    complain(f"the examples in the headers do not compile:\n{run.stderr}")


def is_first(header):
    """Whether its .c file includes it first: then the build has compiled it on its own already."""
    source = header[:-2] + ".c"
    first = re.search(r'^#include ["<]([^">]+)', read(source), re.MULTILINE) \
        if os.path.exists(os.path.join(ROOT, source)) else None
    return first is not None and header.endswith("/" + first.group(1))


def alone(header, compiler):
    folders = ["include", "src", "tests", "tools/takt", os.path.join(BUILD, "gen"),
               os.path.join(BUILD, "gen", "tool"), os.path.dirname(header)]
    done = subprocess.run([compiler, "-std=gnu17", "-xc", "-fsyntax-only", "-D_GNU_SOURCE",
                           *("-I" + folder for folder in folders), "-"], cwd=ROOT,
                          input=2 * f'#include "{ROOT}/{header}"\n', text=True,
                          capture_output=True, check=False)
    return header, done.returncode, done.stderr


private = [header for folder in ("src", "tests", "tools") for header in files(".h", under=folder)
           if not is_first(header)]
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    jobs = [(header, modes[0][0]) for header in private]
    if shutil.which(OTHER):
        jobs += [(header, OTHER) for header in private if header.startswith("src/kernel/")]
    for header, status, text in pool.map(lambda job: alone(*job), jobs):
        if status != 0:
            complain(f"{header} does not compile alone; if it is a part of files, call it .inc:\n"
                     f"{text}")

order = dict(re.findall(r"^\| (\w+) \| (.*) \|$", read("src/kernel/README.md"), re.MULTILINE))
for path in files(".inc", under="src/kernel"):
    family, part = path.split("/")[2:]
    if part != family + "_body.inc" and f"`{part}`" not in order.get(family, ""):
        complain(f"{path}: not in the reading order of src/kernel/README.md")
for family, parts in order.items():
    for part in re.findall(r"`([^`]+)`", parts):
        if not os.path.exists(os.path.join(ROOT, "src/kernel", family, part)):
            complain(f"src/kernel/README.md: {family} has no file {part}")
finish()
