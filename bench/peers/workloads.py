"""workloads.py - the workloads: every row of the table, defined once for all engines."""
from graph import Graph
from late import np
from stored import Stored, folders

SQUARE = (64, 128, 256, 512, 1000, 1024, 2048)
SKINNY = ((256, 784), (1024, 1024), (3072, 768), (4096, 4096))  # N, K
INT8 = ((256, 256, 256), (512, 512, 512), (1024, 1024, 1024), (1, 4096, 4096), (8, 4096, 4096),
        (32, 4096, 4096), (1, 3072, 768), (32, 3072, 768), (128, 3072, 768))
FAST = (256, 512, 1024, 2048)
MEGA = 1 << 20


class Workload:
    """`group` is selected by ROWS; `kind` is the peak that its products are compared with.
    `numerics`: exact; fast, each engine's quickest way to multiply with 16-bit factors; f16,
    weights in f16 and arithmetic in f16; f16-exact, weights of Takt in f16, arithmetic in f32,
    against theirs."""

    def __init__(self, name, group, build, numerics="exact", kind="f32"):
        self.name, self.group, self.build = name, group, build
        self.numerics, self.kind = numerics, kind


# ---- networks ----

def mlp(batch):
    g = Graph()
    g.softmax(g.dense(g.relu(g.dense(g.input(batch, 784), 256)), 10))
    return g


def resnet18_block():
    g = Graph()
    x = g.input(1, 64, 56, 56)
    g.relu(g.add(g.conv(g.relu(g.conv(x, 64, 3)), 64, 3), x))
    return g


def resnet18_block_int8():
    """The same on bytes: quantise and dequantise between all steps."""
    g, scale, wide, last = Graph(), 0.05, 1.0, 20.0
    x = g.dequantize(g.input(1, 64, 56, 56, dtype="uint8"), scale)
    h = g.relu(g.quantized_conv(x, 64, 3, scale))
    h = g.quantized_conv(g.dequantize(g.quantize(h, wide), wide), 64, 3, wide)
    h = g.dequantize(g.quantize(h, last), last)
    g.dequantize(g.quantize(g.relu(g.add(h, x)), last), last)
    return g


def blocks(m, accuracy):
    g = Graph()
    g.block_matmul(g.input(m, 4096), 4096, accuracy=accuracy)
    return g


def encoder():
    """The usual order: attention, add, norm, two products, add, norm."""
    g = Graph()
    seq, width, heads, inner = 128, 768, 12, 3072
    x = g.input(1, seq, width)
    q, k, v = (g.reshape(g.dense(x, width), 1, seq, heads, width // heads) for _ in range(3))
    mixed = g.reshape(g.transpose(g.attention(q, k, v), 0, 2, 1, 3), 1, seq, width)
    h = g.layer_norm(g.add(g.dense(mixed, width), x))
    g.layer_norm(g.add(g.dense(g.gelu(g.dense(h, inner)), width), h))
    return g


def mobilenet_v1():
    g = Graph()
    h = g.relu6(g.conv(g.input(1, 3, 96, 96), 8, 3, stride=2))
    for filters, stride in ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2),
                            *[(128, 1)] * 5, (256, 2), (256, 1)):
        channels = g.shapes[h][1]
        h = g.relu6(g.conv(h, channels, 3, stride=stride, groups=channels))
        h = g.relu6(g.conv(h, filters, 1))
    g.softmax(g.dense(g.average(h), 1000))
    return g


def mobilenet_v2():
    g = Graph()
    h = g.relu6(g.conv(g.input(1, 3, 224, 224), 32, 3, stride=2))
    for factor, filters, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2),
                                           (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                                           (6, 320, 1, 1)):
        for i in range(count):
            step, x, channels = stride if i == 0 else 1, h, g.shapes[h][1]
            wide = channels * factor
            h = g.relu6(g.conv(h, wide, 1)) if factor > 1 else h
            h = g.conv(g.relu6(g.conv(h, wide, 3, stride=step, groups=wide)), filters, 1)
            h = g.add(h, x) if step == 1 and channels == filters else h
    g.dense(g.average(g.relu6(g.conv(h, 1280, 1))), 1000)
    return g


def resnet50():
    g = Graph()
    h = g.max_pool(g.relu(g.conv(g.input(1, 3, 224, 224), 64, 7, stride=2)), 3, 2, 1)
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(blocks):
            step, x = stride if i == 0 else 1, h
            h = g.relu(g.conv(g.relu(g.conv(h, width, 1)), width, 3, stride=step))
            h = g.conv(h, 4 * width, 1)
            h = g.relu(g.add(h, x if i else g.conv(x, 4 * width, 1, stride=step)))
    g.dense(g.average(h), 1000)
    return g


