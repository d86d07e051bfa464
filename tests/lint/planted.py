"""planted.py - the lints detect what they are meant to: each must object to a bad tree."""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LONG = "/* deep.c - too long. */\nvoid takt_f(void)\n{\n" + "    ;\n" * 70 + "}\n"
WIDE = ("/* wide.c - too wide. */\n"
        "void takt_g(int a, int b, int c, int d, int e, int f, int g)\n{\n"
        "    if (a) {\n        if (b) {\n            if (c) {\n                if (d) {\n"
        "                }\n            }\n        }\n    }\n}\n")
FILES = {
    "src/base/up.c": '/* up.c - looks down. */\n#include "ir/graph.h"\n',
    "src/odd/x.c": "/* x.c - in a folder that is not listed. */\n",
    "tools/takt/main.c": '/* main.c - peeps. */\n#include "base/arena.h"\n',
    "src/base/deep.c": LONG,
    "src/base/wide.c": WIDE,
    "src/base/loud.c": "/* loud.c - prints, allocates, exports. */\n#include <stdio.h>\n"
                       "#include <stdlib.h>\nvoid *other(void);\nvoid takt_low(void);\n"
                       "void *other(void) { puts(\"\"); takt_low(); return malloc(1); }\n",
    "src/ir/low.c": "/* low.c - is called from above. */\nvoid takt_low(void);\n"
                    "void takt_low(void) {}\n",
    "src/base/words.c": "/* words.c - reads words. */\nint f(const struct s *s)\n{\n"
                        "    return strcmp(s->kernel, \"gemm\") + takt_backend_ref.x;\n}\n",
    "src/base/german.c": "/* german.c - is no sentence, and lies beside others. */\n",
    "src/kernel/README.md": "| x | `z.inc` |\n",
    "src/kernel/x/y.inc": "/* y.inc - has no place in the reading order. */\n",
    "src/base/round.c": "/* round.c - wraps. */\n"
                         "size_t takt_r(size_t n) { return (n + 63) & ~(size_t)63; }\n",
    "src/base/name.c": "/* other.c - carries another name. */\n",
    "include/takt/takt.h": "/** takt.h - does not compile. */\n\nTAKT_API size_t takt_h(void);\n",
    "include/takt/lost.h": "/** lost.h - not included by takt.h. */\n",
    "README.md": "```\nmake nonsense\n```\nSee [this](nowhere.md) and `scripts/none`.\n",
    "ARCHITECTURE.md": "| `base/` | nearly all |\n| `ir/` | the rest |\n\n"
                       "`base/up.c`, `src/base/NAME.c`, `base/down.c`\n",
    "docs/howto.md": "See `wide.c` and `narrow.c`. Run `build/fast/unit_up --all`.\n",
    "CMakePresets.json": '{"configurePresets": [{"name": "fast"}]}\n',
    "Makefile": "run:\n",
}
# lint: its expected message
WANTED = {
    "layers": ["base may not include ir/graph.h", "src/odd is not in the list", "not base/arena.h",
               "has the folders base ir, not base os kernel"],
    "documents": ["ARCHITECTURE.md: there is no `base/down.c`",
                  "docs/howto.md: there is no `narrow.c`", "does not name src/odd/",
                  "docs/howto.md: nothing is built as build/fast/unit_up"],
    "sizes": ["takt_f (line 3) has", "takt_g (line 3) has more than 6", "nests deeper than 3"],
    "words": ['german.c:1: "is no s"', 'german.c:1: "beside"'],
    "style": ["name.c: does not begin", "round.c: rounds a size up by hand"],
    "facts": ["words.c:4: reads words where", "words.c: names the backend ref"],
    "headers": ["takt/takt.h does not compile alone", "takt.h does not include takt/lost.h",
                "takt/takt.h: takt_h has no comment", "lost.h: the opening comment does not say",
                "x/y.inc: not in the reading order", "x has no file z.inc"],
    "references": ["loud.c: refers to malloc", "loud.c: refers to puts",
                   "base/loud.c: refers to takt_low of src/ir, which lies below it"],
    "exports": ["other is exported by libtakt.so but",
                "takt_h is declared with TAKT_API but not exported"],
    "readme": ["no target nonsense", "there is no nowhere.md", "there is no scripts/none"],
}



def compile_loud(tree, build):
    """The inputs of the lints of objects and libraries."""
    objects = []
    cc = os.environ.get("CC", "cc")
    for name in ("base/loud", "ir/low"):
        made = os.path.join(build, f"CMakeFiles/takt_objects.dir/src/{name}.c.o")
        os.makedirs(os.path.dirname(made))
        source = os.path.join(tree, f"src/{name}.c")
        subprocess.run([cc, "-fPIC", "-c", source, "-o", made], check=True)
        objects.append(made)
    for name in ("libtakt.so", "libtakt-measure.so"):
        subprocess.run([cc, "-shared", *objects, "-o", os.path.join(build, name)], check=True)


failed = 0
with tempfile.TemporaryDirectory() as tree:
    for path, text in FILES.items():
        full = os.path.join(tree, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
    shutil.copytree(HERE, os.path.join(tree, "tests", "lint"))
    compile_loud(tree, os.path.join(tree, "build"))
    for lint, sentences in WANTED.items():
        run = subprocess.run([sys.executable, "-B", os.path.join(tree, "tests/lint", lint + ".py")],
                             text=True, capture_output=True, check=False,
                             env={**os.environ, "GIT_CEILING_DIRECTORIES": os.path.dirname(tree),
                                  "TAKT_BUILD_DIR": os.path.join(tree, "build")})
        for sentence in sentences:
            if run.returncode != 1 or sentence not in run.stdout:
                failed += 1
                print(f"{lint} exits with {run.returncode} and does not say '{sentence}':")
                print(run.stdout + run.stderr)
sys.exit(1 if failed else 0)
