/* ggml.h - shared by the ops on weights in ggml's block formats. */
#ifndef TAKT_OP_UTIL_GGML_H
#define TAKT_OP_UTIL_GGML_H

#include "kernel/ggml_f32/ggml_f32.h"
#include "op/ops.h"

/* Names of the formats, in the order of takt_ggml_format, NULL-terminated. */
extern const char *const takt_ggml_names[];
/* The format in attribute `format` of a node. */
takt_ggml_format takt_ggml_of(const takt_node *n);
/* Weights of a row of b, which is u8[..., bytes of whole blocks]; TAKT_E_SHAPE otherwise. */
TAKT_MUST_USE takt_status takt_ggml_width(takt_infer *in, size_t input, takt_dim *weights);
/* The type of a * b, where a is f32[..., weights of a row of b] and b u8[n, bytes of whole blocks].
 */
TAKT_MUST_USE takt_status takt_ggml_product(takt_infer *in);
/* The definition: the scalar kernel. */
void takt_ggml_decode(takt_ggml_format format, const void *blocks, size_t count, float *to);

#endif
