"""train_words.py - data with words in it: labels, missing values, arrays of text, folders of texts.
"""
import gzip
import io
import os
import shutil
import struct
import tarfile
import zipfile

from _cli import expect, fails, finish, parsed, path, succeeds, takt, write

NET = write("words_net.takt", """model net(x: f32[batch, 6]) seed=2 {
  return dense(x, 3)
}
""")
ROWS, WIDTH = 20, 6


def store(name, data):
    file = path("words/" + name)
    os.makedirs(os.path.dirname(file), exist_ok=True)
    with open(file, "wb") as out:
        out.write(data)
    return file


def refused(file, *says):
    """One sentence that names the file, and a hint."""
    told = fails(1, "data", file, says=says)
    expect(told.startswith("error[TAKT") and "\nhint: " in told, f"{file}: {told}")


def npy(values, shape, kind="<f4"):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + head.encode()
            + struct.pack(f"<{len(values)}{ {'<f4': 'f', '<i8': 'q'}[kind]}", *values))


X = npy([i % 7 / 7 for i in range(ROWS * WIDTH)], f"({ROWS}, {WIDTH})")
Y = npy([i % 3 for i in range(ROWS)], f"({ROWS},)", "<i8")


def stored(**arrays):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as to:
        for field, array in arrays.items():
            to.writestr(field + ".npy", array)
    return store("words.npz", buffer.getvalue())


def tables():
    """Words as labels are classes in alphabetical order; missing values are named, left out or
    replaced; words elsewhere are refused with their column."""
    rows = [f"{i},{i * 2},{'mf'[i % 2]},{('yes', 'no', 'maybe')[i % 3]}" for i in range(12)]
    head = "a,b,sex,kind\n"
    words = store("words.csv", (head + "\n".join(rows) + "\n").encode())
    refused(words, "line 2, column 3 (sex): \"m\" is not a number", "--label")
    plain = [",".join(row.split(",")[:2] + row.split(",")[3:]) for row in rows]
    for order in (plain, plain[::-1]):
        facts = parsed("data", store("kinds.csv", "\n".join(order).encode()), "--json")
        expect(facts["class_names"] == ["maybe", "no", "yes"] and facts["classes"] == 3, facts)
    expect("0 maybe, 1 no, 2 yes" in succeeds("data", path("words/kinds.csv")), "names of classes")
    for word in ("", "NA", "nan", "N/A", "null", "?", '"NaN"'):
        gone = list(plain)
        gone[3] = f"3,{word},yes"
        file = store("gone.csv", ("a,b,kind\n" + "\n".join(gone)).encode())
        refused(file, "line 5, column 2 (b): \"" + word.strip('"') + "\" is a missing value",
                "--missing skip", "--missing 0")
        facts = parsed("data", file, "--missing", "skip", "--json")
        expect(facts["samples"] == 11 and facts["skipped"] == 1, facts)
        mean = parsed("data", file, "--missing", "-6", "--json")["fields"][0]["mean"]
        expect(abs(mean - (66 + 132 - 6 - 6) / 24) < 1e-6, mean)
        gone[3] = f"3,6,{word}"
        file = store("gone.csv", ("a,b,kind\n" + "\n".join(gone)).encode())
        for more in ([], ["--missing", "0"]):
            fails(1, "data", file, *more, says=["line 5, column 3 (kind)", "is a missing label"])
        expect(parsed("data", file, "--missing", "skip", "--json")["samples"] == 11, word)
    numbers = store("numbers.csv", b"1,2,0.5\n3,4,\n5,6,1.5\n")
    refused(numbers, "line 2, column 3: \"\" is a missing label")
    expect(parsed("data", numbers, "--missing", "skip", "--json")["classes"] == 0, "a number")
    none = store("none.csv", b"1,,0\n3,NA,1\n")
    fails(1, "data", none, "--missing", "skip", says=["each row has a missing value"])
    fails(2, "data", none, "--missing", "mean", says=["1003", "skip or a number, not mean"])
    fails(2, "data", stored(x=X, y=Y), "--missing", "skip", says=["is not a table"])
    many = store("many.csv", "".join(f"{i},w{i}\n" for i in range(4097)).encode())
    refused(many, "the labels are 4097 different words", "--label")


def aligned():
    """Columns that are aligned by any number of blanks, as in UCI's and UCR's files."""
    rows = [[i % 3, i * 7 % 5, -i % 4] for i in range(30)]
    plain = store("plain.csv", "".join(f"{a},{b},{k}\n" for k, a, b in rows).encode())
    wide = store("wide.csv", "".join(f"   {k:.7e}  {a:14.7e}   {b:5}  \n"
                                     for k, a, b in rows).encode())
    told = parsed("data", wide, "--label", "0", "--json")
    want = parsed("data", plain, "--json")
    expect(told["samples"] == 30 and told["classes"] == 3 and told["fields"] == want["fields"],
           (told, want))


