"""decoders_slow.py - decoders as optimum exports them, caches as inputs and outputs: greedy
decoding of 64 tokens gives onnxruntime's tokens.

Small GPT-2, Llama, T5 and Whisper with random weights; of the last two the merged decoder, which
chooses its branch by use_cache_branch. Needs torch, transformers, optimum-onnx and onnxruntime,
here or in build/venv (TAKT_VENV), and Takt's Python extension; without them this is skipped. Names
as arguments select some.
"""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("TAKT_BUILD_DIR", os.path.join(ROOT, "build", "release"))
VENV = os.environ.get("TAKT_VENV", os.path.join(ROOT, "build", "venv"))
TMP = os.environ.get("TAKT_TEST_TMP", "/tmp")
os.environ["HF_HUB_OFFLINE"] = "1"
sys.path.insert(0, os.path.join(BUILD, "python"))

try:
    import numpy as np
    import onnxruntime
    import torch
    import transformers
    from optimum.exporters.onnx import main_export
except ImportError:
    PYTHON = os.path.join(VENV, "bin", "python")
    if os.path.exists(PYTHON) and os.environ.get("TAKT_IN_VENV") is None:
        os.environ["TAKT_IN_VENV"] = "1"
        os.execv(PYTHON, [PYTHON, os.path.abspath(sys.argv[0]), *sys.argv[1:]])
    print("skipped: torch, transformers, optimum-onnx and onnxruntime are not installed")
    sys.exit(77)
try:
    import takt
except ImportError:
    print("skipped: the extension was not built: Python's headers are missing (python3-dev)")
    sys.exit(77)

TOKENS, WORDS, BATCH = 64, 100, 2
EDGE = {"vocab_size": WORDS, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 0}
SPEECH = {**EDGE, "num_mel_bins": 16, "encoder_layers": 2, "encoder_attention_heads": 2,
          "decoder_layers": 2, "decoder_attention_heads": 2, "decoder_ffn_dim": 64,
          "encoder_ffn_dim": 64, "d_model": 32, "max_source_positions": 1500,
          "max_target_positions": 128, "decoder_start_token_id": 3, "init_std": 0.4}
MODELS = {
    "gpt2": ("text-generation-with-past", lambda: transformers.GPT2LMHeadModel(
        transformers.GPT2Config(n_layer=2, n_head=2, n_embd=32, n_positions=128,
                                initializer_range=0.4, **EDGE))),
    "llama": ("text-generation-with-past", lambda: transformers.LlamaForCausalLM(
        transformers.LlamaConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=2,
                                 num_attention_heads=4, num_key_value_heads=2,
                                 max_position_embeddings=128, initializer_range=0.4, **EDGE))),
    "t5": ("text2text-generation-with-past", lambda: transformers.T5ForConditionalGeneration(
        transformers.T5Config(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
                              decoder_start_token_id=0, initializer_factor=3.0, **EDGE))),
    "whisper": ("automatic-speech-recognition-with-past",
                lambda: transformers.WhisperForConditionalGeneration(
                    transformers.WhisperConfig(**SPEECH))),
}
failures = []


def export(name):
    task, make = MODELS[name]
    folder = os.path.join(TMP, name)
    torch.manual_seed(0)
    make().eval().save_pretrained(folder + "-hf")
    main_export(folder + "-hf", output=folder, task=task, do_validation=False)
    return folder


def runtime(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def empty_past(session):
    """Caches without rows: the first dimension is the batch, other names are 0, also in the
    encoder's cache, which is not read yet."""
    return {port.name: np.zeros([d if isinstance(d, int) else BATCH if k == 0 else 0
                                 for k, d in enumerate(port.shape)], np.float32)
            for port in session.get_inputs() if port.name.startswith("past_key_values")}


def encode(folder, make):
    """The encoder's output for random input; None without an encoder."""
    path = os.path.join(folder, "encoder_model.onnx")
    if not os.path.exists(path):
        return None
    session, rng = make(path), np.random.default_rng(1)
    given = {"input_ids": rng.integers(2, WORDS, (BATCH, 9)),
             "attention_mask": np.ones((BATCH, 9), np.int64),
             "input_features": rng.standard_normal((BATCH, 16, 3000)).astype(np.float32)}
    ports = {port.name for port in session.get_inputs()}
    return session.run(None, {key: v for key, v in given.items() if key in ports})[0]


def feed_of(ports, ids, past, hidden):
    """All inputs that a step may need, after `past` rows."""
    new = ids.shape[1]
    known = {"input_ids": ids, "decoder_input_ids": ids, "use_cache_branch": np.array([past > 0]),
             "attention_mask": np.ones((BATCH, past + new), np.int64),
             "position_ids": np.tile(np.arange(past, past + new), (BATCH, 1)),
             "cache_position": np.arange(past, past + new)}
    if hidden is not None:
        known["encoder_hidden_states"] = hidden
        known["encoder_attention_mask"] = np.ones(hidden.shape[:2], np.int64)
    return {key: v for key, v in known.items() if key in ports}


def greedy(folder, make, hidden):
    """The tokens, and the largest score of each."""
    path = os.path.join(folder, "decoder_model_merged.onnx" if hidden is not None else "model.onnx")
    session = make(path)
    ports = {port.name for port in session.get_inputs()}
    names = [port.name for port in session.get_outputs()]
    cache, past = empty_past(session), 0
    ids = np.full((BATCH, 1), 3) if hidden is not None else np.array([[5, 17, 2], [80, 33, 61]])
    tokens, scores = [], []
    for _ in range(TOKENS):
        out = dict(zip(names, session.run(None, {**feed_of(ports, ids, past, hidden), **cache})))
        for key, value in out.items():
            # A branch that passes the encoder's cache through unchanged returns none.
            if key.startswith("present") and (past == 0 or ".encoder." not in key):
                cache[key.replace("present", "past_key_values")] = value
        past += ids.shape[1]
        last = np.asarray(out["logits"])[:, -1]
        ids = last.argmax(axis=-1)[:, None].astype(np.int64)
        tokens.append(ids[:, 0].tolist())
        scores.append(last.max(axis=-1))
    return tokens, np.array(scores)


def check(name):
    folder = export(name)
    hidden = encode(folder, runtime)
    ours = encode(folder, takt.InferenceSession)
    if hidden is not None and not np.allclose(ours, hidden, rtol=1e-3, atol=1e-4):
        failures.append(f"{name}: the encoder differs by {np.abs(ours - hidden).max()}")
    want, scores = greedy(folder, runtime, hidden)
    got, own = greedy(folder, takt.InferenceSession, hidden)
    if got != want:
        step = next(i for i in range(TOKENS) if got[i] != want[i])
        failures.append(f"{name}: token {step} is {got[step]}, onnxruntime's {want[step]}")
    elif not np.allclose(own, scores, rtol=1e-3, atol=1e-3):
        failures.append(f"{name}: scores differ by {np.abs(own - scores).max()}")
    words = len({word for row in want for word in row})
    if words < 4:
        failures.append(f"{name}: only {words} different tokens")
    print(f"{name}: {TOKENS} tokens, {words} different ones, "
          f"scores differ by {np.abs(own - scores).max():.2g}")


if __name__ == "__main__":
    for model_name in sys.argv[1:] or MODELS:
        check(model_name)
    print("\n".join(failures) or "all tokens are onnxruntime's")
    sys.exit(1 if failures else 0)
