"""_command.py - the command `takt`: a program of its own, which lies beside the library."""
import os
import sys


def main() -> None:
    """Becomes the command."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "takt")
    os.execv(program, ["takt", *sys.argv[1:]])
