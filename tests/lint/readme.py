"""readme.py - the commands that README.md shows exist: make targets, scripts, verbs, files."""
import os
import re

from _lint import ROOT, complain, files, finish, read

if not os.path.exists(os.path.join(ROOT, "README.md")):
    complain("README.md is missing")
    finish()
readme = read("README.md")
targets = set(re.findall(r"^([a-z]+):", read("Makefile"), re.MULTILINE))
verbs = {os.path.basename(path)[:-2] for path in files(".c", under="tools/takt/verb")}
blocks = "\n".join(re.findall(r"^```[^\n]*\n(.*?)^```", readme, re.DOTALL | re.MULTILINE))
spans = "\n".join(re.findall(r"`([^`\n]+)`", readme))

for line in (blocks + "\n" + spans).splitlines():
    command = re.sub(r"#.*", "", line).strip().removeprefix("$ ")
    words = [word for word in command.split() if "=" not in word or not word[0].isupper()]
    if words[:1] == ["make"]:
        for word in words[1:]:
            if re.fullmatch(r"[a-z]+", word) and word not in targets:
                complain(f"README.md: `{command}`: the Makefile has no target {word}")
    elif words[:1] in (["build/takt"], ["takt"]) and re.fullmatch("[a-z]+", (words + [""])[1]):
        two = "_".join(words[1:3])  # `benchmark run` is the verb of benchmark_run.c
        if verbs and words[1] not in verbs | {"help"} and two not in verbs:
            complain(f"README.md: `{command}`: there is no verb {words[1]}")
    for word in words:
        if re.match(r"(scripts|examples|docs|tests|cmake|include|src)/[\w./-]+$", word):
            if not os.path.exists(os.path.join(ROOT, word)):
                complain(f"README.md: `{command}`: there is no {word}")
for link in re.findall(r"\]\(([^)#:]+)\)", readme):
    if not os.path.exists(os.path.join(ROOT, link)):
        complain(f"README.md: there is no {link}")
finish()
