/* ggml_experts_i8.c - products with selected matrices in ggml's block formats, as in layers of
 * experts.
 *
 *     out[..., j, :] = ggml_matmul_i8(a[..., j, :], b[index[..., j]])
 *
 * a may have one row for all choices, [..., 1, k].
 */
#include "op/util/check.h"
#include "op/util/ggml.h"
#include "op/util/index.h"
#include "op/util/make.h"

enum { A, B, INDEX };

/* The last dimensions of a: 1 or the number of choices, and the weights of a row of b. */
static takt_status check_rows(takt_infer *in, takt_dim weights)
{
    const takt_type *a = in->type[A], *index = in->type[INDEX];
    char text[TAKT_TYPE_TEXT];
    bool agree = a->dim[a->rank - 2] == 1;
    if (!agree)
        TAKT_TRY(takt_check_agree(in, a->dim[a->rank - 2], index->dim[index->rank - 1], &agree));
    if (agree && a->dim[a->rank - 1] == weights)
        return TAKT_OK;
    return takt_infer_fail(in, TAKT_E_SHAPE,
                           "rows of b have %lld weights, and a is [..., 1 or choices, weights], "
                           "not %s",
                           (long long)weights, takt_type_text(in->dims, a, text));
}

static takt_status infer(takt_infer *in)
{
    takt_dim weights = 0;
    const takt_type *a = in->type[A], *index = in->type[INDEX];
    TAKT_TRY(takt_infer_dtype(in, A, TAKT_IN(TAKT_F32), "f32"));
    TAKT_TRY(takt_ggml_width(in, B, &weights));
    TAKT_TRY(takt_infer_rank(in, B, 3, 3));
    TAKT_TRY(takt_check_index(in, INDEX));
    TAKT_TRY(takt_infer_rank(in, INDEX, 1, TAKT_MAX_RANK - 1));
    TAKT_TRY(takt_infer_rank(in, A, index->rank + 1, index->rank + 1));
    for (int d = 0; d + 1 < index->rank; d++)
        TAKT_TRY(takt_check_dims(in, A, d, INDEX, d));
    TAKT_TRY(check_rows(in, weights));
    in->out[0] = *a;
    in->out[0].dim[a->rank - 2] = index->dim[index->rank - 1];
    in->out[0].dim[a->rank - 1] = in->type[B]->dim[1];
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *a = &e->in[A], *b = &e->in[B], *index = &e->in[INDEX];
    const size_t n = (size_t)b->dim[1], k = (size_t)a->dim[a->rank - 1];
    const size_t choices = (size_t)index->dim[index->rank - 1];
    const bool is_shared = a->dim[a->rank - 2] == 1;
    takt_ggml_work w;
    TAKT_TRY(takt_ggml_work_open(e, 1, (size_t)b->dim[2], &w));
    for (size_t i = 0; i < index->count; i++) {
        int64_t which = 0;
        TAKT_TRY(takt_index_read(e, INDEX, i, b->dim[0], &which));
        const size_t row = is_shared ? i / choices : i;
        takt_ggml_work_multiply(&w, a->f + row * k, b->i + (size_t)which * n * (size_t)b->dim[2], n,
                                e->out[0].f + i * n);
    }
    return TAKT_OK;
}

/* Matrices that no row chooses are not read. */
static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    const takt_type *a = takt_type_of(g, n->in[A]), *b = takt_type_of(g, n->in[B]);
    const takt_dim inner = a->dim[a->rank - 1];
    const double all = takt_make_count(b), chosen = takt_make_count(takt_type_of(g, n->in[INDEX]));
    const double matrices = b->dim[0] > 0 ? (double)b->dim[0] : 1;
    cost->flops = 2 * takt_make_count(&n->type[0]) * (double)(inner > 0 ? inner : 0);
    cost->bytes = takt_make_bytes(g, n);
    if (chosen < matrices)
        cost->bytes -= all * (1 - chosen / matrices);
}

const takt_op takt_op_ggml_experts_i8 = {
    .name = "ggml_experts_i8",
    .summary = "products of rows rounded to 8 bits by blocks with chosen ones of the weights [e, "
               "n, k] in one of ggml's block formats",
    .in_min = 3,
    .in_max = 3,
    .in_names = {"a", "b", "index"},
    .attrs = {{.name = "format",
               .type = TAKT_ATTR_ENUM,
               .names = takt_ggml_names,
               .is_required = true,
               .summary = "ggml's name of the type"}},
    .traits = TAKT_PRIMITIVE | TAKT_INDEXED,
    .dtypes = TAKT_IN(TAKT_F32) | TAKT_IN(TAKT_U8) | TAKT_IN(TAKT_I32) | TAKT_IN(TAKT_I64),
    .is_mixed = true,
    .infer = infer,
    .eval = eval,
    .no_gradient = "activations are rounded",
    .cost = cost,
    .no_bound = "bytes of blocks are not numbers",
    .samples = {"ggml_experts_i8(f32[3, 1, 64], u8[4, 17, 40] in (0, 60), i64[3, 2] in (-4, 3), "
                "format=q4_1)",
                "ggml_experts_i8(f32[9, 2, 256], u8[3, 5, 144] in (0, 60), i32[9, 2] in (0, 2), "
                "format=q4_k)",
                "ggml_experts_i8(f32[3, 96], u8[2, 19, 51] in (90, 130), i64[3] in (0, 1), "
                "format=mxfp4)",
                "ggml_experts_i8(f32[2, 70, 1, 32], u8[2, 33, 34] in (0, 60), i64[2, 70, 1] in "
                "(0, 1), format=q8_0)",
                "ggml_experts_i8(f32[5, 1, 256], u8[3, 4, 66] in (0, 60), i64[5, 2] in (0, 2), "
                "format=iq2_xxs)"},
};
