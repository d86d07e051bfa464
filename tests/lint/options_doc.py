"""options_doc.py - docs/options.md has the rows of TAKT_PLAN_OPTIONS; --bless writes them."""
import os
import re
import sys

from _lint import ROOT, complain, finish, read

BEGIN, END = "<!-- options: from include/takt/plan.h -->\n", "<!-- end of options -->\n"


def rows():
    text = read("include/takt/plan.h").split("#define TAKT_PLAN_OPTIONS(", 1)[1]
    text = re.split(r"\n(?=\n|#)", text, maxsplit=1)[0].replace("\\\n", "\n")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    row = re.compile(r"^ {4}(FLAG|SOME|FIELD)\((\w+), (\w+),(.*?\")\)\s*$", re.S | re.M)
    for how, _, name, rest in row.findall(text):
        words = re.findall(r'"([^"]*)"', rest)
        letter = re.search(r"'(\w)'", rest)
        yield name, how, letter.group(1) if letter else "", words


def table():
    lines = ["| field of `takt_plan_options` | flag | what it does |", "|---|---|---|"]
    for name, how, letter, words in rows():
        flag = ""
        if how != "FIELD":
            flag = f"`--{words[0]}{' ' + words[1] if words[1] else ''}`"
            flag += f", `-{letter}`" if letter else ""
        lines.append(f"| `{name}` | {flag} | {words[-1]} |")
    return "\n".join(lines) + "\n"


page = read("docs/options.md")
before, rest = page.split(BEGIN)
now, after = rest.split(END)
if "--bless" in sys.argv:
    with open(os.path.join(ROOT, "docs/options.md"), "w", encoding="utf-8") as file:
        file.write(before + BEGIN + table() + END + after)
elif now != table():
    complain("docs/options.md: the table differs from TAKT_PLAN_OPTIONS in include/takt/plan.h; "
             "python3 tests/lint/options_doc.py --bless writes it")
if table().count("\n") < 15:
    complain("options_doc.py: rows of TAKT_PLAN_OPTIONS are not found")
finish()
