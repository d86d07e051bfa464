"""zoo_slow.py - every model of the zoo trained again from its data: the SHA-256 of its recipe.

    zoo_slow.py [NAME ...]    those models only: a long run can be made in pieces
Data comes from TAKT_DATA, Debian's packages, and for faces from scikit-image's folder in
TAKT_ZOO_FACES (the folder that contains skimage/data). What is not there is counted."""
import json
import os
import re
import sys
import time

from _cli import ROOT, expect, finish, parsed, takt

DATA = os.environ.get("TAKT_DATA", os.path.join(ROOT, "..", "shared", "data"))
LIMIT = 3600  # seconds for one, on a machine at work; alone, two cores need less than a minute
FACES = os.environ.get("TAKT_ZOO_FACES", "")


def folder(name):
    """The location of a model's data; None: it is absent; "": it needs none."""
    with open(os.path.join(ROOT, "zoo", name, "recipe"), encoding="utf-8") as f:
        where = re.search(r"^where: (.*)$", f.read(), re.M)
    if where is None:
        return ""
    for root in (DATA, FACES, "/"):
        if root and os.path.exists(os.path.join(root, where.group(1).lstrip("/"))):
            return root
    return None


absent, only = [], sys.argv[1:]
names = [m["name"] for m in parsed("zoo", "list", "--json")]
unknown = sorted(set(only) - set(names))
expect(not unknown, f"the zoo has no {', '.join(unknown)}")
for name in names:
    if only and name not in only:
        continue
    root = folder(name)
    if root is None:
        absent.append(name)
        continue
    start = time.monotonic()
    run = takt("zoo", "train", name, "--verify", "--json", *(["--data", root] if root else []),
               timeout=LIMIT)
    made = json.loads(run.stdout or "{}")
    expect(made.get("same") is True, f"{name}: {made}, {run.stderr}")
    print(f"{name} {made.get('score')}, {time.monotonic() - start:.0f} s", flush=True)
print(f"without data: {len(absent)} {' '.join(absent)}")

finish()
