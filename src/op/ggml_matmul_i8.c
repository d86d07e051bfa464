/* ggml_matmul_i8.c - product of floats, rounded to 8 bits by blocks, with weights in ggml's block
 * formats.
 *
 * Each block of a row of a, as long as a block of b, is rounded to multiples of max |a| / 127.
 * Products with whole numbers are exact then: kernel/ggml_i8/ggml_i8.h says in which order they are
 * summed.
 */
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/ggml.h"
#include "op/util/make.h"

enum { A, B };

static takt_status eval(takt_eval *e)
{
    const takt_array *a = &e->in[A], *b = &e->in[B];
    const size_t n = (size_t)b->dim[0], m = n > 0 ? e->out[0].count / n : 0;
    takt_ggml_work w;
    TAKT_TRY(takt_ggml_work_open(e, m, (size_t)b->dim[1], &w));
    takt_ggml_work_multiply(&w, a->f, b->i, n, e->out[0].f);
    return TAKT_OK;
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    const takt_type *a = takt_type_of(g, n->in[A]);
    const takt_dim inner = a->dim[a->rank - 1];
    cost->flops = 2 * takt_make_count(&n->type[0]) * (double)(inner > 0 ? inner : 0);
    cost->bytes = takt_make_bytes(g, n);
}

const takt_op takt_op_ggml_matmul_i8 = {
    .name = "ggml_matmul_i8",
    .summary = "product of rows rounded to 8 bits by blocks with weights [n, k] in one of ggml's "
               "block formats",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"a", "b"},
    .attrs = {{.name = "format",
               .type = TAKT_ATTR_ENUM,
               .names = takt_ggml_names,
               .is_required = true,
               .summary = "ggml's name of the type"}},
    .traits = TAKT_PRIMITIVE,
    .dtypes = TAKT_IN(TAKT_F32) | TAKT_IN(TAKT_U8),
    .is_mixed = true,
    .infer = takt_ggml_product,
    .eval = eval,
    .no_gradient = "activations are rounded",
    .cost = cost,
    .no_bound = "bytes of blocks are not numbers",
    .samples = {"ggml_matmul_i8(f32[3, 64], u8[5, 40] in (0, 60), format=q4_1)",
                "ggml_matmul_i8(f32[20, 32], u8[33, 34] in (0, 60), format=q8_0)",
                "ggml_matmul_i8(f32[2, 3, 512], u8[17, 352] in (0, 60), format=q5_k)",
                "ggml_matmul_i8(f32[4, 256], u8[9, 136] in (0, 60), format=iq4_xs)",
                "ggml_matmul_i8(f32[2, 96], u8[19, 51] in (90, 130), format=mxfp4)",
                "ggml_matmul_i8(f32[3, 256], u8[17, 66] in (0, 60), format=iq2_xxs)",
                "ggml_matmul_i8(f32[256], u8[5, 110] in (0, 60), format=iq3_s)",
                "ggml_matmul_i8(f32[2, 128], u8[19, 72] in (0, 60), format=nvfp4)"},
};
