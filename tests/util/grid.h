/* grid.h - runs the device kernels of src/kernel/<family>/<family>_cuda.cu on the CPU.
 *
 * The kernels are compiled as C (kernel/cuda/lang.h). A thread is a fiber; SYNC() switches to the
 * next one until all have come to it. Threads of a block run in the given order between two
 * barriers, blocks one after another in the same order (those of a cooperative launch alternate,
 * each until it waits for another): a kernel that lacks a barrier differs from its scalar kernel in
 * one order at least. Shared memory begins as NaN.
 */
#ifndef TAKT_TESTS_UTIL_GRID_H
#define TAKT_TESTS_UTIL_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/cuda/lang.h"

typedef enum grid_order { GRID_FORWARD, GRID_BACKWARD, GRID_SHUFFLED, GRID_ORDERS } grid_order;

typedef struct grid_launch {
    takt_lane_fn *kernel;
    uint32_t grid[3], threads, shared_bytes;
    grid_order order;
    bool is_together; /* blocks may wait for each other: a cooperative launch */
} grid_launch;

/* NULL, or the defect of the launch: a barrier that some threads never reached, shared memory
 * beyond its end, a block too large, no memory. */
const char *grid_run(const grid_launch *launch, const void *args);

/* The kernel of this name, as the driver finds one in a module; NULL: there is none. */
takt_lane_fn *grid_find(const char *name, uint32_t *threads);

#endif
