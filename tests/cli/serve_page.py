"""serve_page.py - the page at / as a browser runs it: its script chats with a real server, shows
speed, queue and memory, stops an answer, begins another conversation, and tells what goes wrong.
The document is a few lines of JavaScript; without Node.js only the names of facts are checked."""
import json
import os
import re
import shutil
import subprocess

import _words
from _cli import TMP, expect, finish
from _serve import Server

TINY = "tests/corpus/gguf/tiny.gguf"
BERT = "tests/corpus/gguf/tiny_bert.gguf"

# Elements remember what the page sets; `say` types a text and waits for the answer.
BROWSER = r"""
function element() {
  return {textContent: "", className: "", value: "", disabled: false, kids: [],
          append(e) { this.kids.push(e); }, replaceChildren() { this.kids = []; },
          requestSubmit() {}};
}
const elements = new Proxy({}, {get: (all, id) => all[id] = all[id] || element()});
globalThis.document = {getElementById: id => elements[id], createElement: element,
                       body: {scrollHeight: 1000}};
globalThis.innerHeight = 600;
globalThis.scrollY = 400;
const scrolled = [];
globalThis.scrollTo = (x, y) => scrolled.push(y);
globalThis.setInterval = () => 0;
const net = globalThis.fetch, sent = [];
const more = {}; // added to each request
globalThis.fetch = (path, how) => {
  if (how) {
    sent.push(JSON.parse(how.body));
    how.body = JSON.stringify({...JSON.parse(how.body), ...more});
  }
  return net(BASE + path, how);
};
elements.temp.value = "0";
const wait = async good => {
  for (let i = 0; i < 2000 && !good(); i++) await new Promise(done => setTimeout(done, 5)); };
async function say(text) {
  elements.say.value = text;
  elements.form.onsubmit({preventDefault() {}});
  await wait(() => !elements.send.disabled);
  await look();
}
const lines = () => elements.talk.kids.map(e => [e.className, e.textContent]);
"""

CHAT = r"""
(async () => {
  const out = {};
  await wait(() => elements.facts.textContent.includes("running"));
  await say("a b");
  await say("c");
  out.two = lines();
  out.sent = sent;
  out.facts = elements.facts.textContent;
  out.scrolled = scrolled.splice(0).length;
  globalThis.scrollY = 0; // the reader looks at what was said before
  elements.clear.onclick();
  await say("a b");
  out.next = lines();
  out.still = scrolled.splice(0).length;
  await say("a ".repeat(900));
  out.long = lines().pop();
  out.back = elements.say.value.length;
  await say("a b");
  out.after = lines().pop();
  console.log(JSON.stringify(out));
})();
"""

STOP = r"""
(async () => {
  more.ignore_eos = true;
  await wait(() => elements.facts.textContent.includes("running"));
  elements.say.value = "a";
  elements.form.onsubmit({preventDefault() {}});
  await wait(() => elements.talk.kids.length > 1 && elements.talk.kids[1].textContent.length > 9);
  await look();
  const during = elements.facts.textContent;
  elements.stop.onclick();
  await wait(() => !elements.send.disabled);
  for (let i = 0; i < 400 && !elements.facts.textContent.includes("running 0"); i++) await look();
  console.log(JSON.stringify({during, after: elements.facts.textContent, lines: lines()}));
})();
"""

NOTHING = r"""
(async () => {
  await wait(() => elements.facts.textContent.includes("memory"));
  console.log(JSON.stringify({facts: elements.facts.textContent,
                              disabled: elements.send.disabled}));
})();
"""


def script_of(server):
    page = server.ask("GET", "/")[1]
    return re.search(r"<script>(.*)</script>", page, re.S).group(1)


def browse(server, then):
    path = os.path.join(TMP, "page.js")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"const BASE = 'http://127.0.0.1:{server.port}';\n" + BROWSER +
                   script_of(server) + then)
    run = subprocess.run([NODE, path], capture_output=True, text=True, timeout=60, check=False)
    expect(run.returncode == 0 and run.stdout, f"node: {run.stderr[-500:]}")
    return json.loads(run.stdout or "{}")


def facts(server, all_of):
    """Every fact of /health that the page shows exists."""
    health = json.loads(server.ask("GET", "/health")[1])
    names = set(re.findall(r"\bh\.([a-z]\w+)", script_of(server)))
    missing = {n for n in names if n not in health and (all_of or not n.startswith("kv_page"))}
    expect(len(names) > 8 and not missing, f"the page shows {missing}, which /health has not")


def chats(server):
    got = browse(server, CHAT)
    want = []
    for text in ("a b", "c"):
        want.append({"role": "user", "content": text})
        reply = server.post("/v1/chat/completions", {"messages": want, "temperature": 0})[1]
        want.append(reply["choices"][0]["message"])
    expect(got["two"] == [[m["role"], m["content"]] for m in want], f"{got['two']}, not {want}")
    expect(got["sent"][1]["messages"] == want[:3], f"{got['sent']}")
    expect(re.search(r"tiny on cpu .* ok .* running 0 of 2, waiting 0 .* memory [\d.]+ MiB "
                     r"\(weights [\d.]+ KiB, caches [\d.]+ \w+\).* first token \d+ ms, "
                     r"[\d.]+ tokens/s$", got["facts"]), got["facts"])
    expect(got["next"] == got["two"][:2], f"a new conversation is {got['next']}")
    expect(got["long"][0] == "error" and "the context has room" in got["long"][1], f"{got['long']}")
    expect(got["after"][0] == "assistant", f"after an error: {got['after']}")
    expect(got["back"] > 1700, f"a message that failed is lost: {got['back']} characters are left")
    pieces = sum(m["role"] == "user" for m in want) * 2
    expect(got["scrolled"] > pieces and got["still"] == 2, f"the page scrolls: {got}")


NODE = shutil.which("node")
if NODE is None:
    print("skipped: Node.js is not there")
with Server(TINY, "--parallel", "2", "--chat-template", "vicuna", "-c", "192",
            "--kv-pool", "1M") as served:
    facts(served, True)
    if NODE is not None:
        chats(served)
if NODE is not None:
    with Server(_words.write(context=16384), "--chat-template", "vicuna") as served:
        stopped = browse(served, STOP)
        expect("running 1" in stopped["during"] and "running 0" in stopped["after"] and
               stopped["lines"][1][0] == "assistant", f"{stopped}")
    for model in (BERT, "examples/mlp.takt"):
        with Server(model) as served:
            facts(served, False)
            none = browse(served, NOTHING)
            expect(none["disabled"] and "nothing to chat with" in none["facts"] and
                   "undefined" not in none["facts"], f"{model}: {none}")
finish()
