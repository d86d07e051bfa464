"""rows.py - the training steps that are measured: model, samples of a batch, optimiser."""

GPT = """layer positions(x, count: int) {
  param table: [count, dim(x, -1)] = normal(0, 0.02)
  return x + table[:dim(x, 1)]
}
model gpt(tokens: i64[batch, SEQ]) -> (logits: f32[batch, SEQ, VOCAB]) seed=SEED {
  param wte: f32[VOCAB, WIDTH] = normal(0, 0.02)
  h = positions(gather(wte, tokens, axis=0), SEQ)
  repeat BLOCKS as i {
    h = transformer_block(h, heads=HEADS, hidden=4 * WIDTH, causal=true)
  }
  h = layer_norm(h, name="final")
  return logits = einsum("bsd,vd->bsv", h, wte)
}
"""

CNN = """model cnn(x: f32[batch, 1, 28, 28]) seed=SEED {
  h = conv(x, 32, 3, act=relu) |> max_pool(2, stride=2)
  h = conv(h, 64, 3, act=relu) |> max_pool(2, stride=2)
  h = dense(flatten(h), 32, act=relu)
  return dense(h, 10)
}
"""

RESNET = """layer block(x) {
  h = conv(x, 64, 3, pad=1, bias=false) |> batch_norm() |> relu()
  h = conv(h, 64, 3, pad=1, bias=false) |> batch_norm()
  return relu(x + h)
}
model resnet(x: f32[batch, 64, 56, 56]) seed=SEED {
  return dense(reduce_mean(block(block(x)), axes=[2, 3]), 10)
}
"""

DS_CNN = """model ds_cnn(x: f32[batch, 1, 49, 10]) seed=SEED {
  h = conv(x, 64, [10, 4], stride=[2, 2], pad=[4, 1, 5, 1]) |> batch_norm() |> relu()
  repeat 4 {
    h = conv(h, 64, 3, pad=1, groups=64) |> batch_norm() |> relu()
    h = conv(h, 64, 1) |> batch_norm() |> relu()
  }
  return dense(reduce_mean(h, axes=[2, 3]), 12)
}
"""


def gpt(blocks, width, heads, seq, vocabulary, seed="SEED"):
    """A decoder of this size as text."""
    sizes = {"BLOCKS": blocks, "WIDTH": width, "HEADS": heads, "SEQ": seq, "VOCAB": vocabulary,
             "SEED": seed}
    text = GPT
    for word, value in sizes.items():
        text = text.replace(word, str(value))
    return text


# name: (model, batch, optimizer); peers build the same by the same name.
ROWS = {
    "mlp": ("""model mlp(x: f32[batch, 784]) seed=SEED {
  return dense(dense(x, 256, act=relu), 10)
}
""", 64, "adam"),
    "cnn": (CNN, 64, "sgd"),
    "resnet": (RESNET, 16, "sgd"),
    "ds_cnn": (DS_CNN, 32, "adam"),
    "gru": ("""model gru_100(x: f32[batch, 100, 40]) seed=SEED {
  return dense(slice(gru(x, 64), axes=[1], start=[99], stop=[100]) |> flatten(), 12)
}
""", 32, "adam"),
    "transformer": ("""model layer(x: f32[batch, 128, 256]) seed=SEED {
  h = transformer_block(x, 4, 1024)
  return dense(reduce_mean(h, axes=[1]), 10)
}
""", 8, "adam"),
    "gpt": (gpt(6, 384, 6, 256, 65), 4, "adamw"),
    "gpt2": (gpt(12, 768, 12, 64, 50257), 4, "adamw"),
}

# Parameters of each row: a peer that trains a different number does different work. JAX has no
# biases before batch statistics, where they change nothing.
PARAMETERS = {"mlp": 203530, "cnn": 119530, "resnet": 148618, "ds_cnn": 23756, "gru": 21132,
              "transformer": 792330, "gpt": 10770816, "gpt2": 123702528}

# On one thread of a Neoverse-V1: most milliseconds; on any number: least ratio to the best peer.
WANTED = {"mlp": (1.0, 1.3), "cnn": (28, 3), "resnet": (450, 2.5), "ds_cnn": (20, 3),
          "gru": (8, 1.8), "transformer": (80, 1.5), "gpt": (1050, 1.4), "gpt2": (2750, 1.4)}
WANTED_X86 = 1.15  # the ratio, for all rows
WANTED_AMP = {"takt-f32": 1.6, "torch-autocast": 1.1}  # ratios of steps in bf16
