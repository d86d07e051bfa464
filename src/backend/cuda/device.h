/* device.h - one device of the context: its memory, its code, and how a step is launched there. */
#ifndef TAKT_BACKEND_CUDA_DEVICE_H
#define TAKT_BACKEND_CUDA_DEVICE_H

#include <stdatomic.h>

#include "backend/cuda/driver.h"
#include "base/lock.h"
#include "kernel/cuda/images.h"
#include "kernel/cuda/launch.h"
#include "plan/backend.h"

enum { TAKT_CUDA_LIMIT_S = 60 /* of a wait */ };

/* What open() of the backend makes. */
typedef struct takt_cuda {
    takt_ctx *ctx;
    takt_cuda_driver driver;
    takt_cuda_facts facts;
    takt_cu_ctx context;   /* the device's primary one, which other libraries share */
    takt_cu_stream stream; /* of copies outside of runs */
    /* Code is loaded by the first step that needs it. */
    takt_lock lock; /* held while the tables below change */
    takt_cu_module modules[TAKT_CUDA_IMAGES];
    struct {
        const char *name;
        takt_cu_function function;
        uint32_t shared_bytes; /* that it may have */
    } kernels[TAKT_CUDA_KERNELS];
    size_t kernel_count;
    bool is_early;    /* kernels may begin while the previous one ends: see takt_begin of lang.h */
    _Atomic int lost; /* an error after which the driver refuses everything; 0: none */
    /* A kernel did not end. Freeing device memory would wait for it, so everything stays there
     * until the process ends. */
    _Atomic bool is_stuck;
    uint64_t process; /* that opened it: a child of a fork cannot use it */
} takt_cuda;

/* Opens device `which` ("0", "1"; NULL: the first) with this driver, which the device then owns. */
TAKT_MUST_USE takt_status takt_cuda_open(takt_ctx *ctx, const takt_cuda_driver *driver,
                                         const char *which, takt_cuda **cuda);
void takt_cuda_close(takt_cuda *cuda);

/* Between these two the device's context is the current one of this thread. */
void takt_cuda_enter(takt_cuda *cuda);
void takt_cuda_leave(takt_cuda *cuda);

/* Records the driver's answer in `error`; `what` was attempted. TAKT_OK if it was not an error.
 */
TAKT_MUST_USE takt_status takt_cuda_check(takt_cuda *cuda, takt_error *error, int result,
                                          const char *what);

/* The same for a wait; reports one that reached its limit. */
TAKT_MUST_USE takt_status takt_cuda_waited(takt_cuda *cuda, takt_error *error, int result,
                                           const char *what);

/* TAKT_OK if the device has not failed, and this process is the one that opened it. */
TAKT_MUST_USE takt_status takt_cuda_usable(takt_cuda *cuda, takt_error *error);

/* The function that a launch names; loads its image if need be. */
TAKT_MUST_USE takt_status takt_cuda_function(takt_cuda *cuda, const takt_cuda_launch *l,
                                             takt_error *error, takt_cu_function *function);

/* Two pinned buffers of an upload, and when each has been sent. */
typedef struct takt_cuda_stage {
    unsigned char *data[2];
    takt_cu_event sent[2];
} takt_cuda_stage;

/* From the host, done when it returns; the device's context is current. */
int takt_cuda_upload(takt_cuda *cuda, takt_cu_ptr to, const void *from, size_t bytes);
/* A synchronous copy; returns the driver's answer. */
int takt_cuda_copy(takt_cuda *cuda, takt_copy way, void *to, const void *from, size_t bytes);

/* Memory of the device, for takt_backend.device. */
extern const takt_device takt_cuda_memory;

#endif
