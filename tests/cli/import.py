"""import.py - models of several files, all of them beneath the model's folder."""
import json
import os
import struct

from _cli import expect, fails, finish, npy, parsed, path, succeeds, write

os.makedirs(path("imp/lib"), exist_ok=True)
write("imp/t.npy", npy((2,), [3, 5]))
write("imp/lib/u.npy", npy((2,), [10, 20]))
write("outside.takt", b"layer twice(x) { return x + x }\n")
write("outside.npy", npy((2,), [1, 1]))
head = json.dumps({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                   "b": {"dtype": "F32", "shape": [2], "data_offsets": [8, 16]}}).encode()
write("imp/w.safetensors", struct.pack("<Q", len(head)) + head + struct.pack("<4f", 1, 2, 100, 200))
write("imp/lib/blocks.takt", b'layer twice(x) {\n  return x + x + constant("u.npy")\n}\n')
main = write("imp/main.takt", b'''import "lib/blocks.takt"
model m(x: f32[2]) {
  "Adds tables."
  param w: f32[2] = tensor("w.safetensors", "b")
  return twice(x * 0) + constant(f32[2], "t.npy") + constant("w.safetensors", tensor="a") + w
}
''')
# 10 + 3 + 1 + 100, 20 + 5 + 2 + 200
ran = parsed("run", "--json", main)
expect("114" in json.dumps(ran) and "227" in json.dumps(ran), f"the sum is {ran}")

# The model's purpose is shown.
expect("Adds tables." in succeeds("inspect", main), "inspect hides the documentation")
expect("Adds tables." in succeeds("summary", main), "summary hides the documentation")
expect(parsed("summary", "--json", main).get("doc") == "Adds tables.", "summary --json has no doc")


def code(says):
    return 3001 if "cannot" in says else 2207


# Nothing beyond the folder, by name or by link.
for name, target in (("link.takt", "../outside.takt"), ("linked", "..")):
    if not os.path.islink(path("imp/" + name)):
        os.symlink(target, path("imp/" + name))
for line, says in (('import "../outside.takt"', "leads downwards"),
                   ('import "nothing.takt"', "cannot open nothing.takt"),
                   ('import "link.takt"', "cannot open link.takt"),
                   ('import "linked/outside.takt"', "cannot open linked/outside.takt"),
                   ('import "bad.takt"', "bad.takt imports bad.takt")):
    file = write("imp/bad.takt", (line + "\nmodel m(x: f32[2]) { return x + x }\n").encode())
    fails(1, "inspect", file, says=(f"bad.takt:1:8: error {code(says)}", says))
for value, says in (('"../outside.npy"', "leads downwards"),
                    ('"linked/outside.npy"', "cannot open linked/outside.npy"),
                    ('"main.takt"', "neither a .npy nor a .safetensors file"),
                    ('"w.safetensors"', "holds 2 tensors: say which one"),
                    ('"w.safetensors", tensor="c"', "holds no tensor called c"),
                    ('"t.npy", tensor="c"', "holds one array without a name")):
    text = f"model m(x: f32[2]) {{\n  return x + constant({value})\n}}\n"
    file = write("imp/bad.takt", text.encode())
    fails(1, "inspect", file, says=(f"bad.takt:2:23: error {code(says)}", says))
finish()
