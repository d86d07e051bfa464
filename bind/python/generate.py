"""generate.py - writes takt/ops.py and takt/nn.py, with stubs, from the engine's own description.

    generate.py --tool build/release/takt --layers src/lang/layers --out build/release/python/takt

Ops come from the records, as printed by `takt ops`, layers from the heads of their texts.
"""
import argparse
import json
import keyword
import os
import re
import subprocess

LEFT_OUT = {"constant", "input", "state", "get", "if", "loop", "scan", "custom"}
TYPES = {"int": "int", "float": "float", "bool": "bool", "string": "str", "dtype": "str",
         "ints": "Sequence[int]", "floats": "Sequence[float]", "strings": "Sequence[str]",
         "shape": "Sequence[int]", "one of": "str"}


# What a module says of names that it does not have.
OTHER_NAMES = ["", "", "def __getattr__(name):", "    import sys", "",
               "    from ._hints import missing",
               "    raise missing(sys.modules[__name__], name)", ""]


def ask(tool, *args):
    return subprocess.run([tool, *args], check=True, capture_output=True, text=True).stdout


def python_name(name):
    return name + "_" if keyword.iskeyword(name) else name


def attribute(text):
    """(type, default) of 'int = 1', 'one of a b = a', 'ints, required' or 'ints'."""
    kind = next(k for k in sorted(TYPES, key=len, reverse=True) if text.startswith(k))
    if text.endswith(", required"):
        return TYPES[kind], None
    value = text.rsplit(" = ", 1)[1] if " = " in text else "None"
    if kind == "one of":
        value = repr(value)
    value = {"true": "True", "false": "False", "inf": "float('inf')"}.get(value, value)
    return (f"Optional[{TYPES[kind]}]" if value == "None" else TYPES[kind]), value


def inputs_of(op):
    """(name, is optional) of each, and whether any number may follow."""
    words = [word.strip() for word in op["inputs"].split(",") if word.strip()]
    named = [(word.strip("[]"), word.startswith("[")) for word in words if word != "..."]
    return named, "..." in words


def signature(op):
    named, variadic = inputs_of(op)
    given = {name: attribute(text) for name, text in op.get("attributes", {}).items()}
    given = {name: it for name, it in given.items() if name != "stream"}
    if variadic:
        parts, typed = ["*xs"], ["*xs: Any"]
    else:
        parts = [f"{name}=None" if optional else name for name, optional in named]
        typed = [f"{name}: Any = ..." if optional else f"{name}: Any" for name, optional in named]
    if not variadic and parts:
        parts.append("/")
        typed.append("/")
    if given and not variadic:
        parts.append("*")
        typed.append("*")
    ordered = sorted(given.items(), key=lambda item: item[1][1] is not None)
    for name, (kind, value) in ordered:
        parts.append(python_name(name) + (f"={value}" if value is not None else ""))
        typed.append(f"{python_name(name)}: {kind}" + (" = ..." if value is not None else ""))
    values = "xs" if variadic else "(" + "".join(name + ", " for name, _ in named) + ")"
    attributes = ", ".join(f'"{name}": {python_name(name)}' for name, _ in ordered)
    return ", ".join(parts), ", ".join(typed), values, attributes


def documentation(op, text):
    lines = text.splitlines()
    docs = re.findall(r"^  (\w+): (.*?): (.*)$", text, re.MULTILINE)
    examples = re.findall(r"^  example: (.*)$", text, re.MULTILINE)
    made = [lines[0].split(": ", 1)[1].capitalize() + "."]
    if docs:
        made += ["", "Attributes:"] + [f"    {name}: {what} ({kind})" for name, kind, what in docs
                                       if name != "stream"]
    made += ["", "Types: " + " ".join(op["types"])]
    if examples:
        made += ["", "In the model language, with types for inputs:"]
        made += ["    " + example for example in examples[:3]]
    return "\n".join(line.replace("\\", "\\\\").replace('"""', "'''") for line in made)


def indented(text):
    return "\n".join("    " + line if line else "" for line in text.splitlines())


# ---- layers ----

SPELT = {"fft": "FFT", "gru": "GRU", "lstm": "LSTM", "rnn": "RNN", "mfcc": "MFCC"}
NO_CLASS = {"residual", "finite"}  # the first takes a layer's name, the second belongs to `ensure`


def class_name(name):
    return SPELT.get(name) or "".join(part.capitalize() for part in name.split("_"))


