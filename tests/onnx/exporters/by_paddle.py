"""by_paddle.py FOLDER [NAME...] - exports the forms by Paddle's exporter, paddle2onnx.

Writes FOLDER/<form>_paddle.onnx, or the reason in a .txt instead, as by_torch.py does. Needs
paddlepaddle, paddle2onnx and onnx.
"""
import os
import subprocess
import sys
import tempfile

import onnx
import paddle
import paddle2onnx

from forms_paddle import FORMS
from plain import written

OPSET = 13


def export(name):
    paddle.seed(1)
    module, inputs = FORMS[name]()
    module.eval()
    for weight in module.parameters():  # ones and zeros would vanish
        weight.set_value(paddle.randn(weight.shape) + 1)
    specs = [paddle.static.InputSpec(i.shape, str(i.dtype).rsplit(".", maxsplit=1)[-1])
             for i in inputs]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m")
        paddle.jit.save(module, path, input_spec=specs)
        weights = path + ".pdiparams"
        paddle2onnx.export(path + ".json", weights if os.path.exists(weights) else "",
                           path + ".onnx", opset_version=OPSET, optimize_tool="None")
        return onnx.load(path + ".onnx")


def alone(folder, name):
    """In a process of its own, since the converter ends the process where it cannot go on."""
    path = os.path.join(folder, f"{name}_paddle")
    run = subprocess.run([sys.executable, os.path.abspath(__file__), folder, name], text=True,
                         capture_output=True, check=False)
    if run.returncode != 0:
        why = [line for line in (run.stdout + run.stderr).splitlines() if "[ERROR]" in line]
        with open(path + ".txt", "w", encoding="utf-8") as file:
            file.write((why or ["the converter ended the process"])[-1].split("] ")[-1] + "\n")


def main():
    folder, names = sys.argv[1], sys.argv[2:] or FORMS
    os.makedirs(folder, exist_ok=True)
    for name in names:
        if len(names) == 1:
            written(os.path.join(folder, f"{name}_paddle"), lambda n=name: export(n))
        else:
            alone(folder, name)


if __name__ == "__main__":
    main()
