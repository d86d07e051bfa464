/* launch.h - which device kernel computes a product, a reduction, rows, and on how many blocks.
 *
 * The functions fill in launches. Pointers of the arguments are copied as they are: a planner may
 * put numbers of buffers there, and addresses later (takt_cuda_pointers says where they lie). What
 * they choose depends on sizes and on the device, and changes no bit of a result.
 */
#ifndef TAKT_KERNEL_CUDA_LAUNCH_H
#define TAKT_KERNEL_CUDA_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/cuda/args.h"
#include "kernel/cuda/args_attend.h"
#include "kernel/cuda/args_block.h"
#include "kernel/cuda/args_pool.h"
#include "kernel/cuda/args_semiring.h"
#include "kernel/cuda/args_transpose.h"

typedef struct takt_cuda_launch {
    const char *kernel;
    uint32_t grid[3], threads, shared_bytes;
    uint32_t tickets; /* words that are 0 before the first run, and after each */
    bool is_together; /* blocks wait for each other: all must be on the device at once */
    bool is_heavy;    /* a block keeps a multiprocessor busy: two on one take twice as long */
    size_t arg_bytes;
    union {
        takt_cuda_map map;
        takt_cuda_map_one map_one;
        takt_cuda_rows rows;
        takt_cuda_reduce reduce;
        takt_cuda_combine combine;
        takt_cuda_gemm gemm;
        takt_cuda_move_args move;
        takt_cuda_gather_args gather;
        takt_cuda_done_args done;
        takt_cuda_window window;
        takt_cuda_winograd winograd;
        takt_cuda_fours fours;
        takt_cuda_weigh weigh;
        takt_cuda_recompute again;
        takt_cuda_transpose transpose;
        takt_cuda_attend attend;
        takt_cuda_attend_long attend_long;
        takt_cuda_pick_args pick;
        takt_cuda_ggml_rows ggml_rows;
        takt_cuda_ggml ggml;
        takt_cuda_reduce_any_args reduce_any;
        takt_cuda_gemm_any_args gemm_any;
        takt_cuda_lines_args lines;
        takt_cuda_scatter_args scatter;
        takt_cuda_affine_args affine;
        takt_cuda_rand_args rand;
        takt_cuda_conv_any_args conv_any;
        takt_cuda_peak_args peak;
        takt_cuda_rnn rnn;
        takt_cuda_pool_args pool_any;
        takt_cuda_block_args block;
        takt_cuda_semiring_args semiring;
    } args;
} takt_cuda_launch;

/* A device's limits for a block, and in all: bytes of shared memory, multiprocessors. */
typedef struct takt_cuda_block_room {
    uint32_t shared_bytes, processors;
} takt_cuda_block_room;

enum { TAKT_CUDA_LAUNCHES = 2 }; /* of one step, at most */

/* Offsets of the pointers in the arguments of a launch, and their number. */
size_t takt_cuda_pointers(const takt_cuda_launch *l, size_t *offsets, size_t capacity);

/* Element-wise: as many registers as the program names, or a kernel for one operation. */
void takt_cuda_launch_map(const takt_cuda_map *m, takt_cuda_launch *l);
/* The same for a program of mixed types. */
void takt_cuda_launch_map_mixed(const takt_cuda_map *m, takt_cuda_launch *l);
void takt_cuda_launch_rows(const takt_cuda_rows *r, const takt_cuda_block_room *has,
                           takt_cuda_launch *l);
void takt_cuda_launch_move(const takt_cuda_move_args *m, takt_cuda_launch *l);
void takt_cuda_launch_window(const takt_cuda_window *w, takt_cuda_launch *l);
/* The transform of x, or of the products to y. */
void takt_cuda_launch_winograd(const takt_cuda_winograd *w, bool is_output, takt_cuda_launch *l);
void takt_cuda_launch_weigh(const takt_cuda_weigh *w, uint32_t planes, takt_cuda_launch *l);
void takt_cuda_launch_transpose(const takt_cuda_transpose *t, uint32_t planes, takt_cuda_launch *l);
void takt_cuda_launch_recompute(const takt_cuda_recompute *a, uint32_t planes, takt_cuda_launch *l);
void takt_cuda_launch_attend(const takt_cuda_attend *a, uint32_t batch, takt_cuda_launch *l);
/* Bytes of shared memory that a block needs. */
uint32_t takt_cuda_attend_long_bytes(void);
void takt_cuda_launch_attend_long(const takt_cuda_attend_long *a, uint32_t batches,
                                  takt_cuda_launch *l);
