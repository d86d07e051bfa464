"""encoders_slow.py - models with encoder and decoder (T5 and its kin) as transformers writes them
into folders: scores as torch has them, 64 greedy tokens, greedy text by the command, vectors of the
encoder alone; each also as GGUF. Needs the packages torch, transformers and tokenizers in
build/venv."""
import json
import os
import shutil
import subprocess
import sys

from _library import BUILD, TMP, takt
from _transformers import converted, opened, read, torch, transformers

import tokenizers  # pylint: disable=wrong-import-order
from safetensors.torch import save_file  # pylint: disable=wrong-import-order

VOCABULARY, WRITTEN, WITHIN = 320, 64, 1e-4
PROMPTS = (5, 40, 300)  # tokens: near and far distances, beyond the last bucket
BASE = {"vocab_size": VOCABULARY, "d_model": 64, "d_kv": 16, "d_ff": 96, "num_layers": 2,
        "num_decoder_layers": 3, "num_heads": 4, "decoder_start_token_id": 0}
GATED = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
CASES = {
    "t5": ("T5", {"feed_forward_proj": "relu"}),
    "t5_gated": ("T5", GATED),
    "t5_head": ("T5", {**GATED, "d_kv": 24}),
    "t5_buckets": ("T5", {"relative_attention_num_buckets": 12,
                          "relative_attention_max_distance": 40}),
    "mt5": ("MT5", {**GATED, "num_heads": 2}),
    "umt5": ("UMT5", GATED),
}
WORDS = """the model reads a prompt with its encoder and writes an answer with its decoder; a word
that is near counts more than one that is far, and what was written before is read again""".split()


def write_tokenizer(folder):
    """Unigram with T5's marks and end; hugging_face.py has its normaliser."""
    made = tokenizers.Tokenizer(tokenizers.models.Unigram())
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    made.decoder = tokenizers.decoders.Metaspace()
    trainer = tokenizers.trainers.UnigramTrainer(
        vocab_size=VOCABULARY, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>",
        show_progress=False)
    made.train_from_iterator([" ".join(WORDS[i:i + 7]) for i in range(len(WORDS))] * 3, trainer)
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)])
    whole = json.loads(made.to_str())
    pieces = whole["model"]["vocab"]  # every id of the model is a piece
    pieces += [[f"#{i}", -20.0] for i in range(len(pieces), VOCABULARY)]
    made = tokenizers.Tokenizer.from_str(json.dumps(whole))
    made.save(os.path.join(folder, "tokenizer.json"))
    with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as file:
        file.write('{"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}')
    return made


def randomise(model):
    torch.manual_seed(5)
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.normal_(0, 0.1 if p.dim() == 1 or "shared" not in name else 0.05)
            if "norm" in name:
                p.add_(1.0)
            if "relative" in name:
                p.normal_(0, 1.0)


