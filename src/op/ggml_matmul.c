/* ggml_matmul.c - product of floats with weights in ggml's block formats: a times the floats of b,
 * transposed. */
#include "op/util/ggml.h"
#include "op/util/make.h"

enum { FORMAT };
enum { A, B };

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_named_attr format = {"format", n->attr[FORMAT]};
    const takt_id w = takt_graph_call(g, &takt_op_ggml_dequantize, 1, &n->in[B], 1, &format);
    out[0] = takt_matmul(g, n->in[A], w, false, true);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    const takt_type *a = takt_type_of(g, n->in[A]);
    const takt_dim inner = a->dim[a->rank - 1];
    cost->flops = 2 * takt_make_count(&n->type[0]) * (double)(inner > 0 ? inner : 0);
    cost->bytes = takt_make_bytes(g, n);
}

const takt_op takt_op_ggml_matmul = {
    .name = "ggml_matmul",
    .summary = "product with weights [n, k] in one of ggml's block formats",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"a", "b"},
    .attrs = {[FORMAT] = {.name = "format",
                          .type = TAKT_ATTR_ENUM,
                          .names = takt_ggml_names,
                          .is_required = true,
                          .summary = "ggml's name of the type"}},
    .traits = TAKT_CONTRACTS,
    .dtypes = TAKT_IN(TAKT_F32) | TAKT_IN(TAKT_U8),
    .is_mixed = true,
    .infer = takt_ggml_product,
    .lower = lower,
    .cost = cost,
    .samples = {"ggml_matmul(f32[3, 64], u8[5, 36] in (0, 60), format=q4_0)",
                "ggml_matmul(f32[2, 3, 256], u8[17, 144] in (0, 60), format=q4_k)",
                "ggml_matmul(f32[512], u8[4, 420] in (0, 60), format=q6_k)",
                "ggml_matmul(f32[20, 32], u8[33, 34] in (0, 60), format=q8_0)"},
};
