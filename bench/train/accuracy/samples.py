"""samples.py fsdd|hmp SOURCE FOLDER - recordings as samples: train.npz and test.npz in FOLDER.

fsdd  spoken digits (SOURCE: a folder of DIGIT_SPEAKER_TAKE.wav, 8 kHz): 0.7 s as 40 mel bands of
      42 frames, [1, 40, 42]; takes 0 and 1 of every digit and speaker are the test part
hmp   wrist accelerometer (SOURCE: hmp.tar.gz): 100 points of three axes, [100, 3], which activity
      of fourteen; every fourth recording of an activity is the test part
"""
import os
import sys
import tarfile
import wave

import numpy as np

RATE, SOUND, WINDOW, HOP, BANDS, POINTS = 8000, 5600, 256, 128, 40, 100


def mel_bands():
    """Triangles between BANDS + 2 points that are evenly spaced in mel."""
    def mel(hertz):
        return 2595 * np.log10(1 + hertz / 700)
    places = 700 * (10 ** (np.linspace(mel(60), mel(RATE / 2), BANDS + 2) / 2595) - 1)
    bins = np.arange(WINDOW // 2 + 1) * RATE / WINDOW
    rise = (bins[None] - places[:-2, None]) / (places[1:-1] - places[:-2])[:, None]
    fall = (places[2:, None] - bins[None]) / (places[2:] - places[1:-1])[:, None]
    return np.maximum(0, np.minimum(rise, fall))


def log_mel(sound, bands):
    frames = np.stack([sound[at:at + WINDOW] for at in range(0, SOUND - WINDOW + 1, HOP)])
    power = np.abs(np.fft.rfft(frames * np.hanning(WINDOW))) ** 2
    return np.log(bands @ power.T + 1e-6)


def fsdd(source):
    parts, bands = {"train": [], "test": []}, mel_bands()
    for name in sorted(os.listdir(source)):
        if not name.endswith(".wav"):
            continue
        digit, _, take = name[:-4].split("_")
        with wave.open(os.path.join(source, name)) as file:
            raw = np.frombuffer(file.readframes(SOUND), "<i2") / 32768
        sound = np.zeros(SOUND)
        sound[:len(raw)] = raw
        parts["test" if int(take) < 2 else "train"].append(
            (log_mel(sound, bands)[None] * 0.2 + 1, int(digit)))
    return parts


def hmp(source):
    parts, kinds, seen = {"train": [], "test": []}, {}, {}
    with tarfile.open(source) as tar:
        files = sorted((m for m in tar.getmembers() if m.name.endswith(".txt")
                        and "/" in m.name), key=lambda m: m.name)
        for member in files:
            kind = member.name.split("/")[-2]
            label = kinds.setdefault(kind, len(kinds))
            seen[kind] = seen.get(kind, 0) + 1
            part = parts["test" if seen[kind] % 4 == 0 else "train"]
            values = np.array([line.split() for line in tar.extractfile(member).read().splitlines()
                               if len(line.split()) == 3], float) / 31.5 - 1
            for at in range(0, len(values) - POINTS + 1, POINTS):
                part.append((values[at:at + POINTS], label))
    return parts


def main():
    row, source, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    for name, samples in {"fsdd": fsdd, "hmp": hmp}[row](source).items():
        np.savez(os.path.join(folder, name + ".npz"),
                 x=np.stack([x for x, _ in samples]).astype(np.float32),
                 labels=np.array([label for _, label in samples], np.int64))


main()
