/* gpu_state.h - shared by the parts of the tests' CUDA driver. */
#ifndef TAKT_TESTS_UTIL_GPU_STATE_H
#define TAKT_TESTS_UTIL_GPU_STATE_H

#include "util/gpu.h"

enum { GPU_BLOCKS = 4096, GPU_FUNCTIONS = 64, GPU_LATE = 64, GPU_INVALID = 1, GPU_LOST = 719 };

typedef struct gpu_block {
    unsigned char *at; /* red zone before it, and after */
    size_t bytes;
    int ordinal; /* of the device */
} gpu_block;

/* In front of everything else that the driver allocates. */
typedef struct gpu_held {
    struct gpu_held *before, *next;
    size_t bytes;
} gpu_held;

typedef struct gpu_state {
    gpu_settings set;
    gpu_counts count;
    gpu_block blocks[GPU_BLOCKS];
    gpu_held *held;
    takt_cu_ctx current, under; /* the stack of contexts: the previously current ones */
    bool is_lost_in_graph, is_stuck;
    const void *late[GPU_LATE]; /* graphs that run at the next wait */
    size_t late_count;
    struct {
        takt_cu_function function;
        unsigned bytes;
    } shared[GPU_FUNCTIONS]; /* memory that functions may have, as last set */
} gpu_state;

extern gpu_state gpu;

/* Every function begins so: counts the call, and says how it is to fail. */
int gpu_call(void);
#define GPU_CALL()                                                                                 \
    do {                                                                                           \
        const int called_ = gpu_call();                                                            \
        if (called_ != TAKT_CU_OK)                                                                 \
            return called_;                                                                        \
    } while (0)

/* Zeros for an object of the driver, aligned to 64 bytes; NULL when memory is short. */
void *gpu_hold(size_t bytes);
/* Frees memory from gpu_hold() and returns its size. */
size_t gpu_drop(void *object);
/* Frees all memory of the driver: nothing is destroyed on a device that is stuck, so its objects
 * live until the next gpu_driver(). */
void gpu_drop_all(void);
/* Remembers the first thing that was wrong. */
void gpu_complain(const char *why);
/* Bytes of shared memory that a block can request. */
int gpu_shared_most(void);
/* Whether [ptr, ptr + bytes) lies in one block of device memory; complains otherwise. */
bool gpu_has(takt_cu_ptr ptr, size_t bytes);

#define X(field, symbol, parameters) int gpu_##field parameters;
TAKT_CUDA_FUNCTIONS(X)
TAKT_CUDA_LATER(X)
#undef X

#endif
