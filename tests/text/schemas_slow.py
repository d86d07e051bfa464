"""schemas_slow.py - texts that a model writes at temperature 5, held to JSON schemas: jsonschema
accepts all of them. Needs the package jsonschema and stories260K (TAKT_DATA).

COUNT: texts of each schema (5), SEED. Texts cut off by the context are incomplete, and not counted.
"""
import json
import os
import subprocess
import sys

from _library import BUILD, ROOT, TMP
from _schemas import SCHEMAS

try:
    import jsonschema
except ImportError:
    print("skipped: the package jsonschema is not there")
    sys.exit(77)

DATA = os.environ.get("TAKT_DATA", os.path.join(ROOT, "..", "shared", "data"))
MODEL = os.path.join(DATA, "llm", "stories260K", "stories260K-F32.gguf")
COUNT, SEED = (int(os.environ.get(name, value)) for name, value in (("COUNT", "5"), ("SEED", "1")))
if not os.path.exists(MODEL):
    print(f"skipped: {MODEL} is not there")
    sys.exit(77)


def write(schema, seed):
    """COUNT texts that were ended by the grammar."""
    form, prompts = os.path.join(TMP, "form.json"), os.path.join(TMP, "prompts.txt")
    with open(form, "w", encoding="utf-8") as file:
        json.dump(schema, file)
    with open(prompts, "w", encoding="utf-8") as file:
        file.writelines(f"{seed} tells {number}\n" for number in range(COUNT))
    done = subprocess.run(
        [os.path.join(BUILD, "takt"), "generate", MODEL, "-f", prompts, "-np", "8", "-n", "400",
         "-c", "512", "--temp", "5", "--top-k", "0", "--top-p", "1", "--min-p", "0", "-s",
         str(seed), "--json-schema", form, "--json", "--no-display-prompt"],
        capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{schema}: {done.stdout[-400:]} {done.stderr[-400:]}")
    return [text for text in json.loads(done.stdout) if text["end"] == "eos"]


failures = texts = 0
for index, given in enumerate(SCHEMAS):
    for got in write(given, SEED + index):
        texts += 1
        try:
            jsonschema.validate(json.loads(got["text"]), given)
        except (ValueError, jsonschema.ValidationError) as error:
            failures += 1
            print(f"{given}: {got['text']!r}: {str(error)[:200]}")
print(f"{len(SCHEMAS)} schemas, {texts} of {COUNT * len(SCHEMAS)} texts complete, "
      f"{failures} failures")
sys.exit(failures > 0 or texts < COUNT * len(SCHEMAS) // 2)
