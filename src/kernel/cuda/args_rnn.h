/* args_rnn.h - arguments of the device kernels of recurrent layers; part of args.h. */
#ifndef TAKT_KERNEL_CUDA_ARGS_RNN_H
#define TAKT_KERNEL_CUDA_ARGS_RNN_H

#include "kernel/cuda/args.h"

enum {
    TAKT_CUDA_RNN_THREADS = 512, /* of a block, at most */
    TAKT_CUDA_RNN_ROWS = 4,      /* that a thread multiplies at once, if there are several */
    TAKT_CUDA_RNN_KEEPS = 6,     /* as TAKT_RNN_KEEPS and others of kernel/rnn/rnn.h */
    TAKT_CUDA_RNN_STARTS = 2,
    TAKT_CUDA_RNN_TICKETS = 2 /* words of a group: blocks that came to a barrier, and that ended */
};

/* Elements between iterations and between rows of a sequence. */
typedef struct takt_cuda_rnn_lane {
    uint64_t iteration, row;
} takt_cuda_rnn_lane;

/* All iterations of a layer: rnn_f32_cuda.cu, rnn_f64_cuda.cu. The cell is that of
 * kernel/rnn/rnn.h.
 *
 * Blocks form groups, which have rows of the batch to themselves. The `parts` blocks of a group
 * have units to themselves, and exchange the state of all units after every iteration. */
typedef struct takt_cuda_rnn {
    const void *x, *h, *c, *r, *bias, *peephole;                   /* c, bias, peephole: or NULL */
    const uint8_t *live;                                           /* or NULL */
    void *y, *h_out, *c_out;                                       /* y, c_out: or NULL */
    void *start[TAKT_CUDA_RNN_STARTS], *keep[TAKT_CUDA_RNN_KEEPS]; /* or NULL */
    void *room;        /* states between iterations, in the type of computation */
    uint32_t *tickets; /* 2 * groups */
    takt_cuda_rnn_lane x_lane, y_lane, live_lane;
    takt_cuda_rnn_lane start_lane[TAKT_CUDA_RNN_STARTS], keep_lane[TAKT_CUDA_RNN_KEEPS];
    int64_t r_row, r_col; /* elements between rows, which are multiplied by h, and columns */
    uint32_t length, batch, units, dtype;
    uint32_t kind, act[5], rounds, clips, couples, clips_cell, is_reverse; /* of takt_rnn_form */
    uint32_t gate[4]; /* per gate of the cell: which part of x, r and bias */
    int32_t eye[3];   /* likewise of the peepholes; -1: none */
    double lo, hi, cell_lo, cell_hi;
    /* How it is computed; it changes no bit. */
    uint32_t parts, each;         /* blocks of a group; units of one */
    uint32_t rows;                /* of a group */
    uint32_t row_tile, unit_tile; /* that are multiplied at once */
    uint32_t is_staged;           /* a block holds its part of r in shared memory */
} takt_cuda_rnn;

#endif
