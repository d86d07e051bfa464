"""unpacked_slow.py - GGUF files as folders: transformers loads them and gives the same scores as
for the original model; Takt's scores of the folder equal those of the file, and the tokenizer gives
the same ids. Needs the packages torch and transformers in build/venv."""
import ctypes
import json
import os
import shutil
import subprocess
import sys

from _library import BUILD, TMP, ctx, failure, takt
from _transformers import converted, opened, read, torch, transformers
from folders_slow import CASES, VOCABULARY, save

WITHIN = 1e-4
NOT = ("falcon", "falcon_new", "mpt", "mpt_clipped", "gptoss", "olmoe",
       "qwen2moe")  # folders are not written
TEXT = "It's 1234 words,  und Äpfel\n\n我想"


def unpacked(name, path):
    folder = os.path.join(TMP, "unpacked_" + name)
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    if takt.takt_text_unpack(ctx, path.encode(), folder.encode(), None) != 0:
        raise failure()
    return folder


def check(name):
    model, folder = save(name)
    path = converted(name, folder)
    new = unpacked(name, path)
    again = transformers.AutoModelForCausalLM.from_pretrained(
        new, dtype=torch.float32, attn_implementation="eager").eval()
    ids = torch.randint(3, VOCABULARY, (24,), generator=torch.Generator().manual_seed(1)).tolist()
    with torch.no_grad():
        theirs, ours = (m(torch.tensor([ids])).logits[0, -1] for m in (model, again))
    scores = []
    for place in (path, new):
        generator = opened(place)
        scores.append(read(generator, ids))
        takt.takt_generator_destroy(generator)
    worst = float((theirs - ours).abs().max())
    own = float((scores[0] - scores[1]).abs().max())
    words = transformers.AutoTokenizer.from_pretrained(new)
    told = subprocess.run([os.path.join(BUILD, "takt"), "tokenize", path, TEXT, "--ids"],
                          capture_output=True, text=True, check=True).stdout
    same = words(TEXT)["input_ids"] == json.loads(told)
    print(f"{name}: torch {worst:.1e}, own {own:.1e}{'' if same else ', other ids'}")
    return worst > WITHIN or own > WITHIN / 10 or not same


def main():
    takt.takt_generator_destroy.argtypes = [ctypes.c_void_p]
    wrong = 0
    for name in sys.argv[1:] or [n for n in CASES if n not in NOT]:
        try:
            wrong += check(name)
        except (ValueError, RuntimeError, OSError) as error:
            print(f"{name}: {error}")
            wrong += 1
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
