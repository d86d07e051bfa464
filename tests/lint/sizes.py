"""sizes.py - limits on files, functions, parameters, nesting and lines.

Exceptions are rows `path<TAB>rule<TAB>why` of sizes.allow. That list may only shrink: a row that is
not needed any more is a complaint too.
"""
import re

from _lint import complain, files, finish, is_table, read

LINES, CMAKE_LINES, COLUMNS = 400, 100, 100
FUNCTION, KERNEL_FUNCTION, PARAMETERS, NESTING = 60, 120, 6, 3
ALLOWED = {}
used = set()
BLANKED = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def over(path, rule, text):
    if (path, rule) in ALLOWED:
        used.add((path, rule))
    else:
        complain(f"{path}: {text} [{rule}]")


def bare(text):
    """The text without comments, literals and macro definitions, line numbers kept."""
    text = BLANKED.sub(lambda m: "\n" * m.group().count("\n") or " ", text)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "\n" * m.group().count("\n"), text,
                  flags=re.MULTILINE)


def signature(head):
    """Name and number of parameters of the function with this head."""
    head = head[:head.rfind(")") + 1]
    depth, count, start = 0, 1, len(head)
    while start > 0:
        start -= 1
        depth += {")": 1, "(": -1}.get(head[start], 0)
        count += head[start] == "," and depth == 1
        if depth == 0:
            break
    return (re.findall(r"(\w+)\s*$", head[:start]) or ["?"])[0], count


def nesting(body):
    depth, deepest = 0, 0
    for match in re.finditer(r"(=\s*|\)\s*)?\{|\}", body):
        depth += -1 if match.group() == "}" else 1
        deepest = max(deepest, depth)
    return deepest


def check_functions(path, text):
    limit = KERNEL_FUNCTION if path.startswith("src/kernel/") else FUNCTION
    lines = bare(text).split("\n")
    start = None
    for number, line in enumerate(lines):
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            head = []
            above = start - 1
            while above >= 0 and re.search(r"[^;}\s]\s*$", lines[above]):
                head.insert(0, lines[above])
                above -= 1
            name, parameters = signature(" ".join(head))
            where, length = f"{name} (line {start + 1})", number - start + 1
            if length > limit:
                over(path, "function", f"{where} has {length} lines; the limit is {limit}")
            if parameters > PARAMETERS:
                over(path, "parameters", f"{where} has more than {PARAMETERS} parameters")
            if nesting("\n".join(lines[start + 1:number])) > NESTING:
                over(path, "nesting", f"{where} nests deeper than {NESTING}")
            start = None


for row in read("tests/lint/sizes.allow").splitlines():
    if row and not row.startswith("#"):
        allowed_path, allowed_rule, why = row.split("\t")
        ALLOWED[allowed_path, allowed_rule] = why

for source in files(".c", ".h", ".inc", ".S", ".cmake", "CMakeLists.txt", ".py"):
    if is_table(source):
        continue
    content = read(source)
    rows = content.splitlines()
    most = CMAKE_LINES if source.endswith((".cmake", "CMakeLists.txt")) else LINES
    if len(rows) > most:
        over(source, "lines", f"{len(rows)} lines; the limit is {most}")
    for index, row in enumerate(rows):
        if len(row) > COLUMNS:
            over(source, "columns", f"line {index + 1} has {len(row)} columns")
    if source.endswith((".c", ".h", ".inc")):
        check_functions(source, content)
for unused in sorted(set(ALLOWED) - used):
    complain(f"sizes.allow: {unused[0]} keeps to the limit of {unused[1]} now: drop the row")
finish()
