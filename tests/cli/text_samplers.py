"""text_samplers.py - flags of the rarer samplers, and of their order."""
from _cli import expect, fails, finish, succeeds

TINY = "tests/corpus/gguf/tiny.gguf"


def samplers():
    """Each of the rarer samplers changes a text, and does not if set to its neutral value."""
    ask = ["generate", TINY, "a b a b a b", "-n", "24", "-s", "3", "-q", "--no-display-prompt",
           "--temp", "1.5", "--ignore-eos"]
    plain = succeeds(*ask)
    for on, off in ((["--dry-multiplier", "5", "--dry-allowed-length", "1"],
                     ["--dry-multiplier", "5", "--dry-penalty-last-n", "0"]),
                    (["--xtc-probability", "1"], ["--xtc-probability", "1", "--xtc-threshold",
                                                  "0.6"]),
                    (["--top-n-sigma", "0.1"], ["--top-n-sigma", "-1"]),
                    (["--dynatemp-range", "1.4"], ["--dynatemp-range", "0", "--dynatemp-exp", "3"]),
                    (["--sampling-seq", "t"], ["--sampling-seq", "edskypmxt"])):
        expect(succeeds(*ask, *on) != plain, f"{on} changes nothing")
        expect(succeeds(*ask, *off) == plain, f"{off} changes something")
    dry = ["--dry-multiplier", "5", "--dry-allowed-length", "1"]
    broken = [succeeds(*ask, *dry, *[w for b in breakers for w in ("--dry-sequence-breaker", b)])
              for breakers in (["none"], ["a", "b"])]
    expect(broken[0] != broken[1], "sequence breakers change nothing")
    fails(2, *ask, "--sampling-seq", "kq", says=["q", "penalties"])
    fails(2, *ask, "--sampling-seq", "k", "--samplers", "top_k", says=["names and by letters"])
    fails(2, *ask, "--dry-sequence-breaker", "a" * 80, says=["too long"])
    fails(2, *ask, "--xtc-probability", "2", says=["XTC"])


samplers()
finish()
