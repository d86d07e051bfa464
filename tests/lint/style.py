"""style.py - conventions of every file: its first line, no tabs, nothing unfinished."""
import re

from _lint import complain, files, finish, is_table, read

OPENING = re.compile(r"^/\*\*?(?:\n \*)? (\S+) - \S")
BY_HAND = re.compile(r"^(?!enum).*(& ~\(?\((size_t|uint64_t)\)|"
                     r"\+ (\w*ALIGN|\w*align) - 1\) /)", re.MULTILINE)
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")

for source in files(".c", ".h", ".inc", ".S", ".def"):
    if is_table(source):
        continue
    content = read(source)
    opening = OPENING.match(content)
    if opening is None or opening.group(1) != source.rsplit("/", 1)[1]:
        complain(f"{source}: does not begin with /* {source.rsplit('/', 1)[1]} - one sentence. */")
    if "\t" in content:
        complain(f"{source}: has tabs")
    if re.search(r"[ \t]+$", content, re.MULTILINE) or (content and not content.endswith("\n")):
        complain(f"{source}: has white space at a line's end, or no line end at its own")
    if re.search(r"^\s*#\s*if 0\b", content, re.MULTILINE):
        complain(f"{source}: has code under #if 0")
    if (source.startswith(("src/", "tools/")) and source != "src/base/size.h" and
            BY_HAND.search(content)):
        complain(f"{source}: rounds a size up by hand: takt_round_up does not wrap")
for source in files(".c", ".h", ".S", ".def", ".py", ".cmake", ".md", ".sh"):
    for number, line in enumerate(read(source).splitlines()):
        if UNFINISHED.search(line):
            complain(f"{source}:{number + 1}: unfinished: {line.strip()}")
finish()
