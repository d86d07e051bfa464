/* device.h - memory other than the host's, and what a context keeps open for its backends.
 *
 * A plan has spaces: 0 is the host's memory, 1 and up belong to devices, one each. Every buffer is
 * in one space, every space has its own arena, and a value that is needed in two of them is copied
 * by a step (takt_transfer). */
#ifndef TAKT_PLAN_DEVICE_H
#define TAKT_PLAN_DEVICE_H

#include <stdint.h>

#include "base/ctx.h"
#include "base/error.h"
#include "base/inner.h"

typedef uint8_t takt_space;

enum {
    TAKT_HOST = 0,
    TAKT_SPACES = 4 /* of one plan, including the host's */
};

typedef enum takt_copy {
    TAKT_COPY_NONE,
    TAKT_COPY_UP,     /* host to device */
    TAKT_COPY_DOWN,   /* device to host */
    TAKT_COPY_WITHIN, /* inside the device */
} takt_copy;

/* The copy that a step performs; way TAKT_COPY_NONE: it computes. From in[0] to out[0], dense. */
typedef struct takt_transfer {
    takt_copy way;
    size_t bytes;
} takt_transfer;

/* The memory of a device. `dev` is what the backend's open() made. Functions are thread-safe. */
typedef struct takt_device {
    /* Memory at a multiple of `alignment`; its contents are arbitrary. TAKT_ERR_MEMORY if there is
     * not enough; the caller adds the purpose to the message. */
    takt_status (*get)(void *dev, size_t bytes, void **data);
    void (*put)(void *dev, void *data, size_t bytes);
    /* Returns when the bytes have arrived. Nothing else uses them meanwhile. Failures are recorded
     * in the context that the device was opened for. */
    takt_status (*copy)(void *dev, takt_copy way, void *to, const void *from, size_t bytes);
    /* The device's total and free memory; absent: unknown. */
    void (*memory)(void *dev, uint64_t *total, uint64_t *free);
    size_t alignment; /* of every buffer: a power of two, at least 64 */
    /* The rest is for the caller's buffers in device memory (takt_tensor_view.device); absent: none
     * can be bound. The device number in their views, from 1 on. */
    int32_t (*number)(const void *dev);
    /* The device number of the memory at `data`, 0 if it is not a device's, and how many bytes
     * follow from there. */
    void (*look)(void *dev, const void *data, int32_t *device, size_t *bytes);
    size_t foreign_alignment; /* of a buffer that steps use in place; others are copied */
} takt_device;

/* A backend's performance: rough figures, for decisions that affect only speed. */
typedef struct takt_machine {
    double flops_per_us, bytes_per_us; /* of a step */
    double step_us;                    /* overhead per step */
    double segment_us;                 /* to start a segment and to detect its end */
    double copy_us, copied_per_us;     /* a copy from or to the host: fixed time, bytes a us */
} takt_machine;

/* One measured performance figure of a device. */
typedef struct takt_device_rate {
    const char *name; /* "f32 multiply-add" */
    const char *key;  /* "f32_gflops", for programs: the unit is part of it */
    const char *unit; /* "FLOP/s", "B/s" or "s" */
    double value;     /* in that unit; 0: unknown */
} takt_device_rate;

enum {
    TAKT_DEVICE_RATES = 12,
    TAKT_DEVICE_NEAR = 16 << 20 /* bytes over which the rate of a device's cache is measured */
};

struct takt_backend;
struct takt_plan_space;
struct takt_storage;

/* Memory of a space that is not the host's; TAKT_E_DEVICE_MEMORY if there is not enough. */
TAKT_MUST_USE takt_status takt_space_get(takt_ctx *ctx, const struct takt_plan_space *space,
                                         const char *what, size_t bytes, void **data);

/* The same behind a storage, which gives it back. */
TAKT_MUST_USE takt_status takt_space_storage(takt_ctx *ctx, const struct takt_plan_space *space,
                                             const char *what, size_t bytes,
                                             struct takt_storage **storage);

/* The result of the backend's open() for (which, threads): made by the first call, kept by the
 * context, and shared by all callers. NULL for a backend without open(). */
TAKT_INNER TAKT_MUST_USE takt_status takt_opened_get(takt_ctx *ctx,
                                                     const struct takt_backend *backend,
                                                     const char *which, int threads, void **state);
/* Closes all, when the context ends. */
void takt_opened_close(takt_ctx *ctx);

#endif
