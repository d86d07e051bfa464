"""serve_refusals.py - a bad part of a request is named, with its index and what is expected, and
the server goes on."""
import json
import math
import struct

import _words
from _cli import expect, finish
from _serve import Server

TINY = "tests/corpus/gguf/tiny.gguf"
BERT = "tests/corpus/gguf/tiny_bert.gguf"
TEXT, IDS = {"prompt": "a", "max_tokens": 2}, "a token id from 0 to 10 is expected"
FUNCTION = {"type": "function", "function": {"name": "f"}}

COMPLETIONS = [
    ({"prompt": [1, 2, "a"]}, "prompt[2]: " + IDS), ({"prompt": [1, -1]}, "prompt[1]: " + IDS),
    ({"prompt": [1.5]}, "prompt[0]: " + IDS), ({"prompt": [11]}, "prompt[0]: " + IDS),
    ({"prompt": {"a": 1}}, "prompt: a string or a list of token ids is expected"),
    ({"stop": ["a", 5]}, "stop[1]: a string is expected, without NUL"),
    ({"stop": ["a\0"]}, "stop[0]: a string is expected, without NUL"),
    ({"stop": ["a"] * 17}, "stop: at most 16 strings are expected"),
    ({"stop": {}}, "stop: a string or a list of strings is expected, without NUL"),
    ({"logit_bias": {"4": 1, "a": 1}}, 'logit_bias["a"]: its key is not a token id from 0 to 10'),
    ({"logit_bias": {"11": 1}}, 'logit_bias["11"]: its key is not a token id from 0 to 10'),
    ({"logit_bias": {"4": "a"}}, 'logit_bias["4"]: a number is expected'),
    ({"logit_bias": [[4, 1]]}, "logit_bias: an object of at most 64 ids and numbers is expected"),
    ({"samplers": ["top_k", 3]}, "samplers[1]: the name of a sampler is expected"),
    ({"dry_sequence_breakers": ["a", None]},
     "dry_sequence_breakers[1]: a string is expected, without NUL"),
    ({"stream_options": 3}, "stream_options: an object is expected"),
    ({"stream_options": {"include_usage": 3}},
     "stream_options.include_usage: true or false is expected")]

PART = '{"type": "text", "text": a string} is expected; this part has '
MESSAGES = [
    ([3], "messages[0]: an object with role and content is expected"),
    ([{"content": "a"}], "messages[0]: the role is missing"),
    ([{"role": 5}], "messages[0].role: a string is expected"),
    ([{"role": "user", "content": 5}],
     "messages[0].content: a string or a list of parts is expected"),
    ([{"role": "user", "content": "a"}, {"role": "user", "content": [
        {"type": "text", "text": "a"}, {"type": "image_url"}]}],
     "messages[1].content[1]: " + PART + "the type image_url"),
    ([{"role": "user", "content": ["a"]}], "messages[0].content[0]: " + PART + "no type"),
    ([{"role": "user", "content": [{"type": "text", "text": 3}]}],
     "messages[0].content[0]: " + PART + "no text that is a string"),
    ([{"role": "assistant", "tool_calls": 3}], "messages[0].tool_calls: a list is expected"),
    ([{"role": "assistant", "tool_calls": [FUNCTION, 3]}],
     'messages[0].tool_calls[1]: {"function": {"name": ..., "arguments": ...}} is expected'),
    ([], "messages: at least one message is expected"),
    ({}, "messages: a list of messages is expected")]

TOOLS = [([FUNCTION, {"type": "function"}], "tools[1]: "), (5, "tools: a list of at most 128"),
         ([FUNCTION, {"type": "function", "function": {"name": 5}}], "tools[1]: ")]

