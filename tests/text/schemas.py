"""schemas.py - random texts of grammars that JSON schemas became: jsonschema accepts all of them.
Needs the package jsonschema."""
import ctypes
import json
import os
import random
import sys

from _schemas import SCHEMAS

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("TAKT_BUILD_DIR", os.path.join(ROOT, "build/release"))
SEED = int(os.environ.get("SEED", "202611"))

try:
    import jsonschema
except ImportError:
    print("skipped: the package jsonschema is not there")
    sys.exit(77)
library = os.path.join(BUILD, "libtakt.so")
if not os.path.exists(library):
    print(f"skipped: {library} is not built")
    sys.exit(77)
takt = ctypes.CDLL(library)
takt.takt_last_error.restype = takt.takt_grammar_text.restype = ctypes.c_char_p
takt.takt_matcher_can_end.restype = ctypes.c_bool
ctx = ctypes.c_void_p()
takt.takt_ctx_create(None, ctypes.byref(ctx))

LIKELY = b'"]},:{[0123456789.-eE tfn"\\abcdXZ_/ulrs\n'


def write(matcher, chooser):
    """A text that the grammar accepts, one random byte after another."""
    text = b""
    takt.takt_matcher_reset(matcher)
    while len(text) < 4000:
        if takt.takt_matcher_can_end(matcher) and chooser.random() < 0.5:
            return text
        order = list(range(256))
        chooser.shuffle(order)
        likely = list(LIKELY)
        chooser.shuffle(likely)
        ends = list(b'"]}' + b",") if len(text) > 40 else []
        for byte in ends + likely + order:
            if takt.takt_matcher_accept_bytes(matcher, bytes([byte]), ctypes.c_size_t(1)) == 0:
                text += bytes([byte])
                break
        else:
            return text if takt.takt_matcher_can_end(matcher) else None
    return None


failures = texts = 0
for schema in SCHEMAS:
    dice = random.Random(SEED)
    data = json.dumps(schema).encode()
    grammar, follower = ctypes.c_void_p(), ctypes.c_void_p()
    if takt.takt_grammar_of_schema(ctx, data, ctypes.c_size_t(len(data)), ctypes.byref(grammar)):
        failures += 1
        print(f"{schema}: {takt.takt_last_error(ctx).decode()}")
        continue
    takt.takt_matcher_create(grammar, None, ctypes.byref(follower))
    for _ in range(15):
        got = write(follower, dice)
        if got is None:
            continue  # it went on too long
        texts += 1
        try:
            jsonschema.validate(json.loads(got), schema)
        except (ValueError, jsonschema.ValidationError) as error:
            failures += 1
            print(f"seed {SEED}: {schema}: {got!r}: {str(error)[:200]}")
    takt.takt_matcher_destroy(follower)
    takt.takt_grammar_destroy(grammar)
takt.takt_ctx_destroy(ctx)
print(f"{len(SCHEMAS)} schemas, {texts} texts, {failures} failures")
sys.exit(failures > 0 or texts < 400)
