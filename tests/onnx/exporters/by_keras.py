"""by_keras.py FOLDER [NAME...] - exports the forms by Keras' own exporter and by tf2onnx.

Writes FOLDER/<form>_keras.onnx and <form>_tf2onnx.onnx, or the reason in a .txt instead, as
by_torch.py does. Needs tensorflow, keras 3 and tf2onnx.
"""
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["KERAS_BACKEND"] = "tensorflow"
# pylint: disable=wrong-import-position
import keras
import numpy as np
import onnx
import tensorflow as tf
import tf2onnx

from forms_keras import FORMS
from plain import written

OPSET = 17
BATCH = 2


def model_of(name):
    keras.utils.set_random_seed(1)
    shapes, layer = FORMS[name]()
    inputs = [keras.Input(shape, batch_size=BATCH) for shape in shapes]
    model = keras.Model(inputs, layer(*inputs))
    model([np.zeros(i.shape, "float32") for i in model.inputs])  # else it cannot be exported
    for weight in model.weights:
        weight.assign(np.random.default_rng(1).normal(size=weight.shape))
    return model


def by_keras(name, path):
    model_of(name).export(path, format="onnx", opset_version=OPSET, verbose=False)
    return onnx.load(path)


def by_tf2onnx(name, path):
    del path
    model = model_of(name)
    specs = [tf.TensorSpec(i.shape, tf.float32) for i in model.inputs]
    run = tf.function(lambda *x: model(list(x)), input_signature=specs)
    return tf2onnx.convert.from_function(run, specs, opset=OPSET)[0]


def main():
    folder, names = sys.argv[1], sys.argv[2:] or FORMS
    os.makedirs(folder, exist_ok=True)
    for name in names:
        for exporter, export in (("keras", by_keras), ("tf2onnx", by_tf2onnx)):
            path = os.path.join(folder, f"{name}_{exporter}")
            written(path, lambda n=name, e=export, p=path: e(n, p + ".onnx"))


if __name__ == "__main__":
    main()