def save(name):
    kind, extra = CASES[name]
    folder = os.path.join(TMP, "folder_" + name)
    shutil.rmtree(folder, ignore_errors=True)
    config = getattr(transformers, kind + "Config")(**{**BASE, **extra})
    model = getattr(transformers, kind + "ForConditionalGeneration")(config).eval().float()
    randomise(model)
    model.save_pretrained(folder)
    if name == "t5_head":  # a separate head, as in T5 1.1
        model.lm_head.weight = torch.nn.Parameter(torch.randn(VOCABULARY, BASE["d_model"]) * 0.05)
        state = {k: v.clone() for k, v in model.state_dict().items() if "embed_tokens" not in k}
        save_file(state, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
    return model, folder, write_tokenizer(folder)


def answer(model, generator, prompt):
    """64 greedy tokens of both; how far the scores are apart, or None if a token differs."""
    new, told, worst = prompt, [0], 0.0
    for _ in range(WRITTEN):
        got = read(generator, new)
        with torch.no_grad():
            want = model(input_ids=torch.tensor([prompt]), use_cache=False,
                         decoder_input_ids=torch.tensor([told])).logits[0, -1]
        worst = max(worst, (got - want).abs().max().item())
        if got.argmax() != want.argmax():
            return None
        new = [int(want.argmax())]
        told += new
    # The written file can be read at once too.
    takt.takt_generator_reset(generator)
    read(generator, prompt)
    again = read(generator, told[1:])
    return max(worst, (again - read_last(model, prompt, told)).abs().max().item())


def read_last(model, prompt, told):
    with torch.no_grad():
        return model(input_ids=torch.tensor([prompt]), use_cache=False,
                     decoder_input_ids=torch.tensor([told])).logits[0, -1]


def compare(name, model, path):
    worst = 0.0
    generator = opened(path, context=512)
    draw = torch.Generator().manual_seed(1)
    try:
        for length in PROMPTS:
            takt.takt_generator_reset(generator)
            prompt = torch.randint(3, VOCABULARY, (length,), generator=draw).tolist()
            away = answer(model, generator, prompt)
            if away is None:
                print(f"{name}: {length} tokens: another token")
                return False
            worst = max(worst, away)
    finally:
        takt.takt_generator_destroy(generator)
    print(f"{name}: {WRITTEN} tokens after {PROMPTS}, at most {worst:.2g} away")
    return worst < WITHIN


def text(name, model, path, tokenizer):
    """The command's text equals that of transformers."""
    prompt = " ".join(WORDS[3:14])
    run = subprocess.run([os.path.join(BUILD, "takt"), "generate", path, "-p", prompt, "-n", "24",
                          "--temp", "0", "--ignore-eos", "--no-display-prompt", "--quiet"],
                         capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise ValueError(run.stderr)
    ids = tokenizer.encode(prompt).ids
    with torch.no_grad():
        out = model.generate(torch.tensor([ids]), max_new_tokens=24, min_new_tokens=24,
                             do_sample=False, use_cache=False, suppress_tokens=[1])[0].tolist()
    want = tokenizer.decode(out[1:], skip_special_tokens=True)
    if run.stdout.strip() != want.strip():
        print(f"{name}: wrote {run.stdout!r}, not {want!r}")
    return run.stdout.strip() == want.strip()


def vector(name, model, path, tokenizer):
    """The mean of the encoder's outputs for a text, normalised to length 1."""
    prompt = " ".join(WORDS)
    run = subprocess.run([os.path.join(BUILD, "takt"), "embed", path, prompt, "--json"],
                         capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise ValueError(run.stderr)
    ids = tokenizer.encode(prompt).ids
    with torch.no_grad():
        want = model.get_encoder()(torch.tensor([ids])).last_hidden_state[0].mean(0)
    want = want / want.norm()
    worst = (torch.tensor(json.loads(run.stdout)["embedding"]) - want).abs().max().item()
    print(f"{name}: the encoder's vector is at most {worst:.2g} away")
    return worst < WITHIN


def alone(name, model, tokenizer):
    """The encoder in a folder of its own."""
    folder = os.path.join(TMP, "folder_" + name + "_encoder")
    shutil.rmtree(folder, ignore_errors=True)
    part = getattr(transformers, CASES[name][0] + "EncoderModel")(model.config).eval()
    part.load_state_dict(model.state_dict(), strict=False)
    part.save_pretrained(folder)
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    path = converted(name + "_encoder", folder)
    return (vector(name + " alone", model, folder, tokenizer) and
            vector(name + " alone, as GGUF", model, path, tokenizer))


def check(name):
    model, folder, tokenizer = save(name)
    path = converted(name, folder)
    return all([compare(name, model, folder), compare(name + " as GGUF", model, path),
                text(name, model, folder, tokenizer), text(name, model, path, tokenizer),
                vector(name, model, folder, tokenizer),
                vector(name + " as GGUF", model, path, tokenizer), alone(name, model, tokenizer)])


def main():
    failed = []
    for name in sys.argv[1:] or CASES:
        try:
            good = check(name)
        except ValueError as error:
            print(f"{name}: {error}")
            good = False
        if not good:
            failed.append(name)
    print(f"{len(failed)} failed: {' '.join(failed)}")
    sys.exit(len(failed) > 0)


if __name__ == "__main__":
    main()
