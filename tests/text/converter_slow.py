"""converter_slow.py - GGUF files that llama.cpp's own converter writes (convert_hf_to_gguf.py in
PyPI's sources of llama-cpp-python) of the models of folders_slow.py, encoders_slow.py and of
MiniLM: scores and vectors as torch has them, 64 greedy tokens. Needs the packages torch,
transformers, sentencepiece and tokenizers in build/venv, and PyPI.

    tests/text/converter_slow.py [NAME...]    of these models alone
"""
import contextlib
import importlib.util
import json
import os
import sys

import folders_slow
from _library import TMP, in_venv
from _pypi import sources
from folders_slow import CASES, VOCABULARY, compare, save

try:
    import sentencepiece
    import encoders_slow
    import minilm_slow
except ImportError:
    in_venv("sentencepiece, tokenizers, torch, transformers")

PIECES = ("gemma", "phi3")  # it wants a tokenizer.model of these


def converter():
    """convert(folder, name), which gives the path of the file: llama.cpp's."""
    folder = sources("llama-cpp-python", "vendor/llama.cpp")
    sys.path[:0] = [os.path.join(folder, "gguf-py"), folder]
    spec = importlib.util.spec_from_file_location(
        "convert_hf_to_gguf", os.path.join(folder, "convert_hf_to_gguf.py"))
    theirs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(theirs)
    from conversion.base import ModelBase, TextModel  # pylint: disable=import-outside-toplevel
    known, settings = TextModel.get_vocab_base_pre, ModelBase.load_hparams

    def pre(self, tokenizer):
        """It knows released tokenizers by a hash; those of the tests cut words as GPT-2 does."""
        try:
            return known(self, tokenizer)
        except NotImplementedError:
            return "gpt-2"

    def load(model, is_mistral_format):
        """With what transformers 5 leaves out."""
        with open(os.path.join(model, "config.json"), encoding="utf-8") as file:
            return {**settings(model, is_mistral_format), **json.load(file)}
    TextModel.get_vocab_base_pre = pre
    ModelBase.load_hparams = staticmethod(load)

    def convert(model, name):
        path = os.path.join(TMP, f"{name}.theirs.gguf")
        before, sys.argv = sys.argv, ["convert", model, "--outfile", path, "--outtype", "f32"]
        try:
            with contextlib.redirect_stdout(sys.stderr):
                theirs.main()
        except (Exception, SystemExit) as error:  # pylint: disable=broad-exception-caught
            raise ValueError(f"the converter refuses it: {error!r:.300}") from error
        finally:
            sys.argv = before
        return path
    return convert


def write_pieces(folder, kind="bpe", count=VOCABULARY):
    """SentencePiece's own model, with as many pieces as the model scores."""
    lines = os.path.join(folder, "lines.txt")
    with open(lines, "w", encoding="utf-8") as file:
        file.write("\n".join(" ".join(encoders_slow.WORDS[i:] + encoders_slow.WORDS[:i])
                             for i in range(len(encoders_slow.WORDS))))
    sentencepiece.SentencePieceTrainer.train(
        input=lines, model_prefix=os.path.join(folder, "tokenizer"), model_type=kind,
        vocab_size=count, byte_fallback=True, pad_id=0, bos_id=1, eos_id=2, unk_id=3,
        hard_vocab_limit=False, minloglevel=2)
    os.remove(lines)


def changed(folder, name, change):
    """A file of the folder after change(its object)."""
    path = os.path.join(folder, name)
    with open(path, encoding="utf-8") as file:
        whole = json.load(file)
    change(whole)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(whole, file)


def prepare(name, folder):
    """What the converter wants of a folder, whose names are those of transformers 4."""
    def config(c):
        c["n_ctx"] = c.get("n_positions", 0)
        c["rotary_pct"] = (c.get("rope_parameters") or {}).get("partial_rotary_factor", 1.0)
        if c.get("multi_query") and not c.get("new_decoder_architecture"):
            c["num_kv_heads"] = 1
        c["architectures"] = [a.replace("MptFor", "MPTFor") for a in c["architectures"]]
    changed(folder, "config.json", config)
    changed(folder, "tokenizer_config.json", lambda c: c.update(
        tokenizer_class="PreTrainedTokenizerFast", eos_token="</s>"))
    if name.startswith(PIECES):
        write_pieces(folder)


def expressible(name):
    """The model with what the converter passes over as it takes it to be."""
    kind, more = CASES[name]
    more = dict(more)
    if "query_pre_attn_scalar" in more:
        more["query_pre_attn_scalar"] = more["head_dim"]
    if kind in ("Phi", "GPT2", "Falcon"):
        more.update(intermediate_size=256, n_inner=256, ffn_hidden_size=256)
    if kind == "Mistral":
        more["sliding_window"] = None
    if kind == "Mamba":
        more["vocab_size"] = VOCABULARY + -VOCABULARY % 8
    CASES[name] = kind, more


def check(name, convert):
    expressible(name)
    model, folder = save(name)
    prepare(name, folder)
    return compare(name, model, convert(folder, name))


def check_t5(name, convert):
    kind, more = encoders_slow.CASES[name]
    encoders_slow.BASE["num_decoder_layers"] = encoders_slow.BASE["num_layers"]
    encoders_slow.CASES[name] = kind, {**more, "relative_attention_max_distance": 128,
                                       "tie_word_embeddings": name != "t5_head"}
    model, folder, _ = encoders_slow.save(name)
    write_pieces(folder, "unigram", encoders_slow.VOCABULARY)
    return encoders_slow.compare(name, model, convert(folder, name))


def check_minilm(name, convert):
    folder = minilm_slow.fetched()
    texts = minilm_slow.sentences()
    want = minilm_slow.Theirs(folder).each(texts)
    return minilm_slow.told(name, minilm_slow.ours(convert(folder, name), texts), want)


def main():
    convert = converter()
    # Of mt5 only models with a head of their own exist; this one has none.
    encoders = [name for name in encoders_slow.CASES if name != "mt5"]
    checks = {**{name: check for name in CASES}, **{name: check_t5 for name in encoders},
              "minilm": check_minilm}
    failed = []
    for name in sys.argv[1:] or checks:
        try:
            good = checks[name](name, convert)
        except ValueError as error:
            print(f"{name}: {error}")
            good = False
        if not good:
            failed.append(name)
    print(f"{len(failed)} failed: {' '.join(failed)}")
    return failed


if __name__ == "__main__":
    sys.exit(len(main()) > 0)