X = {"name": "x", "shape": [1, 784], "data": [0] * 784}
TENSORS = [
    (5, "inputs: a list of tensors is expected"),
    ([X, 3], "inputs[1]: an object with name, shape and data is expected"),
    ([{**X, "name": "z"}], "inputs[0].name: the model has no input z"),
    ([X, X], "inputs[1].name: x is given twice"),
    ([{**X, "shape": [784]}], "inputs[0].shape: 1 sizes; the model expects rank 2"),
    ([{**X, "shape": [1, 784.5]}], "inputs[0].shape: a list of sizes is expected"),
    ([{**X, "datatype": "INT64"}], "inputs[0].datatype: the model expects f32"),
    ([{**X, "data": "a"}], "inputs[0].data: a list of numbers is expected"),
    ([{**X, "data": [0] * 783}], "inputs[0].data: 783 numbers; the shape has 784"),
    ([{**X, "data": [0]}], "inputs[0].data: fewer numbers than the 784 of the shape"),
    ([{**X, "data": [0] * 785}], "inputs[0].data: 785 numbers; the shape has 784"),
    ([{**X, "data": [0] * 783 + ["a"]}], "inputs[0].data: number 783 is not of type f32")]

ROUTES = [("/tokenize", {"content": 5}, "content: a string is expected"),
          ("/tokenize", {"content": "a", "add_special": 5}, "add_special: true or false"),
          ("/detokenize", {"tokens": 5}, "tokens: a list of token ids is expected"),
          ("/detokenize", {"tokens": [1, 99]}, "tokens[1]: " + IDS)]


def without_text():
    """A server without a tokenizer suggests only what it has."""
    with Server("examples/mlp.takt") as server:
        for path, want in (("/tokenize", "is for language models, which this server does not have"),
                           ("/detokenize", "is for language models"),
                           ("/v1/completions", "is for models that generate text"),
                           ("/tokenise", ""), ("/v1/embedding", ""),
                           ("/v1/model", "; did you mean /v1/models?"),
                           ("/v1/infer/mlq", "; did you mean /v1/infer/mlp?"),
                           ("/v1/infer/", "; GET /v1/models lists the models"),
                           ("/v1/infer/other", "; GET /v1/models lists the models")):
            status, text, _ = server.ask("POST", path, "{}")
            text = json.loads(text)["error"]["message"]
            expect(status == 404 and (want in text if want else text.endswith(path)), text)


def damaged():
    """A model whose scores are NaN."""
    path = _words.write("nan.gguf")
    with open(path, "rb") as file:
        data = bytearray(file.read())
    data[-4:] = struct.pack("<f", math.nan) # of the last matrix
    with open(path, "wb") as file:
        file.write(data)
    return path


def refused(server, path, body, words):
    status, got = server.post(path, body)
    told = got.get("error", {}).get("message", "")
    expect(status == 400 and told.startswith(words) and got["error"]["code"] == 3783,
           f"{path} {str(body)[:100]}: {status} {str(got)[:200]}, not {words}")


with Server(TINY, "examples/mlp.takt", "--chat-template", "vicuna") as served:
    want = served.post("/v1/completions", {**TEXT, "seed": 1})[1]["choices"]
    for fields, say in COMPLETIONS:
        refused(served, "/v1/completions", {**TEXT, **fields}, say)
    for messages, say in MESSAGES:
        refused(served, "/v1/chat/completions", {"messages": messages}, say)
    for tools, say in TOOLS:
        refused(served, "/v1/chat/completions",
                {"messages": [{"role": "user", "content": "a"}], "tools": tools}, say)
    for inputs, say in TENSORS:
        refused(served, "/v1/infer/mlp", {"inputs": inputs}, say)
    for path, body, say in ROUTES:
        refused(served, path, body, say)
    again = served.post("/v1/completions", {**TEXT, "seed": 1})[1]["choices"]
    expect(again == want, f"after refusals: {again}, not {want}")
    # More letters than the context has room for, even if each token had the longest text.
    refused(served, "/v1/completions", {"prompt": "a" * 3000000}, "prompt: at least ")
    refused(served, "/v1/completions", {"prompt": "a" * 70}, "prompt: 71 tokens; the context")
with Server(damaged()) as served:
    status, got = served.post("/v1/completions", TEXT)
    expect(status == 500 and "NaN" in got["error"]["message"], f"{status} {got}")
    expect(served.ask("GET", "/health")[0] == 200, "a damaged model ends the server")
with Server(BERT) as served:
    refused(served, "/v1/embeddings", {"input": ["a", 5]}, "input[1]: a string is expected")
    refused(served, "/v1/embeddings", {}, "input: a string or a list of strings is expected")
without_text()
finish()
