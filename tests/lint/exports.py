"""exports.py - the exports of the shared libraries. libtakt.so and libtakt-measure.so export the
functions that the public headers declare with TAKT_API; libtakt.so also exports those marked
TAKT_INNER, which libtakt-measure.so uses."""
import os
import re
import subprocess

from _lint import BUILD, complain, files, finish, read, skip

# The public headers whose functions are in libtakt-measure.so; takt.h names them, too.
MEASURE = set("report measure results load counters deviation system monitor".split())


def path_of(name):
    path = os.path.join(BUILD, name)
    if not os.path.exists(path):
        skip(f"{path} is not built")
    return path


def marked(path, mark):
    """The names that a file declares or defines with `mark`."""
    text = re.sub(r"/\*.*?\*/", " ", read(path), flags=re.DOTALL)
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.MULTILINE)
    for statement in re.findall(rf"\b{mark}\b([^;{{=]*)", text):
        names = re.findall(r"\b(takt_\w+)\s*\(", statement)[:1]
        if not names:  # data; of several, all
            names = [re.search(r"(\w+)\s*(?:\[.*)?$", part.strip()).group(1)
                     for part in statement.strip().split(",") if part.strip()]
        if not names or not all(name.startswith("takt_") for name in names):
            complain(f"{path}: cannot find the name in {mark}{statement}")
        else:
            yield from names


def symbols(library, which):
    listing = subprocess.run(["nm", "-D", which, library], check=True, text=True,
                             capture_output=True).stdout
    return {line.split()[-1].split("@")[0] for line in listing.splitlines()}


core, measure = path_of("libtakt.so"), path_of("libtakt-measure.so")
declared = {core: set(), measure: set()}
for header in files(".h", under="include"):
    stem = os.path.basename(header)[:-2]
    declared[measure if stem in MEASURE else core].update(marked(header, "TAKT_API"))
inner = {name for path in files(".c", ".h", under="src") if path != "src/base/inner.h"
         for name in marked(path, "TAKT_INNER")}
for library in (core, measure):
    name_of = os.path.basename(library)
    exported = symbols(library, "--defined-only")
    if library == core:
        exported -= inner
    for name in sorted(exported - declared[library]):
        complain(f"{name} is exported by {name_of} but no public header of it declares it with "
                 "TAKT_API")
    for name in sorted(declared[library] - exported):
        complain(f"{name} is declared with TAKT_API but not exported by {name_of}: it is not "
                 "defined there")
needed = {name for name in symbols(measure, "--undefined-only") if name.startswith("takt_")}
needed -= declared[core]
for name in sorted(needed - inner):
    complain(f"libtakt-measure.so refers to {name}, which is not marked TAKT_INNER (base/inner.h)")
for name in sorted(inner - needed):
    complain(f"{name} is marked TAKT_INNER, but libtakt-measure.so does not refer to it")
finish()
