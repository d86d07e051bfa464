"""by_torch.py FOLDER [NAME...] - exports the forms by both exporters of torch.

Writes FOLDER/<form>_script.onnx and <form>_dynamo.onnx, without names of source files, and for an
export that fails the reason in FOLDER/<form>_<exporter>.txt. Needs torch, onnx and onnxscript.
"""
import contextlib
import io
import os
import sys
import warnings

import onnx
import torch

import forms_torch_scores  # pylint: disable=unused-import
from forms_torch import FORMS
from plain import written

SCRIPT_OPSET = 14  # without LayerNormalization, Gelu and Attention


def export(name, exporter, path):
    torch.manual_seed(1)
    module, inputs = FORMS[name]()
    module.eval()
    for weight in module.parameters():  # ones and zeros would vanish
        torch.nn.init.normal_(weight, 1.0)
    how = {"dynamo": False, "opset_version": SCRIPT_OPSET} if exporter == "script" else \
        {"dynamo": True, "external_data": False}
    with contextlib.redirect_stdout(io.StringIO()):
        torch.onnx.export(module, inputs, path, **how)
    return onnx.load(path)


def main():
    warnings.simplefilter("ignore")
    folder, names = sys.argv[1], sys.argv[2:] or FORMS
    os.makedirs(folder, exist_ok=True)
    for name in names:
        for exporter in ("script", "dynamo"):
            path = os.path.join(folder, f"{name}_{exporter}")
            written(path, lambda n=name, e=exporter, p=path: export(n, e, p + ".onnx"))


if __name__ == "__main__":
    main()
