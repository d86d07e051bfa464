"""peers_memory.py - the memory of a command is its own, not that of the Python that starts it."""
import os
import resource
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.getcwd(), "bench", "peers"))
import logic_peers  # noqa: E402


def main():
    if shutil.which("cc") is None:
        print("skipped: no cc")
        sys.exit(77)
    with_pages = bytearray(os.urandom(1 << 20) * 32)
    own = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert own > len(with_pages)
    logic_peers.OUT = os.environ["TAKT_TEST_TMP"]
    seconds, out, size = logic_peers.process([shutil.which("echo"), "a", "b c"])
    assert out == "a b c\n", out
    assert 0 <= seconds < 10, seconds
    assert 0 < size < len(with_pages) // 2, (size, own)


if __name__ == "__main__":
    main()