def archives():
    """Files that hold others are not data yet."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as to:
        to.add(NET, "net.takt")
    for name in ("a.tar.gz", "a.tgz"):
        refused(store(name, packed.getvalue()), name, "an archive of other files", "unpack it")


def first_rows():
    """A first row without any value holds names, whatever --missing says; so does one of words."""
    for text, kinds in ((b",label\n1,cat\n2,dog\n", ["cat", "dog"]),
                        (b"?,?,?\n1,2,a\n3,5,b\n", ["a", "b"]),
                        (b"NA,label\n1,cat\n2,dog\n", ["cat", "dog"]),
                        (b",2,x\n3,5,y\n", None)):
        file = store("first.csv", text)
        if kinds is None:
            refused(file, "line 1, column 1: \"\" is a missing value")
        else:
            expect(parsed("data", file, "--json")["class_names"] == kinds, text)
        facts = parsed("data", file, "--missing", "0", "--json")
        expect((facts["samples"], facts["classes"]) == (2, 2), (text, facts))
    refused(store("first.csv", b",label\n,cat\n2,dog\n"),
            "line 2, column 1: \"\" is a missing value")


def marks():
    """A byte order mark does not belong to the first cell, in any table."""
    mark, rows = b"\xef\xbb\xbf", b"1,2,x\r\n3,5,y\r\n"
    for name, text in (("mark.csv", rows), ("mark.csv.gz", rows), ("mark.tsv", rows)):
        text = mark + (text.replace(b",", b"\t") if name.endswith("tsv") else text)
        file = store(name, gzip.compress(text) if name.endswith("gz") else text)
        facts = parsed("data", file, "--json")
        expect((facts["samples"], facts["class_names"]) == (2, ["x", "y"]), (name, facts))
    named = store("mark.csv", mark + b"a,b,c\r\n1,2,0\r\n,4,1\r\n")
    refused(named, "line 3, column 1 (a): ")
    facts = parsed("data", named, "--label", "a", "--missing", "skip", "--json")
    expect(facts["samples"] == 1, facts)
    refused(store("mark.csv", mark), "the table is empty")
    store("mark.pgm", b"P5 2 2 255\n" + bytes(4))
    listed = store("mark.tsv", mark + b"mark.pgm\t0\nmark.pgm\t1\n")
    expect(parsed("data", listed, "--json")["samples"] == 2, "a list")


def quotes():
    """Two quotes in a quoted cell are one, in labels and in names; separators there are none."""
    kinds = [b'"New ""York"""', b'"a,b"', b'"c ""q"" d"', b'""""', b'plain']
    file = store("quotes.csv", b"".join(b"1,2,%s\n" % kind for kind in kinds))
    want = sorted(['New "York"', "a,b", 'c "q" d', '"', "plain"])
    expect(parsed("data", file, "--json")["class_names"] == want, want)
    file = store("quotes.csv", b'"the ""kind""",b,c\n"say ""x""",1,2\ny,3,4\n')
    flags = ["--label", 'the "kind"']
    expect(parsed("data", file, *flags, "--json")["class_names"] == ['say "x"', "y"], "a name")
    store("quotes.csv", b'"the ""kind""",b,c\n"say ""x""",1,2\n"say ""y""",3,z\n')
    fails(1, "data", file, *flags, says=['line 3, column 3 (c): "z" is not a number'])


def hints():
    """What is said holds for the error, and with a cache as without."""
    shutil.rmtree(path("words/bytes"), ignore_errors=True)
    store("bytes/bad.txt", b"text\0" * 9)
    told = fails(1, "data", path("words/bytes"), says=["bad.txt: this is not plain text", "UTF-8"])
    expect("--window" not in told, told)
    gone = store("left.csv", b"1,2,a\n3,,b\n5,6,b\n")
    for more in ([], ["--cache", "disk"], ["--cache", "disk"]):
        facts = parsed("data", gone, "--missing", "skip", "--json", *more)
        expect((facts["samples"], facts.get("skipped")) == (2, 1), (more, facts))
    for rows, hint in ((1, "take more samples"), (4, "take a larger share")):
        file = store("few.csv", b"1,2,3,4,5,6,0\n" * rows)
        fails(2, "train", NET, "--data", file, "--val-split", "0.1", says=["1003", "hint: " + hint])


