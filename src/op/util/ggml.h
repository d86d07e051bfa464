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
/* Products of rows rounded to 8 bits by blocks, for evaluation: the scalar kernel is the
 * definition, which includes its order of sums. */
typedef struct takt_ggml_work {
    takt_ggml_format format;
    size_t m, blocks; /* rows of a, blocks of a row */
    float *x, *y;     /* all rows, and a column of the result */
    uint8_t *column, *panel;
    char *rounded;
} takt_ggml_work;

/* Memory for products of m rows with rows of `bytes` bytes. */
TAKT_MUST_USE takt_status takt_ggml_work_open(takt_eval *e, size_t m, size_t bytes,
                                              takt_ggml_work *w);
/* out[m, n] = a[m, k] times the n rows of blocks at b, transposed. */
void takt_ggml_work_multiply(const takt_ggml_work *w, const double *a, const int64_t *b, size_t n,
                             double *out);
/* The definition: the scalar kernel. */
void takt_ggml_decode(takt_ggml_format format, const void *blocks, size_t count, float *to);

#endif
