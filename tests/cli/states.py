"""states.py - the state of a run continues in the next: --state-out, --state-in."""
import os

from _cli import CNN, STREAM, expect, fails, finish, parsed, path, succeeds, write


def digest(*args):
    return parsed("run", STREAM, "--json", "--seed", "3", *args)["digest"]


for ending in ("safetensors", "npz"):
    kept = path("kept." + ending)
    first = digest("--state-out", kept)
    expect(os.path.getsize(kept) > 0, f"{kept} is empty")
    second = digest("--state-in", kept)
    expect(first != second, "the state changes nothing")
    expect(second == digest("--repeat", "2"), f"{ending}: a run after another is not the second")
    onward = path("onward." + ending)
    digest("--state-in", kept, "--state-out", onward)
    expect(digest("--state-in", onward) == digest("--repeat", "3"), f"{ending}: nor the third")
    expect(second == digest("--state-in", kept), "reading a state changes its file")

kept = path("kept.npz")
succeeds("run", STREAM, "--quiet", "--state-in", kept, "--state-out", path("kept2.npz"))
fails(1, "run", CNN, "--state-out", path("none.npz"), says=["has no state"])
expect(not os.path.exists(path("none.npz")), "a state that does not exist was written")
fails(1, "run", STREAM, "--state-in", path("nowhere.npz"), says=["nowhere.npz"])
fails(1, "run", STREAM, "--state-in", write("bad.npz", "no archive"), says=["bad.npz"])
fails(2, "run", STREAM, "--state-in", kept, "--batch-size", "2", says=["--state-in"])
finish()
