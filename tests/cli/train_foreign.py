"""train_foreign.py - what people write who have trained elsewhere: what it is called here."""
import os
import shutil

from _cli import expect, fails, finish, path, succeeds, takt, write
from _training import NET, TABLE

DATA = ["train", NET, "--data", TABLE, "-q"]


def names():
    """Optimizers, losses, schedules and metrics by the names of PyTorch and Keras."""
    for flag, word, ours in (("--loss", "ce", "cross_entropy"), ("--loss", "l1", "mae"),
                             ("--loss", "bce_with_logits", "bce_logits"),
                             ("--loss", "smooth_l1:delta=1", "huber"),
                             ("--optimizer", "momentum", "sgd:momentum=0.9"),
                             ("--schedule", "reduce_on_plateau", "plateau"),
                             ("--schedule", "cosin", "cosine")):
        fails(2, *DATA, flag, word, says=["1002", f"did you mean {ours}?"])
    for flag, word, others in (("--loss", "accuracy", "top1"), ("--schedule", "momentum", "sgd")):
        told = fails(2, *DATA, flag, word, says=["1002", "did you mean"])
        expect(f"did you mean {others}" not in told, told)
    for word, ours in (("accuracy", "top1"), ("acc", "top1"), ("perplexity", "ppl")):
        fails(2, "eval", NET, "--data", TABLE, "--metric", word, says=[f"did you mean {ours}?"])


def flags():
    """Flags that are numbers, layers or other flags here; synonyms are taken, and it is said."""
    for flag, says in (("--momentum", "--optimizer sgd:momentum=0.9"),
                       ("--betas", "--optimizer adam:beta1=0.9"),
                       ("--label-smoothing", "--loss cross_entropy:smoothing=0.1"),
                       ("--dropout", "a layer of the model"), ("--fp16", "--amp f16"),
                       ("--early-stopping", "--val-split 0.1 --patience 3"),
                       ("--validation-data", "--val-split 0.1")):
        fails(2, *DATA, flag, "0.9", says=["1002", f"has no flag {flag}", says])
    for hint in ("sgd:momentum=0.9,nesterov=1", "adam:beta1=0.9,beta2=0.99", "adam:epsilon=1e-6"):
        succeeds(*DATA, "--limit", "32", "--optimizer", hint)
    for flag, value, ours in (("--num-workers", "2", "--workers"),
                              ("--max-grad-norm", "1", "--clip"),
                              ("--scheduler", "cosine", "--schedule"),
                              ("--gradient-accumulation-steps", "2", "--accumulate")):
        told = takt(*DATA, "--limit", "64", flag, value)
        expect(told.returncode == 0 and f"{flag} is called {ours}" in told.stderr, told)


def numbers():
    """Decays of 1 would divide by zero; a shift as long as the axis leaves nothing of a picture."""
    for optimizer in ("adam:beta1=1", "adamw:beta2=1", "lamb:beta1=1", "muon:beta2=1"):
        fails(2, *DATA, "--optimizer", optimizer, says=["must be from 0 to 0.999999, not 1"])
    os.makedirs(path("marks"), exist_ok=True)
    for k in range(2):
        os.makedirs(path(f"marks/{k}"), exist_ok=True)
        with open(path(f"marks/{k}/0.pgm"), "wb") as file:
            file.write(b"P5 12 8 255\n" + bytes(range(96)))
    net = write("marks.takt", "model marks(x: f32[batch, 1, 8, 12]) seed=1 {\n"
                "  return dense(flatten(x), 2)\n}\n")
    run = ["train", net, "--data", path("marks"), "-q", "--augment"]
    for how, axis in (("shift=8", 8), ("cutout=8", 8), ("time_shift=12", 12), ("time_mask=12", 12),
                      ("freq_mask=8", 8)):
        name, size = how.split("=")
        fails(2, *run, how, says=[f"augment: {how} may take away all of an axis of {axis}"])
        succeeds(*run, f"{name}={int(size) - 1}")


def scores():
    """Metrics of classes for labels that are not whole numbers."""
    table = write("reals.csv", "".join(f"{i},{i % 5},{i / 4 + 0.1}\n" for i in range(12)))
    net = write("reals.takt", "model reals(x: f32[batch, 2]) seed=1 {\n  return dense(x, 1)\n}\n")
    expect("mse" in succeeds("eval", net, "--data", table), "mse is the default")
    fails(2, "eval", net, "--data", table, "--metric", "top1",
          says=["7005", "labels are not whole numbers", "--metric mse"])


def checkpoints():
    """A checkpoint where a model is expected: what makes a model of it."""
    folder, model = path("state"), path("state.taktp")
    shutil.rmtree(folder, ignore_errors=True)
    succeeds(*DATA, "--checkpoint", folder)
    fails(1, "eval", folder, "--data", TABLE, says=["it has checkpoints", "--resume and -o FILE"])
    for verb in ("eval", "train"):
        fails(2, verb, os.path.join(folder, "checkpoint.0"), "--data", TABLE,
              says=["this is a checkpoint of a training", "--resume and -o FILE"])
    succeeds(*DATA, "--checkpoint", folder, "--resume", "-o", model)
    expect("top1" in succeeds("eval", model, "--data", TABLE), "the model of a checkpoint")


names()
flags()
numbers()
scores()
checkpoints()
finish()
