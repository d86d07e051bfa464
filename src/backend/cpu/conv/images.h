/* images.h - images that convolutions read instead of patches: where their positions and taps lie,
 * and how a block of one is filled.
 *
 * A block holds the rows of x that some rows of outputs need, padding included. Where strides are
 * larger than 1 it is dealt out into phases, one image for each remainder of the coordinates, so
 * that neighbouring outputs read neighbouring positions of one phase and a tap is just an offset.
 */
#ifndef TAKT_BACKEND_CPU_CONV_IMAGES_H
#define TAKT_BACKEND_CPU_CONV_IMAGES_H

#include "backend/cpu/conv/shape.h"
#include "backend/cpu/cut.h"
#include "kernel/convert/convert.h"

typedef struct takt_image {
    takt_conv_shape shape;
    size_t from_bytes, to_bytes; /* of an element of x and of the image */
    takt_convert_fn *convert;    /* f32 to bf16; or NULL: bytes are copied */
    int flip;                    /* what bytes are combined with by exclusive or; without convert */
    size_t phases[2];            /* by rows and by columns */
    size_t rows;                 /* of outputs of a block, at most */
    size_t lines, pitch;         /* rows of a phase's image and positions of each */
    const size_t *at;            /* offset of each tap in the image, in elements */
    size_t bytes;                /* of a block, and of the memory that may be read after it */
    takt_cut cut;                /* of all rows of outputs and panels of columns */
} takt_image;

/* Whether the convolution can be computed this way by a kernel that reads channels in multiples of
 * `multiple`; 0: it reads no image. */
bool takt_image_fits(const takt_conv_shape *s, size_t multiple);
/* The first four fields of `o` are set. `beyond`: positions after the last that the kernel may
 * read. */
TAKT_MUST_USE takt_status takt_image_plan(takt_planner *p, takt_image *o, size_t beyond);
/* Cuts the step for threads: `operations` in total, on weights of `bytes`. */
void takt_image_cut(takt_planner *p, takt_image *o, size_t panels, double operations,
                    double weight_bytes);

/* Rows [row, row + rows) of outputs, of all samples; those of a block are of one sample. */
typedef struct takt_image_rows {
    size_t row, rows;
} takt_image_rows;
/* The rows of a task. */
takt_image_rows takt_image_share(const takt_image *o, size_t task);
/* The block at the beginning of `rest`. */
takt_image_rows takt_image_block(const takt_image *o, takt_image_rows rest);
/* Fills the block's image at `to` from all of x; every byte of padding is `border`,
 * flipped as well. */
void takt_image_fill(const takt_image *o, const void *x, takt_image_rows block, int border,
                     void *to);

#endif
