"""_count.py - lists the code blocks of the guides, and the command lines of those in sh.

    python3 tests/guides/_count.py FOLDER    prints tests/guides/blocks.txt again

A block is what stands between two fences, at any indentation. In a block of shell every command is
a line of its own in the list: comments are left out, lines that end in a backslash go together.
"""
import pathlib
import sys


def commands(lines):
    """Number of commands in a block of shell."""
    count, continued = 0, False
    for line in lines:
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        count += not continued
        continued = line.endswith("\\")
    return count


def blocks(text):
    """(language, heading, lines) of every block."""
    language, heading, lines = None, "", []
    for line in text.splitlines():
        word = line.strip()
        if word.startswith("```"):
            if language is None:
                language, lines = word[3:] or "text", []
            else:
                yield language, heading, lines
                language = None
        elif language is not None:
            lines.append(line)
        elif word.startswith("#"):
            heading = word.lstrip("# ")


def listing(folder):
    """The lines of blocks.txt."""
    for path in sorted(pathlib.Path(folder).glob("0*.txt")):
        for number, (language, heading, lines) in enumerate(blocks(path.read_text()), 1):
            name = f"{path.name[:3]}.{number}"
            names = [name]
            if language == "bash":
                names = [f"{name}.{index + 1}" for index in range(commands(lines))]
            for one in names:
                yield f"{one}\t{language}\t{heading}"


if __name__ == "__main__":
    print("\n".join(listing(sys.argv[1])))