def literal(text):
    """A default of the language as Python writes it; words are strings."""
    text = {"true": "True", "false": "False"}.get(text, text)
    return text if re.fullmatch(r"True|False|-?[0-9][0-9.e+-]*", text) else repr(text)


def layer_of(path):
    """(name, what it is, tensors, [(parameter, type, default or None)]) of a layer's text."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    said = re.findall(r"^# ?(.*)$", text.split("layer ", 1)[0], re.MULTILINE)
    name, head = re.search(r"^layer (\w+)\((.*?)\) \{", text, re.MULTILINE | re.DOTALL).groups()
    parts = [re.fullmatch(r"(\w+)(?:: (\w+))?(?: ?= ?(.*))?", part.strip()).groups()
             for part in re.split(r",\s*(?![^\[]*\])", head)]
    kinds = {"int": "int", "float": "float", "bool": "bool"}
    given = [(n, kinds.get(kind, "Any"), literal(value) if value is not None else None)
             for n, kind, value in parts[1:]]
    return name, " ".join(said).split(" - ", 1)[1].strip(), parts[0][0], given


def layers(folder):
    code = ['"""Every layer of the model language as a module; written by generate.py."""',
            "from ._module import LayerModule as _LayerModule", ""]
    stub = ['"""Every layer of the model language as a module."""',
            "from typing import Any, Optional",
            "from ._module import LayerModule as _LayerModule", ""]
    names = []
    for file in sorted(os.listdir(folder)):
        name, what, first, given = layer_of(os.path.join(folder, file))
        if name in NO_CLASS:
            continue
        names.append(class_name(name))
        plain = "".join(f", {n}" + (f"={v}" if v is not None else "") for n, _, v in given)
        typed = "".join(f", {n}: {t}" + (" = ..." if v is not None else "") for n, t, v in given)
        kept = ", ".join(f'"{n}": {n}' for n, _, _ in given)
        what = what.replace("\\", "\\\\").replace('"""', "\'\'\'")
        code += ["", f"class {names[-1]}(_LayerModule):", f'    """{what}"""',
                 f'    _layer = "{name}"', "", f"    def __init__(self{plain}):",
                 f"        super().__init__({{{kept}}})", "",
                 f"    def forward(self, {first}, **tensors):",
                 f"        return self._call({first}, tensors)", ""]
        stub += ["", f"class {names[-1]}(_LayerModule):",
                 f"    def __init__(self{typed}) -> None: ...",
                 f"    def forward(self, {first}: Any, **tensors: Any) -> Any: ..."]
    listed = ", ".join(f'"{name}"' for name in names)
    end = ["", f"__all__ = [{listed}]"]
    return code + end + OTHER_NAMES, stub + end + [""]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("--layers", required=True)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    ops = [op for op in json.loads(ask(options.tool, "ops", "--json"))["ops"]
           if op["name"] not in LEFT_OUT]
    code = ['"""Every operation as a function of arrays; written by generate.py."""',
            "from ._ops import call as _call", ""]
    stub = ['"""Every operation as a function of arrays."""',
            "from typing import Any, Optional, Sequence", ""]
    for op in ops:
        name = python_name(op["name"])
        plain, typed, values, attributes = signature(op)
        text = documentation(op, ask(options.tool, "ops", op["name"]))
        code += ["", f"def {name}({plain}):", '    """' + indented(text).strip(), '    """',
                 f'    return _call("{op["name"]}", {values}, {{{attributes}}})', ""]
        stub += [f"def {name}({typed}) -> Any: ..."]
    names = ", ".join(f'"{python_name(op["name"])}"' for op in ops)
    texts = {op["name"]: [name for name, kind in op.get("attributes", {}).items()
                          if kind.startswith("string")] for op in ops}
    listed = ", ".join(f'"{name}": {found}' for name, found in texts.items() if found)
    code += ["", "# Attributes that are texts; other strings are words of the language.",
             f"_texts = {{{listed}}}"]
    code += ["", f"__all__ = [{names}]", *OTHER_NAMES]
    stub += ["", f"__all__ = [{names}]", ""]
    os.makedirs(options.out, exist_ok=True)
    nn_code, nn_stub = layers(options.layers)
    for file, rows in (("ops.py", code), ("ops.pyi", stub), ("nn.py", nn_code),
                       ("nn.pyi", nn_stub)):
        with open(os.path.join(options.out, file), "w", encoding="utf-8") as to:
            to.write("\n".join(rows))


if __name__ == "__main__":
    main()
