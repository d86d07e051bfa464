"""_seeds_words.py - every class of bad input has words that lead a fuzzer to it, written as
dictionaries write them."""
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LEAST, LARGEST = r"\x80" * 9 + r"\x01", r"\xff" * 8 + r"\x7f"
WORDS = {
    "onnx": [
        [r"\x08\x80\x80\x80\x80\x10"], [r"\x08" + r"\xff" * 9 + r"\x01", r"\x08" + LEAST],
        [r"\x08\x00"], [r"\x4a\x0c"], [r"\x10\x15", r"\x10\x16", r"\x10\x19", r"\x10\x1a"],
        [r"\x22\x0c", r"\x3a\x03"], [r"\x10\x00", r"\x10\x08", r"\x10\x0e", r"\x10\x8f\x4e"],
        ["location", "../", "/etc/passwd", r"C:\\x"], ["offset", "length", "-1"],
        [r"\xff" * 11, r"\x02\x00", r"\x0b\x0c", r"\x0e", r"\x0f"], [r"\x3a\x64"],
        [r"\x10\x01\x10\x01"], [r"\xba\x3e"], ["then_branch", "body"], ["my", r"\xca\x01"],
        [r"\x0a\x00", r"\x12\x01x"], [r"\x42\x02\x10\x00", r"\x42\x06\x10\x80\x80\x80\x80\x08"],
        ["strides", "dilations", "group", "pads", "auto_pad"],
        ["Gather", "ScatterElements", "ScatterND", "OneHot"],
        ["Slice", "Reshape", "Squeeze", "Concat", "Transpose", "Expand", "Tile", "Pad", "Range",
         "Resize", "TopK", "Split"],
        ["Add", r"\x0a\x02\x08\x01" * 4], ["Loop", r"\x08" + LARGEST],
        ["QuantizeLinear", r"\x00\x00\xc0\x7f", r"\x00\x00\x80\x7f"], [r"\x7a", "sparse_value"],
        ["axis", r"\xaa\x01", r"\x22\x80\x80\x80\x80\x04"],
        ["Constant", r"\x70\x01", "takt.state."]],
    "safetensors": [
        [r"\x00\x00\x00"], [r"\xff" * 8, r"\x00\xe1\xf5\x05\x00\x00\x00\x00"], [" {", r"}\x00"],
        [r"\xc0\x80", r"\\ud800", r"\xef\xbb\xbf"], [r"{\"a\":" * 4], [r"\"a\":{},\"a\":{}"],
        [r"\"__metadata__\""], [r"\"dtype\"", r"\"shape\"", r"\"data_offsets\""],
        [r"\"F32\"", r"\"f32\""], ["-2", "2.0", "1e3", r"\"3\"", "null"],
        ["9223372036854775807"], ["[8,0]"], ["[0,4]"], ["[1,3]"], ["[3,5]"], ["[0,8]"],
        ["18446744073709551615"], ["[]", "[0,0]"], [r"\"F4\""], ["[1,5]"],
        [r"\"shape\":[0],\"data_offsets\":[0,0]"], ["../"]],
    "npy": [
        [r"\x93NUMPY\x04\x00", r"\x93NUMPY\xff\x00"], [r"\xff\xff"], ["(((((((("], ["Maybe"],
        ["'|O'", "'>f4'", "<f3", "[('a', "], ["(-2,)", "18446744073709551616"], ["(0, "],
        [r"), }\x0a"]],
    "json": [
        ["[[[["], ["1e999", "-0", "0123"], [r"\\u0000", r"\\ud800"], [r"\"a\":1,\"a\":1"], [",]"],
        [r"\xef\xbb\xbf"], ["NaN", "Infinity"], [r"\"k1\":"], [r"\""], ["//"]],
    "taktp": [
        [r"\x89TAKTP\x1a\x0a"], [r"\x00\x00\x00\x00"], [r"\x02\x00\x00\x00"], [r"\x41\x00\x00\x00"],
        ["grph", "wght", "line", "data", "new!"],
        [r"\x11\x00\x00\x00", r"\xff" * 8, r"\x00" * 7 + r"\x80"],
        [r"\x40\x00\x00\x00\x00\x00\x00\x00"], ["ref=0", "ref=-1", "tensor("]],
}
CLASSES = {"onnx": 26, "safetensors": 22, "npy": 8, "json": 10, "taktp": 8}


def check_words(writes=False):
    """Every class has words, and the dictionary has them; `writes`: from now on."""
    wrong = []
    for target, classes in WORDS.items():
        path = os.path.join(ROOT, "tests", "fuzz", target + ".dict")
        with open(path, encoding="latin-1") as file:
            have = {line.strip() for line in file}
        if len(classes) != CLASSES[target] or not all(classes):
            wrong.append(f"{target} has words for {len(classes)} classes of {CLASSES[target]}")
        lacks = [(f'"{word}"', number) for number, words in enumerate(classes, 1)
                 for word in words if f'"{word}"' not in have]
        if writes and lacks:
            with open(path, "a", encoding="latin-1") as file:
                file.write("# Of the classes of bad input (tests/onnx/seeds.py).\n"
                           + "".join(word + "\n" for word, _ in lacks))
        wrong += [f"tests/fuzz/{target}.dict lacks {word} of class {n}" for word, n in lacks]
    return wrong


def check_classes(seeds):
    """Every class has a seed; those whose defect is a large file or a neighbouring file are also
    made by hostile_large.c and hostile_files.py."""
    numbers = {target: set() for target in CLASSES}
    for name in seeds:
        target, rest = name.split("/")
        digits = rest.removeprefix("legal_")[:2]
        if digits.isdigit():
            numbers[target].add(int(digits))
    elsewhere = {"safetensors": {21, 22}, "onnx": {22}}
    written = ("onnx", "safetensors", "npy", "taktp")
    return [f"{target} has no seed of class {n}" for target in written
            for n in range(1, CLASSES[target] + 1)
            if n not in numbers[target] | elsewhere.get(target, set())]
