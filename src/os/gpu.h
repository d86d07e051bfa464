/* gpu.h - the GPUs of the machine. */
#ifndef TAKT_OS_GPU_H
#define TAKT_OS_GPU_H

#include <stddef.h>
#include <stdint.h>

#include "base/inner.h"

enum { TAKT_GPUS = 16, TAKT_GPU_TEXT = 128 };

typedef struct takt_gpu {
    char name[TAKT_GPU_TEXT]; /* as the driver reports it, in one line */
    uint64_t memory_bytes;    /* 0: unknown */
} takt_gpu;

/* The number of supported GPUs (NVIDIA only); up to TAKT_GPUS are described. `root` is put before
 * paths; the driver's library is used only with "". */
TAKT_INNER size_t takt_gpu_read(const char *root, takt_gpu gpus[static TAKT_GPUS]);

#endif
