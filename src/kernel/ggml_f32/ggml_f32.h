/* ggml_f32.h - contract of making floats of weights in ggml's block formats.
 *
 *     dst[i] = weight number i of `blocks` blocks at src
 *
 *   formats    blocks of 32 to 128 weights, and super-blocks of 256 whose parts have scales of few
 *              bits; takt_ggml_formats has their sizes. Bytes are little-endian, as in files
 *   bits       those of ggml: each weight is one product, or one product and one sum, of numbers
 *              that f32 holds exactly, rounded once each
 *   reads      exactly the blocks; no alignment
 *   writes     exactly the weights
 */
#ifndef TAKT_KERNEL_GGML_F32_H
#define TAKT_KERNEL_GGML_F32_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/kernel.h"

/* In the order of takt_ggml_formats, which is that of the op's attribute. */
typedef enum takt_ggml_format {
    TAKT_GGML_Q4_0,
    TAKT_GGML_Q4_1,
    TAKT_GGML_Q5_0,
    TAKT_GGML_Q5_1,
    TAKT_GGML_Q8_0,
    TAKT_GGML_Q2_K,
    TAKT_GGML_Q3_K,
    TAKT_GGML_Q4_K,
    TAKT_GGML_Q5_K,
    TAKT_GGML_Q6_K,
    TAKT_GGML_IQ4_NL,
    TAKT_GGML_IQ4_XS,
    TAKT_GGML_MXFP4,
    TAKT_GGML_NVFP4,
    TAKT_GGML_Q1_0,
    TAKT_GGML_Q2_0,
    TAKT_GGML_TQ1_0,
    TAKT_GGML_TQ2_0,
    TAKT_GGML_IQ1_S,
    TAKT_GGML_IQ1_M,
    TAKT_GGML_IQ2_XXS,
    TAKT_GGML_IQ2_XS,
    TAKT_GGML_IQ2_S,
    TAKT_GGML_IQ3_XXS,
    TAKT_GGML_IQ3_S,
    TAKT_GGML_FORMATS
} takt_ggml_format;

typedef struct takt_ggml_info {
    const char *name;
    uint16_t weights, bytes; /* of a block; weights divide TAKT_GEMM_CHUNK */
    uint16_t code;           /* ggml's number of the type, as in GGUF files */
} takt_ggml_info;

extern const takt_ggml_info takt_ggml_formats[TAKT_GGML_FORMATS];

typedef struct takt_ggml_f32 {
    takt_ggml_format format;
    size_t blocks;
    const void *src;
    float *dst;
} takt_ggml_f32;

typedef void takt_ggml_f32_fn(const takt_ggml_f32 *g);

TAKT_KERNEL_FAMILY(ggml_f32, takt_ggml_f32_fn)

/* The way back to `blocks` blocks of q8_0, with the bits that ggml gives them: d = most / 127 in
 * f16, x * (1 / d) rounded half away from zero. An infinity or NaN makes d NaN. */
void takt_ggml_round_q8_0(const float *x, size_t blocks, uint8_t *to);

#endif
