"""wide_models.py - the rows of `make peers ROWS=wide`: architectures chosen for variety, not tuned.

Each is made with random weights by the package it comes from, or by wide_nets.py, and written as
ONNX by one of torch's two exporters. What cannot be imported or exported is named and counted.
"""
import importlib
import os
import warnings

IMAGE = (3, 224, 224)


class Entry:
    """One architecture: `source` is torchvision, timm, transformers or nets."""

    def __init__(self, group, source, name, shape=IMAGE, **more):
        self.group, self.source, self.model, self.shape = group, source, name, shape
        self.batch, self.dynamo = more.get("batch", 1), more.get("dynamo", False)
        self.ending = more.get("ending", "")
        self.name = name + self.ending + (f"_b{self.batch}" if self.batch > 1 else "")


def _many(group, source, text, **more):
    return [Entry(group, source, name, **more) for name in text.split()]


ROWS = [
    *_many("classes", "nets", "atrous_head grid_warp"),
    *_many("classes", "nets", "half_net tiny_detector large_kernels dense_blocks"),
    *_many("audio", "nets", "lstm_short bilstm gru enhancer reader tcn", shape=()),
    *_many("classify", "torchvision", "resnet18 mobilenet_v2 densenet121 shufflenet_v2_x1_0 "
           "squeezenet1_1 efficientnet_b0 mnasnet1_0 regnet_y_400mf mobilenet_v3_large"),
    Entry("segment", "torchvision", "deeplabv3_mobilenet_v3_large"),
    Entry("segment", "torchvision", "lraspp_mobilenet_v3_large"),
    *_many("segment", "nets", "unet"),
    *_many("encoder", "transformers", "bert albert mobilebert squeezebert mpnet deberta", shape=()),
    *_many("classify", "timm", "ghostnet_100 mobilevit_s deit_tiny_patch16_224 resmlp_12_224 "
           "poolformer_s12 repvgg_a0 levit_128s edgenext_small fastvit_t8 mobileone_s0 "
           "xcit_nano_12_p16_224 gmlp_ti16_224 lcnet_100 ese_vovnet19b_dw rexnet_100 "
           "mobilenetv4_conv_small hrnet_w18_small dla34 tf_efficientnetv2_b0 pit_ti_224"),
    *_many("audio", "nets", "bigru wavenet quartznet tasnet conformer forecaster", shape=()),
    Entry("detect", "torchvision", "ssdlite320_mobilenet_v3_large", (3, 320, 320)),
    *_many("video", "torchvision", "r3d_18 mc3_18", shape=(3, 8, 56, 56)),
    *_many("classify", "torchvision", "resnet50 resnext50_32x4d googlenet convnext_tiny swin_t"),
    Entry("classify", "torchvision", "alexnet"),
    Entry("classify", "torchvision", "regnet_x_800mf"),
    *_many("batch", "torchvision", "resnet18 mobilenet_v2 squeezenet1_1 shufflenet_v2_x1_0 "
           "mobilenet_v3_large", batch=8),
    *_many("batch", "timm", "ghostnet_100 lcnet_100", batch=8),
    *_many("batch", "nets", "lstm_short gru reader", shape=(), batch=8),
    *_many("dynamo", "torchvision", "mobilenet_v2 resnet18", dynamo=True, ending="_dynamo"),
    *_many("dynamo", "timm", "deit_tiny_patch16_224", dynamo=True, ending="_dynamo"),
    *_many("dynamo", "transformers", "bert", shape=(), dynamo=True, ending="_dynamo"),
]


def _torchvision(entry, torch):
    models = importlib.import_module("torchvision.models")
    if entry.group in ("segment", "detect"):
        models = importlib.import_module(
            "torchvision.models." + {"segment": "segmentation", "detect": "detection"}[entry.group])
    elif entry.group == "video":
        models = importlib.import_module("torchvision.models.video")
    more = {"weights_backbone": None} if entry.group in ("segment", "detect") else {}
    if entry.model == "googlenet":
        more = {"aux_logits": False, "init_weights": False}
    model = getattr(models, entry.model)(weights=None, **more)
    nets = importlib.import_module("wide_nets")
    if entry.group == "segment":
        model = nets.Only(model, "out")
    elif entry.group == "detect":  # without what chooses boxes
        model = nets.Heads(model)
    return model, (torch.randn(entry.batch, *entry.shape),)


def _timm(entry, torch):
    model = importlib.import_module("timm").create_model(entry.model, pretrained=False)
    return model, (torch.randn(entry.batch, *entry.shape),)


ENCODERS = {"bert": "Bert", "albert": "Albert", "mobilebert": "MobileBert",
            "squeezebert": "SqueezeBert", "mpnet": "MPNet", "deberta": "DebertaV2"}


def _transformers(entry, torch):
    package = importlib.import_module("transformers")
    kind = ENCODERS[entry.model]
    small = {"num_hidden_layers": 4, "vocab_size": 2000}
    if entry.model != "mobilebert":
        small.update(hidden_size=256, num_attention_heads=4, intermediate_size=1024)
    if entry.model in ("albert", "squeezebert"):
        small["embedding_size"] = 128 if entry.model == "albert" else 256
    config = getattr(package, kind + "Config")(**small)
    model = importlib.import_module("wide_nets").Hidden(getattr(package, kind + "Model")(config))
    tokens = torch.randint(0, 100, (entry.batch, 128))
    return model, (tokens, torch.ones_like(tokens))


def _nets(entry, _):
    return importlib.import_module("wide_nets").make(entry.model, entry.batch)


SOURCES = {"torchvision": _torchvision, "timm": _timm, "transformers": _transformers,
           "nets": _nets}


def export(entry, path):
    """Writes the model; raises what the packages raise."""
    torch = importlib.import_module("torch")
    torch.manual_seed(1)
    model, inputs = SOURCES[entry.source](entry, torch)
    model = model.eval()
    names = [f"mask{k}" if k else "x" for k in range(len(inputs))]
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        if entry.dynamo:
            program = torch.onnx.export(model, inputs, dynamo=True, input_names=names,
                                        verbose=False, external_data=False)
            program.save(path)
        else:
            torch.onnx.export(model, inputs, path, dynamo=False, input_names=names,
                              opset_version=17, external_data=False)
    if not os.path.exists(path):
        raise RuntimeError("the exporter wrote nothing")
