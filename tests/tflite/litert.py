"""litert.py - integer models of TensorFlow Lite have the bits of LiteRT's reference kernels.

    litert.py            compares on the inputs that came with each model, and on random ones
    litert.py --write    writes the digests that models.c compares with into digests.txt

Needs the Python packages numpy and ai-edge-litert, in build/venv; without them this is skipped.
"""
import os

from _litert import DATA, SKIP, TMP, finish, fnv, np, reference, takt_run

HERE = os.path.dirname(os.path.abspath(__file__))


def random_like(x, generator):
    if x.dtype.kind in "iu" and x.dtype.itemsize < 4:
        info = np.iinfo(x.dtype)
        return generator.integers(info.min, info.max + 1, x.shape).astype(x.dtype)
    return generator.standard_normal(x.shape).astype(x.dtype) if x.dtype.kind == "f" else x


def main(writes):
    folder = os.path.join(DATA, "tflite")
    if not os.path.isdir(folder):
        SKIP("no models; set TAKT_DATA")
    generator, digests, failures, count = np.random.default_rng(1), [], [], 0
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name, "model.tflite")
        given = sorted(f for f in os.listdir(os.path.join(folder, name)) if f.startswith("in"))
        inputs = [np.load(os.path.join(folder, name, f)) for f in given]
        if not os.path.exists(path) or not inputs:
            continue
        if reference(path, inputs) is None:
            print(f"{name}: LiteRT refuses it")
            continue
        for trial in range(2):
            want = reference(path, inputs)
            if trial == 0 and want[0].dtype.kind != "f":
                digests.append(f"{name} {fnv(want[0].tobytes()):x}\n")
            got = takt_run(path, inputs, len(want))
            for w, g in zip(want, got):
                limit = 0 if w.dtype.kind != "f" else 1e-4 * np.abs(w).max()
                error = np.abs(w.astype(float) - g.astype(float)).max()
                if not error <= limit:
                    failures.append(f"{name}: {error:g} off")
            inputs = [random_like(x, generator) for x in inputs]
        count += 1
    if writes:
        with open(os.path.join(HERE, "digests.txt"), "w", encoding="utf-8") as f:
            f.writelines(digests)
    finish(failures, f"{count} models")


if __name__ == "__main__":
    import sys
    main("--write" in sys.argv)
