"""plain.py - exports without names of source files, small enough to keep."""
import os

import onnx

REASON = 160  # characters


def bare(model):
    """Without texts that only people read."""
    del model.metadata_props[:]
    model.graph.doc_string = model.doc_string = model.producer_version = ""
    for graph in (model.graph, *model.functions):
        for node in graph.node:
            node.doc_string = ""
            del node.metadata_props[:]
    for value in (*model.graph.value_info, *model.graph.input, *model.graph.output):
        value.doc_string = ""
        del value.metadata_props[:]
    for tensor in model.graph.initializer:
        tensor.doc_string = ""
        del tensor.metadata_props[:]
    del model.graph.metadata_props[:]
    del model.graph.value_info[:]
    return model


def written(path, export):
    """Writes path.onnx, or path.txt with the reason why there is none."""
    for suffix in (".onnx", ".txt"):
        if os.path.exists(path + suffix):
            os.remove(path + suffix)
    try:
        model = bare(export())
    except Exception as problem:  # pylint: disable=broad-exception-caught
        with open(path + ".txt", "w", encoding="utf-8") as file:
            text = " ".join(str(problem).split())
            file.write(f"{type(problem).__name__}: {text[:REASON]}\n")
        return
    onnx.save(model, path + ".onnx")
