/* near_lines.h - some lines of outputs by the kernel that reads its inputs in place. */
#ifndef TAKT_BACKEND_CPU_CONV_NEAR_LINES_H
#define TAKT_BACKEND_CPU_CONV_NEAR_LINES_H

#include "backend/cpu/conv/end.h"
#include "backend/cpu/conv/shape.h"
#include "kernel/conv_f32/conv_f32.h"

typedef struct takt_near_lines {
    takt_conv_f32_fn *run;
    takt_conv_end end;
    size_t registers; /* offset in a worker's scratch */
    bool is_part;     /* of the channels: takt_near_lines_end follows when all have been computed */
} takt_near_lines;

/* `c` is complete except for y and the epilogue: for position `row` of all outputs and channels
 * from `column` on; y is NULL, or memory for these outputs alone, `ld` apart. Chunks of k are
 * adjacent if the channels fill one panel. */
void takt_near_lines_run(const takt_near_lines *l, const takt_step *s, const takt_task *t,
                         takt_conv_f32 *c, size_t row, size_t column);

/* A program that ends the outputs goes over all channels of a block at once, since it costs as much
 * for a few elements as for many: the rows and columns of `b`, from channel `column` on. */
void takt_near_lines_end(const takt_near_lines *l, const takt_step *s, const takt_task *t,
                         const takt_conv_block *b, size_t column);

/* Weights as that kernel reads them, nothing padded. */
static const takt_panels takt_near_panels = {TAKT_CONV_PANEL, TAKT_CONV_PANEL};
void takt_near_pack(const takt_conv_shape *shape, const float *from, float *to);

#endif
