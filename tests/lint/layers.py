"""layers.py - a folder of src/ includes only folders above it in LAYERS; ARCHITECTURE.md says what
each is for, in this order."""
import re

from _lint import complain, files, finish, read

LAYERS = ("base os kernel ir op logic lang interp grad pass plan backend io stats train text "
          "api verify shrink serve measure").split()
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<(takt/[^>]+)>)', re.MULTILINE)
GENERATED = re.compile(r"^(build_info\.h|layers\.inc|arch\.inc|chat\.inc|page\.inc|\w+_list\.inc)$")


def check_source(path):
    own = path.split("/")[1]
    if own not in LAYERS:
        complain(f"{path}: src/{own} is not in the list of tests/lint/layers.py")
        return
    for name, _ in INCLUDE.findall(read(path)):
        other = name.split("/")[0]
        if not name or GENERATED.match(name) or other == own:
            continue
        if "/" not in name or other not in LAYERS:
            complain(f'{path}: "{name}": name headers from src/ on, e.g. "base/arena.h"')
        elif LAYERS.index(other) > LAYERS.index(own):
            complain(f"{path}: {own} may not include {name}: {other} lies below it")


def check_outside(path):
    """Tools and bindings see the public headers and their own folder."""
    own = path.rsplit("/", 1)[0] + "/"
    home = "/".join(path.split("/")[:2]) + "/"
    known = set(files(".h", ".def", under=home.rstrip("/")))
    for name, _ in INCLUDE.findall(read(path)):
        if not name or GENERATED.match(name):
            continue
        if own + name not in known and home + name not in known:
            complain(f"{path}: {home} may include only takt/*.h and its own headers, not {name}")


def check_public(path):
    for name, _ in INCLUDE.findall(read(path)):
        if name:
            complain(f"{path}: public headers include <takt/...>, not \"{name}\"")


for source in files(".c", ".h", ".inc", ".S", ".def", under="src"):
    check_source(source)
    if source != "src/op/util/registry.c" and '"op_list.inc"' in read(source):
        complain(f"{source}: includes op_list.inc, so that every new op would compile it again")
for folder in ("tools", "bind"):
    for source in files(".c", ".h", under=folder):
        check_outside(source)
for header in files(".h", under="include"):
    check_public(header)
told = re.findall(r"^\| `(\w+)/", read("ARCHITECTURE.md"), re.MULTILINE)
if told != LAYERS:
    complain(f"ARCHITECTURE.md has the folders {' '.join(told)}, not {' '.join(LAYERS)}")
finish()
