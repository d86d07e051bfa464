"""words.py - words and phrases that stop a native reader are in no comment, message or document.

Each row has the pattern and what to write instead. Records of measurements and the texts of the
zoo's models stay as they were written.
"""
import re

from _lint import complain, files, finish, read

# "is no worse" and "there is no" are English; "is no number" is German.
COMPARED = (r"longer|more|less|slower|smaller|worse|better|deeper|wider|larger|faster|lower|higher|"
            r"greater|shorter|different|such|other|limit|use|need")
# what a line has to contain, the pattern, what to write instead
WORDS = (
    ("beside", r"\bbeside\b", "next to, against, with, in addition to"),
    ("anew", r"\banew\b", "again"),
    ("hoever", r"\bwhoever\b", "what, which caller"),
    ("o many", r"\bso many\b", "this many, that many, N"),
    (" no ", rf"(?<!there )\b(?:is|are|was|were) no (?!(?:{COMPARED})\b)\w", "is not a"),
    ("lsewhere than", r"\belsewhere than\b", "outside of"),
)
PLACES = ("src", "include", "tools", "bind", "tests", "bench", "docs", "scripts", "cmake",
          "examples", "README.md", "ARCHITECTURE.md", "Makefile", "CMakeLists.txt")
ENDINGS = (".c", ".h", ".inc", ".def", ".cu", ".S", ".cpp", ".py", ".md", ".cmake", ".sh", ".jinja",
           "Makefile", "CMakeLists.txt")


def is_text(path):
    return path.split("/")[0] in PLACES and not path.startswith("bench/results/") and \
        path not in ("tests/lint/words.py", "tests/lint/planted.py") and \
        (path.endswith(ENDINGS) or "." not in path.rsplit("/", 1)[-1])


def check(path, text):
    for part, pattern, instead in WORDS:
        at = text.find(part)
        while at >= 0:
            begin, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
            end = len(text) if end < 0 else end
            found = re.search(pattern, text[begin:end], re.IGNORECASE)
            if found:
                line = text.count("\n", 0, at) + 1
                complain(f'{path}:{line}: "{found.group(0)}": write {instead}')
            at = text.find(part, end)


for source in files(""):
    if is_text(source):
        try:
            check(source, read(source))
        except UnicodeDecodeError:
            continue  # a program or a model, not a text
finish()
