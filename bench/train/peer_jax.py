"""peer_jax.py - a training step in JAX, compiled by jit: ROW THREADS SECONDS; prints JSON."""
import json
import os
import resource
import sys
import time

THREADS = int(sys.argv[2])
os.environ["XLA_FLAGS"] = ("--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
                           if THREADS == 1 else "")
if hasattr(os, "sched_setaffinity"):  # XLA uses as many threads as there are processors
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])

os.environ["JAX_PLATFORMS"] = "cpu"  # also where it sees a GPU
import jax  # noqa: E402: after the number of threads is set
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402

KEYS = iter(jax.random.split(jax.random.PRNGKey(1), 512))


def normal(*shape, scale=0.02):
    return scale * jax.random.normal(next(KEYS), shape)


def linear(inputs, outputs):
    return {"w": normal(inputs, outputs), "b": jnp.zeros(outputs)}


def apply(p, x):
    return x @ p["w"] + p["b"]


def norm(width):
    return {"g": jnp.ones(width), "b": jnp.zeros(width)}


def layer_norm(p, x):
    mean = x.mean(-1, keepdims=True)
    scale = lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)
    return (x - mean) * scale * p["g"] + p["b"]


def batch_norm(p, x):
    mean = x.mean((0, 1, 2), keepdims=True)
    scale = lax.rsqrt(((x - mean) ** 2).mean((0, 1, 2), keepdims=True) + 1e-5)
    return (x - mean) * scale * p["g"] + p["b"]


def conv(w, x, pad="VALID", stride=1, groups=1):
    """Channels last, which is fastest in XLA's CPU backend."""
    return lax.conv_general_dilated(x, w, (stride, stride), pad, feature_group_count=groups,
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))


def pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def block_of(width, hidden):
    return {"n0": norm(width), "n1": norm(width), "qkv": linear(width, 3 * width),
            "out": linear(width, width), "up": linear(width, hidden), "down": linear(hidden, width)}


