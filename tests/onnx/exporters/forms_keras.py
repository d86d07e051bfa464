"""forms_keras.py - one small Keras model for every form of an operation that is recognised.

FORMS: name -> function that returns the input shapes, without the batch, and a function from
inputs to a result. `by_keras.py` exports them.
"""
import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

DIM, HEADS, ROWS = 8, 2, 6
SIZE = DIM // HEADS
FORMS = {}


def form(function):
    FORMS[function.__name__] = function
    return function


class Of(layers.Layer):
    """A layer that is one function of its inputs."""

    def __init__(self, function, **parts):
        super().__init__()
        self.function, self.parts = function, list(parts.values())
        self.named = parts

    def call(self, *inputs):
        return self.function(*inputs, **self.named)


def simple(name, function, shape=(ROWS, DIM)):
    FORMS[name] = lambda: ([shape], Of(function))


simple("gelu", lambda x: keras.activations.gelu(x, approximate=False))
simple("gelu_tanh", lambda x: keras.activations.gelu(x, approximate=True))
simple("gelu_new", lambda x: 0.5 * x * (1 + tf.tanh(0.7978845608 * (x + 0.044715 * tf.pow(x, 3)))))
simple("gelu_parts", lambda x: 0.5 * x * (1 + tf.math.erf(x / tf.sqrt(2.0))))
simple("silu", keras.activations.silu)
simple("silu_parts", lambda x: x * tf.sigmoid(x))
simple("silu_quotient", lambda x: x / (1 + tf.exp(-x)))
simple("hard_swish", keras.activations.hard_silu)
simple("hard_swish_parts", lambda x: x * tf.nn.relu6(x + 3) / 6)
simple("hard_swish_gate", lambda x: x * keras.activations.hard_sigmoid(x))
simple("unshuffle", lambda x: tf.nn.space_to_depth(x, 2), (8, 8, 3))
simple("focus", lambda x: tf.concat((x[:, ::2, ::2], x[:, 1::2, ::2], x[:, ::2, 1::2],
                                     x[:, 1::2, 1::2]), -1), (8, 8, 3))
simple("rms_norm_parts", lambda x: x * tf.math.rsqrt(
    tf.reduce_mean(tf.square(x), -1, keepdims=True) + 1e-6))


@form
def layer_norm():
    return [(ROWS, DIM)], layers.LayerNormalization()


@form
def layer_norm_bare():
    return [(ROWS, DIM)], layers.LayerNormalization(center=False, scale=False)


@form
def layer_norm_parts():
    def run(x):
        mean, spread = tf.nn.moments(x, -1, keepdims=True)
        return (x - mean) / tf.sqrt(spread + 1e-5)
    return [(ROWS, DIM)], Of(run)


@form
def layer_norm_batch():
    def run(x):
        mean, spread = tf.nn.moments(x, -1, keepdims=True)
        scale = tf.reshape(tf.range(1.0, DIM + 1), (DIM,))
        return tf.nn.batch_normalization(x, mean, spread, scale / 2, scale, 1e-5)
    return [(ROWS, DIM)], Of(run)


@form
def layer_norm_picture():
    return [(8, 8, 4)], layers.LayerNormalization()


@form
def rms_norm():
    return [(ROWS, DIM)], layers.RMSNormalization()


@form
def group_norm():
    return [(8, 8, 4)], layers.GroupNormalization(groups=2)


@form
def group_norm_bare():
    return [(8, 8, 4)], layers.GroupNormalization(groups=2, center=False, scale=False)


@form
def merge():
    norm, down = layers.LayerNormalization(), layers.Dense(8)

    def run(x, norm, down):
        x = tf.concat((x[:, ::2, ::2], x[:, 1::2, ::2], x[:, ::2, 1::2], x[:, 1::2, 1::2]), -1)
        return down(norm(x))
    return [(8, 8, 4)], Of(run, norm=norm, down=down)


# ---- attention ----

@form
def attention_module():
    part = layers.MultiHeadAttention(HEADS, SIZE, flash_attention=False)
    return [(ROWS, DIM)], Of(lambda x, part: part(x, x), part=part)


@form
def attention_module_causal():
    part = layers.MultiHeadAttention(HEADS, SIZE)
    return [(ROWS, DIM)], Of(lambda x, part: part(x, x, use_causal_mask=True), part=part)


@form
def attention_module_masked():
    part = layers.MultiHeadAttention(HEADS, SIZE)

    def run(x, mask, part):
        return part(x, x, attention_mask=ops.cast(mask[:, None, :], "bool"))
    return [(ROWS, DIM), (ROWS,)], Of(run, part=part)


@form
def attention_cross():
    part = layers.MultiHeadAttention(HEADS, SIZE)
    return [(ROWS, DIM), (5, DIM)], Of(lambda x, y, part: part(x, y), part=part)


