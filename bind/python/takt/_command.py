"""_command.py - the command `takt`: a separate program, next to the library."""
import os
import sys


def main() -> None:
    """Replaces this process with the command."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "takt")
    os.execv(program, ["takt", *sys.argv[1:]])
