"""serve_tools.py - tools: input of the template, calls in answers of every format, whole and
streamed, and refusals. A grammar forces the answers of a model with random weights."""
import http.client
import json
import os

import _words
from _cli import TMP, expect, finish
from _serve import Server

MODEL = _words.write()
TOOLS = [{"type": "function", "function": {"name": name, "description": "d", "parameters": {
    "type": "object", "properties": {"a": {"enum": ["b", "c"]}}, "required": ["a"],
    "additionalProperties": False}}} for name in ("ab", "ca")]
CHAT = {"messages": [{"role": "user", "content": "a"}], "max_tokens": 300, "tools": TOOLS,
        "temperature": 2, "seed": 5}
TEMPLATES = {
    "tagged": "{{ tools | tojson if tools else 'b' }}<tool_call>{{ messages[0].content }}",
    "listed": "[TOOL_CALLS]{{ messages[0].content }}",
    "bare": "<|python_tag|>{{ messages[0].content }}",
    "xml": "<tool_call><function={{ messages[0].content }}",
}
CALL = '{"name": "ab", "arguments": {"a": "b"}}'
OTHER = '{"name": "ca", "arguments": {"a": "c"}}'
BOTH = [("ab", {"a": "b"}), ("ca", {"a": "c"})]
# The forced output of the model, by template: content (... is all of it) and calls.
ANSWERS = [
    ("tagged", f"a b<tool_call>{CALL}</tool_call>", "a b", BOTH[:1]),
    ("tagged", f"<tool_call>\n{CALL}\n</tool_call>\n<tool_call>\n{OTHER}\n</tool_call>", None,
     BOTH),
    ("tagged", f"<tool_call>{CALL}", None, BOTH[:1]),
    ("tagged", "<tool_call>{}</tool_call>", ..., []),
    ("tagged", '<tool_call>{"name": "no", "arguments": {}}</tool_call>', ..., []),
    ("tagged", "a b <tool_cal", ..., []),
    ("listed", f"a[TOOL_CALLS][{CALL}]", "a", BOTH[:1]),
    ("listed", '[TOOL_CALLS]ab[ARGS]{"a": "b"}[TOOL_CALLS]ca{"a": "c"}', None, BOTH),
    ("bare", CALL.replace("arguments", "parameters"), None, BOTH[:1]),
    ("bare", f"<|python_tag|>{CALL}; {OTHER}", None, BOTH),
    ("bare", "a {b}", ..., []),
    ("xml", f"<tool_call>{CALL}</tool_call>", ..., []),
]


def calls_of(message):
    return [(c["function"]["name"], json.loads(c["function"]["arguments"]))
            for c in message.get("tool_calls") or []]


def ask(server, body):
    status, got = server.post("/v1/chat/completions", body)
    expect(status == 200, f"{body}: {got}")
    return got["choices"][0] if status == 200 else {"message": {"content": None}}


def stream(server, body):
    link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    link.request("POST", "/v1/chat/completions", json.dumps({**body, "stream": True}))
    events = [line[6:] for line in link.getresponse().read().decode().split("\n\n")
              if line.startswith("data: ")]
    link.close()
    pieces = [json.loads(event)["choices"][0] for event in events[:-1]]
    calls = [c for p in pieces for c in p["delta"].get("tool_calls", [])]
    content = "".join(p["delta"].get("content") or "" for p in pieces)
    return content, calls, pieces[-1]["finish_reason"]


def answer(server, text, content, calls):
    body = {**CHAT, "grammar": "root ::= " + json.dumps(text)}
    content = text if content is ... else content
    choice = ask(server, body)
    message, reason = choice["message"], choice.get("finish_reason")
    expect(message["content"] == content and calls_of(message) == calls, f"{text!r}: {message}")
    expect(reason == ("tool_calls" if calls else "stop"), f"{choice}")
    ids = [c["id"] for c in message.get("tool_calls", [])]
    expect(len(set(ids)) == len(ids) == len(calls), f"{ids}")
    shown, parts, last = stream(server, body)
    expect(shown == (content or "") and calls_of({"tool_calls": parts}) == calls and
           [c["index"] for c in parts] == list(range(len(calls))) and last == reason,
           f"{text!r} as a stream: {shown!r} {parts} {last}")
    del body["tools"]
    message = ask(server, body)["message"]
    expect("tool_calls" not in message and message["content"] == text, f"no tools: {message}")