def block(p, x, heads, causal):
    batch, seq, width = x.shape
    qkv = apply(p["qkv"], layer_norm(p["n0"], x)).reshape(batch, seq, 3, heads, -1)
    q, k, v = (qkv[:, :, i].transpose(0, 2, 1, 3) for i in range(3))
    scores = q @ k.transpose(0, 1, 3, 2) / (width / heads) ** 0.5
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones((seq, seq), bool)), scores, -jnp.inf)
    y = (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(batch, seq, width)
    x = x + apply(p["out"], y)
    up = apply(p["up"], layer_norm(p["n1"], x))
    return x + apply(p["down"], jax.nn.gelu(up, approximate=False))


def gpt(blocks, width, heads, seq, vocabulary):
    p = {"table": normal(vocabulary, width), "places": normal(seq, width), "norm": norm(width),
         "blocks": [block_of(width, 4 * width) for _ in range(blocks)]}

    def run(p, tokens):
        h = p["table"][tokens] + p["places"]
        for own in p["blocks"]:
            h = block(own, h, heads, True)
        return layer_norm(p["norm"], h) @ p["table"].T
    return p, run


def mlp():
    return ({"a": linear(784, 256), "b": linear(256, 10)},
            lambda p, x: apply(p["b"], jax.nn.relu(apply(p["a"], x))))


def cnn():
    p = {"c0": normal(3, 3, 1, 32), "b0": jnp.zeros(32), "c1": normal(3, 3, 32, 64),
         "b1": jnp.zeros(64), "d0": linear(3136, 32), "d1": linear(32, 10)}

    def run(p, x):
        x = pool(jax.nn.relu(conv(p["c0"], x, "SAME") + p["b0"]))
        x = pool(jax.nn.relu(conv(p["c1"], x, "SAME") + p["b1"]))
        return apply(p["d1"], jax.nn.relu(apply(p["d0"], x.reshape(x.shape[0], -1))))
    return p, run


def resnet():
    p = {"c": [normal(3, 3, 64, 64) for _ in range(4)], "n": [norm(64) for _ in range(4)],
         "d": linear(64, 10)}

    def run(p, x):
        for i in (0, 2):
            h = jax.nn.relu(batch_norm(p["n"][i], conv(p["c"][i], x, "SAME")))
            x = jax.nn.relu(x + batch_norm(p["n"][i + 1], conv(p["c"][i + 1], h, "SAME")))
        return apply(p["d"], x.mean((1, 2)))
    return p, run


def ds_cnn():
    p = {"first": normal(10, 4, 1, 64), "deep": [normal(3, 3, 1, 64) for _ in range(4)],
         "wide": [normal(1, 1, 64, 64) for _ in range(4)], "n": [norm(64) for _ in range(9)],
         "d": linear(64, 12)}

    def run(p, x):
        x = jax.nn.relu(batch_norm(p["n"][0], conv(p["first"], x, ((4, 5), (1, 1)), 2)))
        for i in range(4):
            x = conv(p["deep"][i], x, "SAME", groups=64)
            x = jax.nn.relu(batch_norm(p["n"][2 * i + 1], x))
            x = jax.nn.relu(batch_norm(p["n"][2 * i + 2], conv(p["wide"][i], x)))
        return apply(p["d"], x.mean((1, 2)))
    return p, run


def gru():
    p = {"x": linear(40, 192), "h": linear(64, 192), "d": linear(64, 12)}

    def run(p, x):
        def cell(h, own):
            mine, past = jnp.split(own, 3, -1), jnp.split(apply(p["h"], h), 3, -1)
            r, z = jax.nn.sigmoid(mine[0] + past[0]), jax.nn.sigmoid(mine[1] + past[1])
            return (1 - z) * jnp.tanh(mine[2] + r * past[2]) + z * h, None
        rows = apply(p["x"], x).transpose(1, 0, 2)
        return apply(p["d"], lax.scan(cell, jnp.zeros((x.shape[0], 64)), rows)[0])
    return p, run


def transformer():
    return ({"b": block_of(256, 1024), "d": linear(256, 10)},
            lambda p, x: apply(p["d"], block(p["b"], x, 4, False).mean(1)))


def picture(classes, *shape):
    return normal(*shape, scale=1), jax.random.randint(next(KEYS), shape[:1], 0, classes)


def tokens(batch, seq, vocabulary):
    return (jax.random.randint(next(KEYS), (batch, seq), 0, vocabulary),
            jax.random.randint(next(KEYS), (batch, seq), 0, vocabulary))


ROWS = {
    "mlp": (mlp, lambda: picture(10, 64, 784), "adam"),
    "cnn": (cnn, lambda: picture(10, 64, 28, 28, 1), "sgd"),
    "resnet": (resnet, lambda: picture(10, 16, 56, 56, 64), "sgd"),
    "ds_cnn": (ds_cnn, lambda: picture(12, 32, 49, 10, 1), "adam"),
    "gru": (gru, lambda: picture(12, 32, 100, 40), "adam"),
    "transformer": (transformer, lambda: picture(10, 8, 128, 256), "adam"),
    "gpt": (lambda: gpt(6, 384, 6, 256, 65), lambda: tokens(4, 256, 65), "adamw"),
    "gpt2": (lambda: gpt(12, 768, 12, 64, 50257), lambda: tokens(4, 64, 50257), "adamw"),
}


def updated(optimizer, p, g, m, v, t):
    """The next parameters and moments."""
    each = jax.tree_util.tree_map
    rate = 1e-3
    if optimizer == "sgd":
        return each(lambda p, g: p - rate * g, p, g), m, v
    decay = 0.01 if optimizer == "adamw" else 0
    m = each(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = each(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
    scale, root = rate / (1 - 0.9 ** t), jnp.sqrt(1 - 0.999 ** t)
    p = each(lambda p, m, v: p * (1 - rate * decay) - scale * m / (jnp.sqrt(v) / root + 1e-8),
             p, m, v)
    return p, m, v


def main():
    make, batch, optimizer = ROWS[sys.argv[1]]
    seconds = float(sys.argv[3])
    (p, run), (x, labels) = make(), batch()
    parameters = sum(leaf.size for leaf in jax.tree_util.tree_leaves(p))

    def loss(p):
        logits = jax.nn.log_softmax(run(p, x))
        return -jnp.take_along_axis(logits, labels[..., None], -1).mean()

    def step(p, m, v, t):
        return updated(optimizer, p, jax.grad(loss)(p), m, v, t)

    step = jax.jit(step, donate_argnums=(0, 1, 2))
    moments = [jax.tree_util.tree_map(jnp.zeros_like, p) if optimizer != "sgd" else 0
               for _ in range(2)]
    state, times, end = (p, *moments), [], None
    while end is None or time.monotonic() < end or len(times) < 6:
        start = time.perf_counter()
        state = jax.block_until_ready(step(*state, float(len(times) + 1)))
        times.append(time.perf_counter() - start)
        if len(times) == 3:
            end = time.monotonic() + seconds
    rest = sorted(times[3:])
    print(json.dumps({"ms": 1e3 * rest[len(rest) // 2], "steps": len(rest),
                      "bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
                      "parameters": parameters, "version": jax.__version__}))


main()
