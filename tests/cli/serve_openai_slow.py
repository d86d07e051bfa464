"""serve_openai_slow.py - the package openai talks to the server: models, completions, conversations
whole and streamed, tools, logprobs, forms, vectors, errors. Needs the package openai."""
import json
import os

import _venv
from _cli import TMP, expect, finish, parsed

try:
    import openai
except ImportError:
    _venv.instead("openai")
import _words
from _serve import Server

MODEL = _words.write()
TEMPLATE = os.path.join(TMP, "openai.jinja")
KEYS = os.path.join(TMP, "keys")
TOOL = {"type": "function", "function": {"name": "ab", "parameters": {
    "type": "object", "properties": {"a": {"enum": ["b", "c"]}}, "required": ["a"],
    "additionalProperties": False}}}
SAID = [{"role": "user", "content": "a"}]


def client_of(server, key="k"):
    return openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key=key, max_retries=0)


def texts(client):
    want = parsed("generate", MODEL, "a b", "-n", "12", "-s", "3", "--json")["text"]
    got = client.completions.create(model="words", prompt="a b", max_tokens=12, seed=3)
    expect(got.choices[0].text == want and got.usage.completion_tokens <= 12, f"{got}")
    pieces = client.completions.create(model="words", prompt="a b", max_tokens=12, seed=3,
                                       stream=True)
    expect("".join(p.choices[0].text for p in pieces) == want, "a stream differs")


def conversations(client):
    ask = {"model": "words", "messages": SAID, "max_tokens": 12, "seed": 3}
    whole = client.chat.completions.create(**ask, n=2, logprobs=True, top_logprobs=3)
    expect(len(whole.choices) == 2 and whole.choices[0].message.role == "assistant", f"{whole}")
    logs = whole.choices[0].logprobs.content
    expect(logs and all(t.logprob <= 0 and len(t.top_logprobs) == 3 for t in logs), f"{logs}")
    text = ""
    for piece in client.chat.completions.create(**ask, stream=True,
                                                stream_options={"include_usage": True}):
        text += (piece.choices[0].delta.content or "") if piece.choices else ""
        usage = piece.usage
    expect(text == whole.choices[0].message.content and usage.completion_tokens > 0,
           f"{text!r}, not {whole.choices[0]}")
    form = {"type": "json_schema", "json_schema": {"name": "f", "schema": {
        "type": "object", "properties": {"x": {"enum": [1, 2]}}, "required": ["x"],
        "additionalProperties": False}}}
    held = client.chat.completions.create(**{**ask, "max_tokens": 200}, response_format=form)
    expect(json.loads(held.choices[0].message.content)["x"] in (1, 2), f"{held}")
    none = client.chat.completions.create(**{**ask, "max_tokens": 0})
    expect(none.choices[0].message.content == "" and none.choices[0].finish_reason == "length",
           f"{none}")


def tools(client):
    ask = {"model": "words", "messages": SAID, "tools": [TOOL], "seed": 3, "max_tokens": 300}
    forced = client.chat.completions.create(**ask, tool_choice="required").choices[0]
    call = forced.message.tool_calls[0]
    expect(forced.finish_reason == "tool_calls" and call.function.name == "ab" and
           json.loads(call.function.arguments)["a"] in "bc", f"{forced}")
    written = '<tool_call>{"name": "ab", "arguments": {"a": "c"}}</tool_call>'
    more = {"extra_body": {"grammar": "root ::= " + json.dumps("a " + written)}}
    found = client.chat.completions.create(**ask, **more).choices[0].message
    expect(found.content == "a " and json.loads(
        found.tool_calls[0].function.arguments) == {"a": "c"}, f"{found}")
    parts = [p.choices[0].delta for p in client.chat.completions.create(**ask, **more, stream=True)]
    calls = [c for d in parts for c in d.tool_calls or []]
    expect("".join(d.content or "" for d in parts) == "a " and calls[0].function.name == "ab",
           f"{parts}")
    answered = SAID + [found.model_dump(exclude_none=True),
                       {"role": "tool", "tool_call_id": found.tool_calls[0].id, "content": "b"}]
    last = client.chat.completions.create(**{**ask, "messages": answered, "max_tokens": 4})
    expect(last.usage.completion_tokens <= 4, f"{last}")


def errors(client, server):
    for kind, call in (
            (openai.BadRequestError, lambda: client.completions.create(
                model="words", prompt="a", temperature=-1)),
            (openai.NotFoundError, lambda: client.embeddings.create(model="words", input="a")),
            (openai.AuthenticationError, lambda: client_of(server, "no").models.list())):
        try:
            call()
            expect(False, f"{kind.__name__} is not raised")
        except kind as error:
            expect(error.body["message"] != "", f"{error}")


with open(TEMPLATE, "w", encoding="utf-8") as out:
    out.write("{% for m in messages %}{{ m.content or '' }} {% endfor %}<tool_call>")
with open(KEYS, "w", encoding="utf-8") as out:
    out.write("k\n")
with Server(MODEL, "--chat-template", TEMPLATE, "--api-key", KEYS, "--parallel", "2") as running:
    one = client_of(running)
    expect([m.id for m in one.models.list().data] == ["words"], "models")
    expect(one.models.retrieve("words").id == "words", "a model")
    texts(one)
    conversations(one)
    tools(one)
    errors(one, running)
with Server("tests/corpus/gguf/tiny_bert.gguf") as running:
    vectors = client_of(running).embeddings.create(model="tiny_bert", input=["a b", "c"],
                                                   encoding_format="float")
    expect(len(vectors.data) == 2 and
           abs(sum(x * x for x in vectors.data[0].embedding) - 1) < 1e-5, f"{vectors}")
finish()
