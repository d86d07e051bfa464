/* narrow_conv.h - shared by all ways to compute narrow_conv. */
#ifndef TAKT_BACKEND_CPU_CONV_NARROW_CONV_H
#define TAKT_BACKEND_CPU_CONV_NARROW_CONV_H

#include "backend/cpu/conv/images.h"
#include "backend/cpu/conv/shape.h"
#include "kernel/depthwise_bf16/depthwise_bf16.h"
#include "kernel/product_bf16/product_bf16.h"
#include "kernel/winograd_bf16/winograd_bf16.h"

typedef enum takt_narrow_way {
    TAKT_NARROW_DIRECT,   /* a product on the data in place */
    TAKT_NARROW_GATHERED, /* on patches */
    TAKT_NARROW_IMAGE,    /* on an image with its padding */
    TAKT_NARROW_DEPTHWISE,
    TAKT_NARROW_WINOGRAD
} takt_narrow_way;

typedef struct takt_narrow_conv {
    takt_conv_shape shape;
    takt_narrow_way way;
    const takt_kernel *kernel;
    takt_ctx *ctx;           /* for packing at plan time */
    size_t w, x;             /* indices into step->in */
    int bias, residual;      /* the same, or -1 */
    bool w_packed, b_packed; /* at plan time; else, in shared scratch: */
    size_t w_at, b_at, wide_at;
    float lo, hi;
    takt_cut cut;
    takt_image image;
    size_t rows;   /* positions of a block of patches */
    size_t k_row;  /* elements from a patch to the next; zeros follow its own */
    size_t x_step; /* of depthwise_bf16 */
    size_t patches, zeros,
        pointers; /* or image; offsets in a worker's scratch; the kernel's comes first */
} takt_narrow_conv;

/* One task. */
void takt_narrow_product(const takt_step *s, const takt_task *t);
void takt_narrow_image(const takt_step *s, const takt_task *t);
void takt_narrow_depthwise(const takt_step *s, const takt_task *t);
void takt_narrow_winograd(const takt_step *s, const takt_task *t);

enum { TAKT_NARROW_LINES = 8 }; /* of a depthwise convolution at a time */

/* Operands of a task; NULL where there is none. */
const uint16_t *takt_narrow_weights(const takt_step *s, const takt_task *t);
const float *takt_narrow_bias(const takt_step *s, const takt_task *t);
const uint16_t *takt_narrow_residual(const takt_step *s, const takt_task *t);

#endif