def words_in_archives():
    """Arrays of text or objects do not hinder, unless they are the labels; errors name arrays."""
    def text(words):
        return npy_head(f"<U{len(words[0])}", len(words)) + b"".join(
            word.encode("utf-32-le") for word in words)

    def npy_head(descr, count):
        head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({count},), }}"
        head += " " * ((-len(head) - 11) % 64) + "\n"
        return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode()
    want = parsed("data", stored(x=X, y=Y), "--json")["fields"]

    for extra in (text(["ab"] * ROWS), text(["ab", "cd"]), npy_head("|O", ROWS) + b"pickle",
                  npy([0.5] * 3, "(3,)")):
        facts = parsed("data", stored(x=X, more=extra, y=Y), "--json")
        expect(facts["fields"] == want and facts["left_out"] == ["more"], facts)
        succeeds("train", NET, "--data", path("words/words.npz"), "-q")
    refused(stored(x=X, y=text(["ab"] * ROWS)), "words.npz: array y holds text", "numpy.unique")
    refused(stored(x=X, y=npy_head(">i8", ROWS) + bytes(8 * ROWS)),
            "words.npz: y.npy: element type '>i8' is big-endian")
    refused(stored(x=X, y=npy([0] * (ROWS - 1), f"({ROWS - 1},)", "<i8")), "has 20 samples")


def texts():
    """A folder of texts is one text; a part has the numbers of the symbols of all parts."""
    shutil.rmtree(path("words/texts"), ignore_errors=True)
    shutil.rmtree(path("words/prose"), ignore_errors=True)
    one, two = b"a bee sees a cab " * 9, b"deaf dads read " * 9
    store("texts/b.txt", two)
    store("texts/a.txt.gz", gzip.compress(one))
    whole = parsed("data", store("whole.txt", one + two), "--window", "8", "--json")
    for more in ([], ["--cache", "disk"], ["--cache", "disk"]):
        facts = parsed("data", path("words/texts"), "--window", "8", "--json", *more)
        expect(facts == whole, (facts, whole))
    fails(1, "data", path("words/texts"), "--split", "test", says=["no test data", "test.txt"])
    store("texts/other.pdf", b"%PDF")
    refused(path("words/texts"), "no training data", ".txt files alone")
    os.remove(path("words/texts/other.pdf"))
    store("texts/c.txt", b"text" * 20 + b"\0")
    refused(path("words/texts"), "c.txt: this is not plain text")
    for train, test in (("train.txt", "test.txt"), ("train/1.txt", "test/1.txt")):
        shutil.rmtree(path("words/prose"), ignore_errors=True)
        store("prose/" + train, one)
        store("prose/" + test, two)
        flags = ["data", path("words/prose"), "--window", "8", "--json", "--split"]
        both = {part: parsed(*flags, part) for part in ("train", "test")}
        expect(both["train"]["classes"] == both["test"]["classes"] == whole["classes"], both)
        counts = [(len(text) - 1) // 8 for text in (one, two)]
        expect([both[part]["samples"] for part in ("train", "test")] == counts, both)
    store("prose/train.txt", b"short")
    fails(1, "data", path("words/prose"), "--window", "999", says=["less than a window of 999"])


def windows():
    """A text is cut into as many characters as the model takes."""
    net = write("words_lm.takt", """model lm(x: i64[batch, 20]) seed=1 {
  return dense(embedding(x, 99, 8), 99)
}
""")
    file = store("lm.txt", b"to be or not to be " * 30)
    for more in ([], ["--cache", "disk"], ["--cache", "disk"]):
        expect("28 samples" in succeeds("train", net, "--data", file, *more), more)
    fails(2, "train", net, "--data", file, "--window", "19", says=["[19], the model takes [20]"])
    succeeds("train", NET, "--data", store("two.csv", b"1,2,3,4,5,6,a\n" * 4 + b"1,2,3,4,5,6,b\n"))
    told = succeeds("eval", NET, "--data", path("words/two.csv"), "--limit", "4", "--metric", "auc")
    expect("auc   nan: undefined" in told, told)


def fewer_classes():
    """A part without one of the classes gives others its number, which is said."""
    for name, kinds, is_told in (("all", "abc", False), ("some", "ac", True)):
        rows = "".join(f"1,2,3,4,5,6,{kind}\n" for kind in kinds)
        run = takt("eval", NET, "--data", store(name + ".csv", rows.encode()))
        expect(("2 classes (a to c), the model 3 outputs" in run.stderr) == is_told, run.stderr)


tables()
aligned()
archives()
first_rows()
marks()
quotes()
hints()
windows()
fewer_classes()
words_in_archives()
texts()
finish()