def control(server):
    """The mark of a call may be a control token, whose name is not part of other texts."""
    body = {**CHAT, "max_tokens": 2, "ignore_eos": True,
            "logit_bias": {str(_words.WORDS.index("[TOOL_CALLS]")): 1000}}
    expect(ask(server, body)["message"]["content"] == "[TOOL_CALLS]" * 2, "a mark is lost")
    expect(ask(server, {**body, "tools": None})["message"]["content"] == "", "a mark is shown")


def choices(server):
    for choice, names in (("required", {"ab", "ca"}),
                          ({"type": "function", "function": {"name": "ca"}}, {"ca"})):
        for seed in range(4):
            got = ask(server, {**CHAT, "tool_choice": choice, "seed": seed})["message"]
            calls = calls_of(got)
            expect(len(calls) == 1 and calls[0][0] in names and calls[0][1]["a"] in "bc",
                   f"{choice}: {got}")
    size = {}
    for choice in ("none", "auto", None):
        body = {**CHAT, "max_tokens": 1, "tool_choice": choice}
        size[choice] = server.post("/v1/chat/completions", body)[1]["usage"]["prompt_tokens"]
    expect(size["none"] < size["auto"] == size[None], f"the template saw: {size}")
    named = {"function": {"name": "ab"}}
    for wrong, words in (({"tools": 3}, "tools"), ({"tools": [{"function": {}}]}, "tools"),
                         ({"tool_choice": "some"}, "tool_choice"),
                         ({"tool_choice": 1}, "tool_choice"),
                         ({"tool_choice": {"function": {"name": "no"}}}, "tool_choice"),
                         ({"tools": [], "tool_choice": named}, "no tools"),
                         ({"tools": None, "tool_choice": "required"}, "no tools"),
                         ({"tool_choice": "required", "grammar": 'root ::= "a"'}, "excludes"),
                         ({"tool_choice": "required", "tools": [{"function": {
                             "name": "f", "parameters": {"not": {}}}}]}, "not")):
        status, got = server.post("/v1/chat/completions", {**CHAT, **wrong})
        expect(status == 400 and words in got["error"]["message"], f"{wrong}: {status} {got}")


def history():
    """Arguments of earlier calls reach the template as objects; nothing is written for 0 tokens."""
    path = os.path.join(TMP, "history.jinja")
    with open(path, "w", encoding="utf-8") as file:
        file.write("{% for m in messages %}{% for c in m.tool_calls or [] %}"
                   "{{ 'a b' if c.function.arguments is mapping else 'a' }}{% endfor %}"
                   "{{ m.content or '' }}{% endfor %}")
    with Server(MODEL, "--chat-template", path) as server:
        sizes = []
        for arguments in ('{"a": 1}', {"a": 1}, "[1]"):
            body = {"max_tokens": 0, "messages": [
                {"role": "user", "content": "a"},
                {"role": "assistant", "content": None, "tool_calls": [
                    {"id": "1", "type": "function",
                     "function": {"name": "f", "arguments": arguments}}]},
                {"role": "tool", "tool_call_id": "1", "content": "c"}]}
            status, got = server.post("/v1/chat/completions", body)
            expect(status == 200 and got["usage"]["completion_tokens"] == 0 and
                   got["choices"][0]["message"]["content"] == "" and
                   got["choices"][0]["finish_reason"] == "length", f"{got}")
            sizes.append(got["usage"]["prompt_tokens"])
        expect(sizes[0] == sizes[1] > sizes[2], f"{sizes}")


for kind, source in TEMPLATES.items():
    where = os.path.join(TMP, kind + ".jinja")
    with open(where, "w", encoding="utf-8") as out:
        out.write(source)
    with Server(MODEL, "--chat-template", where, "--parallel", "2") as running:
        for template, *rest in ANSWERS:
            if template == kind:
                answer(running, *rest)
        if kind == "listed":
            control(running)
        if kind == "tagged":
            choices(running)
history()
finish()