# ---- single operations ----

def gemm(m, n, k, dtype="float32"):
    """B is a weight: engines may pack it beforehand. Integers: u8 times s8, sums in i32."""
    g = Graph()
    integer = np.issubdtype(dtype, np.integer)
    g.matmul(g.input(m, k, dtype="uint8" if integer else dtype), g.weight(k, n, dtype=dtype))
    return g


def single(method, *shape, inputs=1, dtype="float32"):
    g = Graph()
    getattr(g, method)(*[g.input(*shape, dtype=dtype) for _ in range(inputs)])
    return g


def _gemms(prefix, group, sizes, **more):
    dtype = more.pop("dtype", "float32")
    for m, n, k in sizes:
        yield Workload(f"{prefix}_{m}x{n}x{k}", group, lambda s=(m, n, k): gemm(*s, dtype=dtype),
                       **more)


def everything():
    f64 = "float64"
    yield from _gemms("gemm", "gemm", [(n, n, n) for n in SQUARE])
    yield from _gemms("gemm", "skinny", [(m, n, k) for m in (1, 8, 32) for n, k in SKINNY])
    yield Workload("mlp_b1", "mlp", lambda: mlp(1))
    yield Workload("mlp_b32", "mlp", lambda: mlp(32))
    yield Workload("resnet18_block", "block", resnet18_block)
    yield Workload("encoder_s128", "encoder", encoder)
    yield Workload("layernorm_32x768", "rows", lambda: single("layer_norm", 32, 768))
    yield Workload("softmax_32x10000", "rows", lambda: single("softmax", 32, 10000))
    yield Workload("add_1m", "map", lambda: single("add", MEGA, inputs=2))
    yield Workload("relu_1m", "map", lambda: single("relu", MEGA))
    yield Workload("gelu_1m", "map", lambda: single("gelu", MEGA))
    yield Workload("sum_1m", "map", lambda: single("sum", MEGA))
    yield Workload("mobilenet_v1_025", "mobilenet", mobilenet_v1)
    yield Workload("mobilenet_v2", "mobilenet", mobilenet_v2)
    yield Workload("resnet50", "resnet50", resnet50)
    yield from _gemms("gemm_i8", "int8", INT8, dtype="int8", kind="i8")
    yield Workload("resnet18_block_int8", "int8", resnet18_block_int8, "steps", kind="i8")
    for m in (1, 32):
        yield Workload(f"blocks4_{m}x4096x4096", "blocks", lambda m=m: blocks(m, 0))
        yield Workload(f"blocks4_i8_{m}x4096x4096", "blocks", lambda m=m: blocks(m, 4), "int8",
                       kind="i8")
    yield from _gemms("gemm_f64", "f64", [(1000, 1000, 1000)], dtype=f64, kind="f64")
    yield Workload("add_f64_1m", "f64", lambda: single("add", MEGA, inputs=2, dtype=f64),
                   kind="f64")
    yield Workload("relu_f64_1m", "f64", lambda: single("relu", MEGA, dtype=f64), kind="f64")
    yield Workload("sum_f64_1m", "f64", lambda: single("sum", MEGA, dtype=f64), kind="f64")
    for name, folder in folders():
        yield Workload(name, "models", lambda at=folder: Stored(at))
    yield from _gemms("gemm", "fast", [(n, n, n) for n in FAST], numerics="fast", kind="bf16")
    yield from _gemms("gemm", "fast", [(m, 1024, 1024) for m in (1, 8, 32)], numerics="fast",
                      kind="bf16")
    for name, build in (("mlp_b1", lambda: mlp(1)), ("mlp_b32", lambda: mlp(32)),
                        ("resnet18_block", resnet18_block), ("encoder_s128", encoder),
                        ("mobilenet_v2", mobilenet_v2), ("resnet50", resnet50)):
        yield Workload(name, "fast", build, numerics="fast", kind="bf16")
    f16 = {"numerics": "f16", "kind": "f16"}
    yield from _gemms("gemm", "f16", [(1, 1024, 1024), (1, 4096, 4096), (32, 1024, 1024),
                                      (512, 512, 512)], **f16)
    for name, build in (("mlp_b1", lambda: mlp(1)), ("mlp_b32", lambda: mlp(32)),
                        ("mobilenet_v2", mobilenet_v2)):
        yield Workload(name, "f16", build, **f16)
    yield from _gemms("gemm", "f16", [(1, 4096, 4096)], numerics="f16-exact")
    yield Workload("mlp_b1", "f16", lambda: mlp(1), numerics="f16-exact")
