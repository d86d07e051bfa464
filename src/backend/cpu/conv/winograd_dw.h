/* winograd_dw.h - gradient of a 3x3 convolution with respect to its weights by Winograd's
 * F(4x4, 3x3): dw = Gt M G with M = sum over tiles of (Bt x B) * (A dy At).
 *
 * M is 36 matrices [cin][cout], cut into blocks, channels in by channels out. Tiles are counted
 * over all samples and taken TAKT_WINOGRAD_CHUNK at a time: a chunk of a block is what x and dy
 * have there, transformed and multiplied point by point. Chunks are added one after the other. At
 * the end Gt M G is computed in double and rounded once.
 */
#ifndef TAKT_BACKEND_CPU_CONV_WINOGRAD_DW_H
#define TAKT_BACKEND_CPU_CONV_WINOGRAD_DW_H

#include "backend/cpu/conv/winograd_run.h"
#include "kernel/winograd_dy_f32/winograd_dy_f32.h"

enum { TAKT_WINOGRAD_CHUNK = 128 };    /* tiles: part of the order of sums (decision 33) */
enum { TAKT_WINOGRAD_CHANNELS = 128 }; /* of a block, in or out, at most */

typedef struct takt_winograd_dw {
    takt_conv_shape shape;
    takt_winograd_f32_fn *to_v;
    takt_winograd_dy_f32_fn *to_d;
    takt_gemm_f32_fn *multiply;
    const takt_gemm_blocking *blocking;
    takt_panels panels;
    size_t across, tiles, chunks;          /* tiles in a row of dy and in the whole batch */
    size_t ins, outs, in_count, out_count; /* channels of a block, and how many blocks */
    size_t v, d, zeros; /* offsets in a worker's scratch; the kernel's is first */
    size_t sums[2];     /* the same, where a task has whole blocks */
    size_t x_at, dy_at; /* in scratch, of the forms with channels last, for nchw */
    /* Where tasks share chunks: a wave is `parts` chunks of blocks at once, which are then added.
     */
    size_t parts, waves; /* 0: a task has whole blocks */
    size_t crew_at, parts_at, total_at;
} takt_winograd_dw;

/* Channels of the block that a task is at, and the chunk: tiles [first, first + count). */
typedef struct takt_winograd_job {
    const takt_winograd_dw *f;
    const takt_task *t;
    const float *x, *dy;
    size_t in, ins, out, outs;
    size_t first, count;
} takt_winograd_job;

/* Floats of M for one block, at most. */
size_t takt_winograd_dw_floats(const takt_winograd_dw *f);
/* The channels of block `index`. */
void takt_winograd_dw_block(takt_winograd_job *j, size_t index);
/* to = so_far + the chunk; so_far NULL: the chunk. Both are [36][ins][outs]. */
void takt_winograd_dw_chunk(takt_winograd_job *j, size_t chunk, const float *so_far, float *to);
/* The part of dw for input channels [first, end) of the block. */
void takt_winograd_dw_store(const takt_winograd_job *j, const float *sums, size_t first, size_t end,
                            float *dw);

#endif
