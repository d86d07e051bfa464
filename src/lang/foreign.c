/* foreign.c - words that people bring from PyTorch, Keras, JAX, NumPy and ONNX. One row per
 * word. */
#include "lang/foreign.h"

#include <stdbool.h>
#include <string.h>

typedef struct word {
    const char *theirs, *ours;
} word;

/* Letters and digits only, in lower case: Conv2d, conv_2d and CONV2D are one word. */
static const word calls[] = {
    {"linear", "a fully connected layer is dense(x, units)"},
    {"fullyconnected", "a fully connected layer is dense(x, units)"},
    {"gemm", "write x @ w + b, or dense(x, units)"},
    {"mm", "write a @ b"},
    {"bmm", "write a @ b"},
    {"dot", "write a @ b"},
    {"sequential", "write a pipe: x |> dense(64, act=relu) |> dense(10)"},
    {"input", "inputs stand in the header: model m(x: f32[batch, 784])"},
    {"activation", "write relu(x), or act=relu in the layer before it"},
    {"batchnorm1d", "it is batch_norm(x) for any rank"},
    {"batchnorm2d", "it is batch_norm(x) for any rank"},
    {"batchnorm3d", "it is batch_norm(x) for any rank"},
    {"batchnormalization", "it is batch_norm(x)"},
    {"layernormalization", "it is layer_norm(x)"},
    {"groupnormalization", "it is group_norm(x, groups=...)"},
    {"maxpool1d", "it is max_pool(x, 2, stride=2) for any rank"},
    {"maxpool2d", "it is max_pool(x, 2, stride=2) for any rank"},
    {"maxpool3d", "it is max_pool(x, 2, stride=2) for any rank"},
    {"maxpooling2d", "it is max_pool(x, 2, stride=2) for any rank"},
    {"avgpool1d", "it is avg_pool(x, 2, stride=2) for any rank"},
    {"avgpool2d", "it is avg_pool(x, 2, stride=2) for any rank"},
    {"avgpool3d", "it is avg_pool(x, 2, stride=2) for any rank"},
    {"averagepooling2d", "it is avg_pool(x, 2, stride=2) for any rank"},
    {"adaptiveavgpool2d", "to size 1 it is global_avg_pool(x)"},
    {"adaptivemaxpool2d", "to size 1 it is global_max_pool(x)"},
    {"globalaveragepooling2d", "it is global_avg_pool(x), which keeps the axes as 1"},
    {"globalmaxpooling2d", "it is global_max_pool(x), which keeps the axes as 1"},
    {"convtranspose2d", "it is conv_transpose(x, filters)"},
    {"conv2dtranspose", "it is conv_transpose(x, filters)"},
    {"deconv", "it is conv_transpose(x, filters)"},
    {"depthwiseconv2d", "it is depthwise(x)"},
    {"separableconv2d", "it is separable(x, filters)"},
    {"dropout2d", "it is dropout(x, rate)"},
    {"multiheadattention", "it is attention(x, heads=8)"},
    {"selfattention", "it is attention(x, heads=8)"},
    {"scaleddotproductattention", "it is op.attention(q, k, v)"},
    {"transformerencoderlayer", "it is transformer_block(x, heads=8, hidden=2048)"},
    {"transformerdecoderlayer", "it is transformer_block(x, heads=8, hidden=2048, causal=true)"},
    {"lstmcell", "it is lstm(x, units) over a sequence"},
    {"grucell", "it is gru(x, units) over a sequence"},
    {"simplernn", "it is rnn(x, units)"},
    {"mean", "it is reduce_mean(x, axes=[1])"},
    {"average", "it is reduce_mean(x, axes=[1])"},
    {"sum", "it is reduce_sum(x, axes=[1])"},
    {"prod", "it is reduce_prod(x, axes=[1])"},
    {"var", "it is reduce_var(x, axes=[1])"},
    {"amax", "it is reduce_max(x, axes=[1])"},
    {"amin", "it is reduce_min(x, axes=[1])"},
    {"norm", "the Euclidean norm is reduce_l2(x, axes=[1])"},
    {"logsumexp", "it is reduce_log_sum_exp(x, axes=[1])"},
    {"cat", "it is concat(a, b, axis=1)"},
    {"concatenate", "it is concat(a, b, axis=1)"},
    {"hstack", "it is concat(a, b, axis=1)"},
    {"vstack", "it is concat(a, b, axis=0)"},
    {"view", "it is reshape(x, [dim(x, 0), -1])"},
    {"permute", "it is transpose(x, [0, 2, 1])"},
    {"swapaxes", "it is transpose(x, [0, 2, 1])"},
    {"expand", "it is broadcast(x, [4, 3])"},
    {"expanddims", "it is unsqueeze(x, axes=[1])"},
    {"where", "it is select(condition, a, b)"},
    {"clamp", "it is clip(x, min=0, max=1)"},
    {"maximum", "it is max(a, b)"},
    {"minimum", "it is min(a, b)"},
    {"swish", "it is silu(x)"},
    {"softmax2d", "it is softmax(x, axis=1)"},
    {"arange", "it is iota(shape=[n], dtype=i64)"},
    {"chunk", "it is split(x, axis=1, sizes=[2, 2])"},
    {"tril", "it is trilu(x, upper=false)"},
    {"triu", "it is trilu(x)"},
    {"to", "it is cast(x, f16)"},
    {"astype", "it is cast(x, f16)"},
    {"type", "it is cast(x, f16)"},
    {"size", "the size of an axis is dim(x, 0)"},
    {"crossentropyloss", "it is cross_entropy(logits, labels)"},
    {"mseloss", "it is mse(prediction, target)"},
    {"l1loss", "it is mae(prediction, target)"},
    {"bcewithlogitsloss", "it is bce_logits(logits, targets)"},
    {"resize", "it is upsample(x, scale=2)"},
    {"interpolate", "it is upsample(x, scale=2)"},
    {"range",
     "loops are `repeat 4 as i { ... }`; numbers in a tensor are iota(shape=[n], dtype=i64)"},
};

