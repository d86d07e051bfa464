"""templates.py - chat templates against jinja2: the same text for the same conversation. Our own
templates, and those of tests/corpus/template, which use every statement, filter, test and method.
TAKT_TEMPLATES names a folder with more (*.jinja). Needs the package jinja2."""
import ctypes
import glob
import itertools
import json
import os
import sys
import time

from _library import ROOT, ctx, in_venv, takt

try:
    import jinja2
    import jinja2.ext
    import jinja2.sandbox
except ImportError:
    in_venv("jinja2")
SINK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
failures = 0


class Generation(jinja2.ext.Extension):
    """Hugging Face's {% generation %}."""
    tags = {"generation"}

    def parse(self, parser):
        next(parser.stream)
        return parser.parse_statements(["name:endgeneration"], drop_needle=True)


def reference(text, variables):
    """As Hugging Face sets jinja2 up."""
    class Refused(Exception):
        pass

    def refuse(message):
        raise Refused(message)

    def to_json(value, indent=None, ensure_ascii=False, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                          sort_keys=sort_keys)

    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols, Generation])
    env.filters["tojson"] = to_json
    env.globals["raise_exception"] = refuse
    env.globals["strftime_now"] = lambda how: time.strftime(how, time.gmtime(SECONDS))
    try:
        return env.from_string(text).render(bos_token="", eos_token="",
                                            **{"add_generation_prompt": True, **variables})
    except Exception as error:  # whatever it is: the conversation is refused
        return error


SECONDS = 1700000000


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("is_complete", ctypes.c_bool),
                ("seconds", ctypes.c_int64)]


def ours(text, variables):
    chat, got = ctypes.c_void_p(), []
    data = text.encode()
    if takt.takt_chat_parse(ctx, b"t", data, ctypes.c_size_t(len(data)), ctypes.byref(chat)):
        return ValueError(takt.takt_last_error(ctx).decode(errors="replace"))
    sink = SINK(lambda _, at, length: got.append(ctypes.string_at(at, length)) or 0)
    options = Options(ctypes.sizeof(Options), False, SECONDS)
    given = json.dumps(variables).encode()
    status = takt.takt_chat_render(chat, None, given, ctypes.byref(options), sink, None)
    takt.takt_chat_destroy(chat)
    if status:
        return ValueError(takt.takt_last_error(ctx).decode(errors="replace"))
    return b"".join(got).decode()


def compare(name, text, variables):
    global failures
    want, got = reference(text, variables), ours(text, variables)
    if isinstance(want, Exception) and isinstance(got, Exception):
        return "refused"
    if want != got:
        failures += 1
        print(f"{name}: {got!r}\n   jinja2: {want!r}\n   for {json.dumps(variables)[:200]}")
        return "differs"
    return "same"


def user(text):
    return {"role": "user", "content": text}


def says(text, **more):
    return {"role": "assistant", "content": text, **more}


SYSTEM = {"role": "system", "content": "Be kind."}
CALL = {"type": "function", "id": "c1", "function": {
    "name": "weather", "arguments": {"city": "Köln", "days": 2, "exact": True, "x": None}}}
TOOL = {"type": "function", "function": {
    "name": "weather", "description": "What it is like", "parameters": {
        "type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"]}}}
CONVERSATIONS = [
    {"messages": [user("Hello")]},
    {"messages": [SYSTEM, user("  Hi  ")]},
    {"messages": [user("a"), says("b"), user("c")]},
    {"messages": [SYSTEM, user("a"), says(" b "), user("c"), says("d"), user("e")]},
    {"messages": [user("Zeile 1\nZeile 2\n"), says("é 我 \"q\" 'r' <b>&\\")]},
    {"messages": [user("")]},
    {"messages": [user("a"), says("b")], "add_generation_prompt": False},
    {"messages": [SYSTEM, user("weather?")], "tools": [TOOL]},
    {"messages": [user("w"), says("", tool_calls=[CALL]),
                  {"role": "tool", "content": "sun", "tool_call_id": "c1", "name": "weather"},
                  user("thanks")], "tools": [TOOL]},
    {"messages": [user("w"), says(None, tool_calls=[CALL])], "tools": None},
    {"messages": [{"role": "user", "content": [{"type": "text", "text": "one"},
                                               {"type": "text", "text": "two"}]}]},
    {"messages": [says("first"), user("a"), user("b")], "enable_thinking": False},
]

cases = []
for path in sorted(glob.glob(os.path.join(ROOT, "src/text/chat/*.jinja")) +
                   glob.glob(os.path.join(ROOT, "tests/corpus/template/*.jinja"))):
    if not os.path.basename(path).startswith("bomb"):
        cases.append((os.path.basename(path), open(path, encoding="utf-8").read()))
counts = {"same": 0, "refused": 0, "differs": 0}
for (title, body), conversation in itertools.product(cases, CONVERSATIONS):
    counts[compare(title, body, conversation)] += 1
print(f"{len(cases)} templates, {len(CONVERSATIONS)} conversations: {counts}")
if counts["same"] < 560:
    failures += 1
    print("too few are the same")
more = os.environ.get("TAKT_TEMPLATES", "/nowhere")
for path in sorted(glob.glob(os.path.join(more, "*.jinja"))):
    body = open(path, encoding="utf-8").read()
    results = [compare(os.path.basename(path), body, c) for c in CONVERSATIONS]
    print(os.path.basename(path), {r: results.count(r) for r in set(results)})
takt.takt_ctx_destroy(ctx)
sys.exit(failures > 0)
