"""serve_guesses.py - a server with speculative decoding: the same texts, alone and with others."""
import concurrent.futures
import re

from _cli import expect, fails, finish
from _serve import Server

TINY = "tests/corpus/gguf/tiny.gguf"
T5 = "tests/corpus/gguf/tiny_t5.gguf"
BERT = "tests/corpus/gguf/tiny_bert.gguf"
ASKS = [{"prompt": prompt, "max_tokens": 24, "seed": 5, "temperature": heat}
        for prompt in ("a b a b c a b", "c c a b a b", "a a a a") for heat in (0, 0.9)]


def metric(server, name):
    return int(re.search(rf"^takt:{name} (\d+)$", server.ask("GET", "/metrics")[1],
                         re.MULTILINE).group(1))


def written(server, asks):
    with concurrent.futures.ThreadPoolExecutor(len(asks)) as pool:
        got = list(pool.map(lambda ask: server.post("/v1/completions", ask), asks))
    return [g[1]["choices"][0]["text"] for g in got]


def main():
    with Server(TINY, "-c", "48") as server:
        want = [written(server, [ask])[0] for ask in ASKS]
        one = metric(server, "kv_cache_bytes")
        expect(metric(server, "draft_tokens_total") == 0, "it guesses without being told")
    for flags in (["--lookup"], ["-md", TINY, "--draft", "4"],
                  ["-md", TINY, "--lookup", "--draft-p-min", "0.01"]):
        for parallel in ("1", "3"):
            with Server(TINY, "-c", "48", "--parallel", parallel, *flags) as server:
                alone = [written(server, [ask])[0] for ask in ASKS]
                # One draft follows whichever text is alone.
                caches = metric(server, "kv_cache_bytes")
                drafts = 1 if "-md" in flags else 0
                expect(caches == one * (int(parallel) + drafts), f"{caches} of {one}, {flags}")
                expect(alone == want, f"{flags}, {parallel}: {alone}, not {want}")
                right = metric(server, "draft_tokens_accepted_total")
                expect(0 < right <= metric(server, "draft_tokens_total"), f"{flags}: {right}")
                for _ in range(2):
                    among = written(server, ASKS)
                    expect(among == want, f"{flags}, {parallel}: {among}, not {want}")
                many = server.post("/v1/completions", {**ASKS[0], "n": 3})[1]["choices"]
                expect([c["text"] for c in many] == [want[0]] * 3, f"{flags}: {many}")
    fails(1, "serve", T5, "--lookup", "--port", "0", says=["3765", "forget"])
    fails(1, "serve", BERT, "--lookup", "--port", "0", says=["3765", "writes texts"])
    fails(1, "serve", TINY, "-md", "tests/corpus/hf_tiny", "--port", "0",
          says=["3765", "draft", "family"])
    fails(1, "serve", T5, "-md", "tests/corpus/hf_tiny", "--port", "0",
          says=["3765", "draft", "family"])
    fails(2, "serve", TINY, "--draft", "4", "--port", "0", says=["--lookup"])


main()
finish()