static const word values[] = {
    {"True", "write true"},
    {"False", "write false"},
    {"None", "write none; a dimension of any size has a name, such as batch"},
    {"null", "write none"},
    {"self", "layers have no self: a parameter is `param w: [4, 3] = zeros`"},
};

/* What follows the dot of a value. */
static const word members[] = {
    {"T", "a matrix transposed is transpose(x)"},
    {"mT", "the last two axes exchanged are transpose(x, [0, 2, 1])"},
    {"shape", "the size of an axis is dim(x, 0)"},
    {"ndim", "it is rank(x)"},
    {"dtype", "it is dtype(x)"},
};

static const word keywords[] = {
    {"dim", "axis"},
    {"dim", "axes"},
    {"dims", "axes"},
    {"dims", "perm"},
    {"axis", "axes"},
    {"axes", "axis"},
    {"axes", "perm"},
    {"order", "perm"},
    {"keepdim", "keep"},
    {"keepdims", "keep"},
    {"activation", "act"},
    {"nonlinearity", "act"},
    {"out_features", "units"},
    {"output_dim", "units"},
    {"output_dim", "size"},
    {"embedding_dim", "size"},
    {"num_embeddings", "count"},
    {"input_dim", "count"},
    {"features", "units"},
    {"hidden_size", "units"},
    {"hidden_size", "hidden"},
    {"hidden_dim", "hidden"},
    {"dim_feedforward", "hidden"},
    {"out_channels", "filters"},
    {"channels", "filters"},
    {"kernel_size", "kernel"},
    {"pool_size", "kernel"},
    {"strides", "stride"},
    {"padding", "pad"},
    {"dilations", "dilation"},
    {"dilation_rate", "dilation"},
    {"output_padding", "extra"},
    {"use_bias", "bias"},
    {"eps", "epsilon"},
    {"num_heads", "heads"},
    {"n_heads", "heads"},
    {"nhead", "heads"},
    {"num_layers", "layers"},
    {"num_groups", "groups"},
    {"p", "rate"},
    {"prob", "rate"},
    {"is_causal", "causal"},
    {"attn_mask", "mask"},
    {"scale_factor", "scale"},
    {"kernel_initializer", "init"},
    {"data_format", "layout"},
    {"ceil_mode", "ceil"},
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const char *exact(const word *table, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i].theirs, name) == 0)
            return table[i].ours;
    return NULL;
}

/* What follows the last dot. */
static const char *last_part(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL ? dot + 1 : name;
}

const char *takt_foreign_call(const char *name)
{
    char plain[32];
    size_t length = 0;
    for (const char *at = last_part(name); *at != '\0'; at++) {
        const bool is_capital = *at >= 'A' && *at <= 'Z';
        if (!is_capital && !(*at >= 'a' && *at <= 'z') && !(*at >= '0' && *at <= '9'))
            continue;
        if (length + 1 == sizeof plain)
            return NULL;
        plain[length++] = (char)(is_capital ? *at - 'A' + 'a' : *at);
    }
    plain[length] = '\0';
    return exact(calls, COUNT(calls), plain);
}

const char *takt_foreign_value(const char *name)
{
    const char *member = last_part(name);
    return member != name ? exact(members, COUNT(members), member)
                          : exact(values, COUNT(values), name);
}

void takt_foreign_keyword(takt_nearest *n, const char *ours)
{
    for (size_t i = 0; i < COUNT(keywords); i++)
        if (strcmp(keywords[i].theirs, n->wanted) == 0 && strcmp(keywords[i].ours, ours) == 0) {
            n->best = ours;
            n->distance = 0;
            return;
        }
    takt_nearest_try(n, ours);
}

const char *takt_foreign_default(const char *layer, const char *parameter)
{
    const bool is_pool = strcmp(layer, "max_pool") == 0 || strcmp(layer, "avg_pool") == 0;
    return is_pool && strcmp(parameter, "stride") == 0
               ? "stride is 1 unless given; other frameworks take the kernel's size"
               : NULL;
}