@form
def gqa():
    part = layers.GroupQueryAttention(SIZE, 4, 2)
    return [(ROWS, DIM)], Of(lambda x, part: part(x, x), part=part)


@form
def sdpa():
    def run(x):
        x = tf.reshape(x, (-1, ROWS, HEADS, SIZE))
        return ops.dot_product_attention(x, x + 1, x * 2)
    return [(ROWS, DIM)], Of(run)


def heads(x):
    return tf.transpose(tf.reshape(x, (-1, ROWS, HEADS, SIZE)), (0, 2, 1, 3))


def eager(mask=lambda s: s, scale=SIZE ** -0.5):
    parts = {n: layers.Dense(DIM) for n in "qkvo"}

    def run(x, q, k, v, o):
        scores = mask(tf.matmul(heads(q(x)), heads(k(x)), transpose_b=True) * scale)
        y = tf.matmul(tf.nn.softmax(scores, -1), heads(v(x)))
        return o(tf.reshape(tf.transpose(y, (0, 2, 1, 3)), (-1, ROWS, DIM)))
    return [(ROWS, DIM)], Of(run, **parts)


@form
def attention():
    return eager()


@form
def attention_causal_added():
    near = np.tril(np.ones((ROWS, ROWS), np.float32))
    return eager(lambda s: s - 1e9 * (1 - near))


@form
def attention_causal_selected():
    near = np.tril(np.ones((1, 1, ROWS, ROWS), bool))
    return eager(lambda s: tf.where(near, s, -1e9))


@form
def attention_one_product():
    qkv, out = layers.Dense(3 * DIM), layers.Dense(DIM)

    def run(x, qkv, out):
        parts = tf.transpose(tf.reshape(qkv(x), (-1, ROWS, 3, HEADS, SIZE)), (2, 0, 3, 1, 4))
        q, k, v = parts[0] * SIZE ** -0.5, parts[1], parts[2]
        y = tf.matmul(tf.nn.softmax(tf.matmul(q, k, transpose_b=True), -1), v)
        return out(tf.reshape(tf.transpose(y, (0, 2, 1, 3)), (-1, ROWS, DIM)))
    return [(ROWS, DIM)], Of(run, qkv=qkv, out=out)


@form
def window_shifted():
    qkv, out = layers.Dense(3 * DIM), layers.Dense(DIM)
    far = np.zeros((1, 4, 1, 16, 16), np.float32)
    far[:, 1::2, :, :8, 8:] = -100.0

    def run(x, qkv, out):
        x = tf.roll(x, (-2, -2), (1, 2))
        x = tf.transpose(tf.reshape(x, (-1, 2, 4, 2, 4, DIM)), (0, 1, 3, 2, 4, 5))
        parts = tf.reshape(qkv(tf.reshape(x, (-1, 16, DIM))), (-1, 16, 3, HEADS, SIZE))
        q, k, v = tf.unstack(tf.transpose(parts, (2, 0, 3, 1, 4)), 3)
        scores = tf.matmul(q * SIZE ** -0.5, k, transpose_b=True)
        scores = tf.reshape(tf.reshape(scores, (-1, 4, HEADS, 16, 16)) + far, (-1, HEADS, 16, 16))
        y = tf.matmul(tf.nn.softmax(scores, -1), v)
        y = out(tf.reshape(tf.transpose(y, (0, 2, 1, 3)), (-1, 16, DIM)))
        y = tf.transpose(tf.reshape(y, (-1, 2, 2, 4, 4, DIM)), (0, 1, 3, 2, 4, 5))
        return tf.roll(tf.reshape(y, (-1, 8, 8, DIM)), (2, 2), (1, 2))
    return [(8, 8, DIM)], Of(run, qkv=qkv, out=out)


# ---- rotary embeddings of [batch, heads, rows, size] ----

def angles():
    at = tf.range(float(ROWS))[:, None]
    return at / 10000 ** (tf.range(float(SIZE // 2)) / (SIZE // 2))[None]


@form
def rotary():
    def run(x):
        first, second = tf.split(x, 2, -1)
        both = tf.concat((angles(), angles()), -1)
        return x * tf.cos(both) + tf.concat((-second, first), -1) * tf.sin(both)
    return [(HEADS, ROWS, SIZE)], Of(run)


@form
def rotary_chunked():
    def run(x):
        a, b = tf.split(x, 2, -1)
        c, s = tf.cos(angles()), tf.sin(angles())
        return tf.concat((a * c - b * s, b * c + a * s), -1)
    return [(HEADS, ROWS, SIZE)], Of(run)


@form
def rotary_pairs():
    def run(x):
        a, b = x[..., ::2], x[..., 1::2]
        c, s = tf.cos(angles()), tf.sin(angles())
        pairs = tf.stack((a * c - b * s, b * c + a * s), -1)
        return tf.reshape(pairs, (-1, HEADS, ROWS, SIZE))
    return [(HEADS, ROWS, SIZE)], Of(run)
