"""sentence_piece.py - models trained by SentencePiece: the same ids for random strings, of BPE and
Unigram, with and without its table of characters. Needs the package sentencepiece in build/venv."""
import os
import random
import sys

from _library import TMP, in_venv

try:
    import sentencepiece
    from hugging_face import corpus, ctx, encode, takt, texts, SEED, STRINGS
except ImportError:
    in_venv("sentencepiece, tokenizers")
import ctypes  # pylint: disable=wrong-import-order

BYTES = {"byte_fallback": True, "normalization_rule_name": "identity",
         "remove_extra_whitespaces": False}
WAYS = {"spm_bpe": {"model_type": "bpe", **BYTES},
        "spm_bpe_plain": {"model_type": "bpe"},
        "spm_unigram": {"model_type": "unigram", **BYTES},
        "spm_unigram_nfkc": {"model_type": "unigram"},
        "spm_unspaced": {"model_type": "unigram", "add_dummy_prefix": False,
                         "normalization_rule_name": "identity"}}


def check(name, options):
    path = os.path.join(TMP, name)
    size = 1200 if options.get("byte_fallback") else 900
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(line.rstrip("\n") for line in corpus()), model_prefix=path,
        vocab_size=size, hard_vocab_limit=False, minloglevel=2, **options)
    theirs = sentencepiece.SentencePieceProcessor(model_file=path + ".model")
    ours, wrong = ctypes.c_void_p(), 0
    if takt.takt_tokenizer_load(ctx, (path + ".model").encode(), ctypes.byref(ours)):
        raise SystemExit(f"{name}: {takt.takt_last_error(ctx).decode()}")
    for text in texts(random.Random(SEED), False):
        text = text.replace("\0", "")
        want, got = theirs.encode(text), encode(ours, text, 0)
        if want != got:
            wrong += 1
            if wrong < 4:
                print(f"{name}: {text!r}: {got}, not {want}")
    takt.takt_tokenizer_destroy(ours)
    print(f"{name}: {wrong} of {STRINGS} differ")
    return wrong


sys.exit(sum(check(name, options) for name, options in WAYS.items()) > 0)
