/* launch.h - which device kernel computes a product, a reduction, rows, and on how many blocks.
 *
 * The functions fill in launches. Pointers of the arguments are copied as they are: a planner may
 * put numbers of buffers there, and addresses later (takt_cuda_pointers says where they lie). What
 * they choose depends on sizes and on the device, and changes no bit of a result.
 */
#ifndef TAKT_KERNEL_CUDA_LAUNCH_H
#define TAKT_KERNEL_CUDA_LAUNCH_H

#include <stddef.h>

#include "kernel/cuda/args.h"

typedef struct takt_cuda_launch {
    const char *kernel;
    uint32_t grid[3], threads, shared_bytes;
    size_t arg_bytes;
    union {
        takt_cuda_map map;
        takt_cuda_rows rows;
        takt_cuda_reduce reduce;
        takt_cuda_combine combine;
        takt_cuda_gemm gemm;
        takt_cuda_gemm_sum gemm_sum;
        takt_cuda_move_args move;
        takt_cuda_gather_args gather;
        takt_cuda_done_args done;
        takt_cuda_window window;
    } args;
} takt_cuda_launch;

enum { TAKT_CUDA_LAUNCHES = 2 }; /* of one step, at most */

/* Offsets of the pointers in the arguments of a launch; how many there are. */
size_t takt_cuda_pointers(const takt_cuda_launch *l, size_t *offsets, size_t capacity);

/* Element-wise: as many registers as the program names. */
void takt_cuda_launch_map(const takt_cuda_map *m, takt_cuda_launch *l);
void takt_cuda_launch_rows(const takt_cuda_rows *r, takt_cuda_launch *l);
void takt_cuda_launch_move(const takt_cuda_move_args *m, takt_cuda_launch *l);
void takt_cuda_launch_window(const takt_cuda_window *w, takt_cuda_launch *l);
void takt_cuda_launch_gather(const takt_cuda_gather_args *g, takt_cuda_launch *l);

/* Bytes of scratch that the next function wants at `scratch`; 0: none. */
uint64_t takt_cuda_reduce_scratch(const takt_cuda_reduce *r, uint32_t processors);
/* The number of launches, 1 or 2. */
size_t takt_cuda_launch_reduce(const takt_cuda_reduce *r, uint32_t processors, float *scratch,
                               takt_cuda_launch *l);
/* `batches` products; the same. `processors`: multiprocessors of the device. */
uint64_t takt_cuda_gemm_scratch(const takt_cuda_gemm *g, uint32_t batches, uint32_t processors);
size_t takt_cuda_launch_gemm(const takt_cuda_gemm *g, uint32_t batches, uint32_t processors,
                             float *scratch, takt_cuda_launch *l);

#endif