void takt_cuda_launch_fours(const takt_cuda_fours *f, takt_cuda_launch *l);
void takt_cuda_launch_pick(const takt_cuda_pick_args *p, takt_cuda_launch *l);
void takt_cuda_launch_ggml_rows(const takt_cuda_ggml_rows *g, takt_cuda_launch *l);
void takt_cuda_launch_ggml(const takt_cuda_ggml *g, takt_cuda_launch *l);
void takt_cuda_launch_reduce_any(const takt_cuda_reduce_any_args *r, takt_cuda_launch *l);
void takt_cuda_launch_gemm_any(const takt_cuda_gemm_any_args *g, takt_cuda_launch *l);
/* Running sums, or an order if there are places to write. */
void takt_cuda_launch_lines(const takt_cuda_lines_args *a, takt_cuda_launch *l);
/* Lines of updates, or (kernel takt_cuda_scatter_convert) elements that get another type. */
void takt_cuda_launch_scatter(const takt_cuda_scatter_args *s, bool converts, takt_cuda_launch *l);
void takt_cuda_launch_affine(const takt_cuda_affine_args *a, takt_cuda_launch *l);
void takt_cuda_launch_rand(const takt_cuda_rand_args *r, takt_cuda_launch *l);
/* takt_cuda_any_conv, _dx or _dw. */
void takt_cuda_launch_conv_any(const takt_cuda_conv_any_args *c, const char *kernel,
                               takt_cuda_launch *l);
void takt_cuda_launch_pool_any(const takt_cuda_pool_args *p, takt_cuda_launch *l);
void takt_cuda_launch_block(const takt_cuda_block_args *g, takt_cuda_launch *l);
void takt_cuda_launch_semiring(const takt_cuda_semiring_args *s, takt_cuda_launch *l);
void takt_cuda_launch_gather(const takt_cuda_gather_args *g, takt_cuda_launch *l);

/* Bytes of scratch that the launches need at `scratch`, and words at `tickets`; 0: none. */
uint64_t takt_cuda_reduce_scratch(const takt_cuda_reduce *r, const takt_cuda_block_room *has);
uint32_t takt_cuda_reduce_tickets(const takt_cuda_reduce *r, const takt_cuda_block_room *has);
/* The number of launches, 1 or 2. */
size_t takt_cuda_launch_reduce(const takt_cuda_reduce *r, const takt_cuda_block_room *has,
                               float *scratch, uint32_t *tickets, takt_cuda_launch *l);
/* Reduces long rows of neighbours as if they were very many; two tickets per chunk. */
void takt_cuda_launch_reduce_long(const takt_cuda_reduce *r, const takt_cuda_block_room *has,
                                  uint32_t *tickets, takt_cuda_launch *l);

/* ---- recurrent layers ---- */

/* Chooses how a layer of these sizes is cut into blocks; false: no way fits into a block. */
bool takt_cuda_cut_rnn(takt_cuda_rnn *r, const takt_cuda_block_room *has);
/* Bytes at `room`. */
uint64_t takt_cuda_rnn_scratch(const takt_cuda_rnn *r);
/* For a recurrent layer that was split. */
void takt_cuda_launch_rnn(const takt_cuda_rnn *r, takt_cuda_launch *l);

/* ---- products ---- */

/* How a product is computed; it changes no bit. */
typedef struct takt_cuda_gemm_plan {
    size_t way;             /* below takt_cuda_gemm_ways(); SIZE_MAX: not at all */
    uint64_t scratch_bytes; /* that takt_cuda_launch_gemm needs */
    uint32_t tickets;
} takt_cuda_gemm_plan;

#define TAKT_CUDA_GEMM_ANY (SIZE_MAX - 1)

/* Ways to compute one: tiles, with k whole (even) or cut (odd); then columns of a few rows. */
size_t takt_cuda_gemm_ways(void);
/* The way that takes least time for `batches` products of those that fit the device, or way `way`,
 * if it is not TAKT_CUDA_GEMM_ANY. */
takt_cuda_gemm_plan takt_cuda_gemm_plan_of(const takt_cuda_gemm *g, uint32_t batches,
                                           const takt_cuda_block_room *has, size_t way);
/* Whether one product takes less time, transposition included, if A is transposed first; `*lined`
 * is then the product after that, with A still to be set. */
bool takt_cuda_gemm_lines(const takt_cuda_gemm *g, const takt_cuda_block_room *has,
                          takt_cuda_gemm *lined);
void takt_cuda_launch_gemm(const takt_cuda_gemm *g, uint32_t batches, const takt_cuda_gemm_plan *p,
                           float *scratch, uint32_t *tickets, takt_cuda_launch *l);

#endif
