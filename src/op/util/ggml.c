/* ggml.c - what the ops on weights in ggml's block formats share. */
#include "op/util/ggml.h"

#include "ir/infer.h"

const char *const takt_ggml_names[] = {
    "q4_0",  "q4_1",   "q5_0",    "q5_1",   "q8_0",  "q2_k",    "q3_k",  "q4_k",  "q5_k",
    "q6_k",  "iq4_nl", "iq4_xs",  "mxfp4",  "nvfp4", "q1_0",    "q2_0",  "tq1_0", "tq2_0",
    "iq1_s", "iq1_m",  "iq2_xxs", "iq2_xs", "iq2_s", "iq3_xxs", "iq3_s", NULL};

takt_ggml_format takt_ggml_of(const takt_node *n)
{
    return (takt_ggml_format)takt_node_int(n, "format");
}

takt_status takt_ggml_width(takt_infer *in, size_t input, takt_dim *weights)
{
    const takt_type *t = in->type[input];
    const takt_ggml_info *info = &takt_ggml_formats[in->attr[0].i64];
    TAKT_TRY(takt_infer_dtype(in, input, TAKT_IN(TAKT_U8), "u8: the bytes of blocks"));
    TAKT_TRY(takt_infer_rank(in, input, 1, TAKT_MAX_RANK));
    const takt_dim bytes = t->dim[t->rank - 1];
    if (!takt_dim_is_number(bytes) || bytes % info->bytes != 0)
        return takt_infer_fail(in, TAKT_E_SHAPE,
                               "a row of %s is a multiple of %d bytes, %d weights each", info->name,
                               info->bytes, info->weights);
    *weights = bytes / info->bytes * info->weights;
    return TAKT_OK;
}

enum { A, B };

takt_status takt_ggml_product(takt_infer *in)
{
    takt_dim weights = 0;
    const takt_type *a = in->type[A], *b = in->type[B];
    char text[TAKT_TYPE_TEXT];
    TAKT_TRY(takt_infer_dtype(in, A, TAKT_IN(TAKT_F32), "f32"));
    TAKT_TRY(takt_infer_rank(in, A, 1, TAKT_MAX_RANK));
    TAKT_TRY(takt_ggml_width(in, B, &weights));
    TAKT_TRY(takt_infer_rank(in, B, 2, 2));
    if (a->dim[a->rank - 1] != weights)
        return takt_infer_fail(in, TAKT_E_SHAPE, "rows of b have %lld weights, a is %s",
                               (long long)weights, takt_type_text(in->dims, a, text));
    in->out[0] = *a;
    in->out[0].dim[a->rank - 1] = b->dim[0];
    return TAKT_OK;
}

void takt_ggml_decode(takt_ggml_format format, const void *blocks, size_t count, float *to)
{
    const takt_isa_set scalar = UINT32_C(1) << TAKT_ISA_scalar;
    const takt_kernel *k = takt_kernel_find("ggml_f32", scalar, NULL, 0, NULL);
    const takt_ggml_f32 g = {format, count, blocks, to};
    takt_kernel_as_ggml_f32(k)(&g);
}
