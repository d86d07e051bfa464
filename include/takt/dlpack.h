/**
 * dlpack.h - tensors from and to other libraries without a copy, by the DLPack protocol.
 *
 *     takt_dlpack given = {0};
 *     takt_tensor_view x = {0};
 *     if (takt_view_from_dlpack(ctx, &given, &x, NULL) == TAKT_OK)
 *         takt_session_bind(session, "x", &x);
 *     ...
 *     takt_dlpack_release(&given);   // when x is no longer used
 *
 * The structures are those of DLPack 1.x, under Takt's names, so that this header and dlpack.h can
 * be included together; the layout is the same, and a pointer may be cast.
 *
 * Threads: any; one tensor is released once.
 */
#ifndef TAKT_DLPACK_H
#define TAKT_DLPACK_H

#include <stdbool.h>
#include <takt/ctx.h>
#include <takt/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The version that takt_view_to_dlpack writes. Readers accept any minor version of major 1. */
enum { TAKT_DLPACK_MAJOR = 1, TAKT_DLPACK_MINOR = 1 };

/** Kinds of devices that views may be on: the host, memory that CUDA or ROCm has pinned, and CUDA's
 *  own, whose device N is 1 + N in a view. */
enum { TAKT_DL_CPU = 1, TAKT_DL_CUDA = 2, TAKT_DL_CUDA_HOST = 3, TAKT_DL_ROCM_HOST = 11 };

/** Flags of a versioned tensor. */
enum {
    TAKT_DL_READ_ONLY = 1, /**< the memory must not be written */
    TAKT_DL_COPIED = 2,    /**< the producer made a copy for this tensor */
    TAKT_DL_PADDED = 4     /**< elements of less than a byte have a byte each */
};

/** DLDevice. */
typedef struct takt_dl_device {
    int32_t type; /**< TAKT_DL_CPU, TAKT_DL_CUDA; others as in dlpack.h */
    int32_t id;
} takt_dl_device;

/** DLDataType. */
typedef struct takt_dl_dtype {
    uint8_t code; /**< 0 int, 1 unsigned, 2 float, 4 bfloat, 6 bool, 7 to 17 narrow floats */
    uint8_t bits;
    uint16_t lanes;
} takt_dl_dtype;

/** DLTensor. */
typedef struct takt_dl_tensor {
    void *data;
    takt_dl_device device;
    int32_t ndim;
    takt_dl_dtype dtype;
    int64_t *shape;
    int64_t *strides; /**< in elements; NULL: dense row-major */
    uint64_t byte_offset;
} takt_dl_tensor;

/** DLManagedTensor: what capsules called "dltensor" hold. */
typedef struct takt_dl_managed {
    takt_dl_tensor tensor;
    void *manager;
    void (*deleter)(struct takt_dl_managed *self); /**< may be NULL */
} takt_dl_managed;

/** DLPackVersion. */
typedef struct takt_dl_version {
    uint32_t major, minor;
} takt_dl_version;

/** DLManagedTensorVersioned: what capsules called "dltensor_versioned" hold. */
typedef struct takt_dl_versioned {
    takt_dl_version version;
    void *manager;
    void (*deleter)(struct takt_dl_versioned *self); /**< may be NULL */
    uint64_t flags;
    takt_dl_tensor tensor;
} takt_dl_versioned;

/** A tensor passed between libraries: one of the two pointers, the other is NULL. */
typedef struct takt_dlpack {
    takt_dl_versioned *versioned;
    takt_dl_managed *managed;
} takt_dlpack;

/** A view of a tensor of another library: nothing is copied. The caller keeps `from`, and releases
 *  it when the view is no longer used. Host memory and CUDA's; TAKT_ERR_DEVICE otherwise. A tensor
 *  whose elements all share one address (every stride 0) has no view and is refused, as are vector
 *  types and versions other than 1. `is_read_only` may be NULL. On failure the view is all zero. */
TAKT_API TAKT_MUST_USE takt_status takt_view_from_dlpack(takt_ctx *ctx, const takt_dlpack *from,
                                                         takt_tensor_view *view,
                                                         bool *is_read_only);

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_dlpack_options {
    size_t size;
    bool unversioned;         /**< a takt_dl_managed, for consumers older than DLPack 1.0 */
    bool read_only;           /**< sets TAKT_DL_READ_ONLY; refused with `unversioned` */
    bool copied;              /**< sets TAKT_DL_COPIED */
    void (*done)(void *user); /**< called once when the consumer releases it; may be NULL */
    void *user;
} takt_dlpack_options;

/** A tensor for another library, made from a view, whose memory must stay until `done` is called.
 *  The shape is copied. Options may be NULL. On failure `to` is all NULL, and `done` is not called.
 *  The consumer's release may come from any thread; it must come before the context is
 *  destroyed. */
TAKT_API TAKT_MUST_USE takt_status takt_view_to_dlpack(takt_ctx *ctx, const takt_tensor_view *view,
                                                       const takt_dlpack_options *options,
                                                       takt_dlpack *to);

/** Calls the deleter, if there is one, and forgets the pointers. Accepts NULL. */
TAKT_API void takt_dlpack_release(takt_dlpack *tensor);

/** The DLPack type of an element type, and the other way round; TAKT_DTYPE_COUNT if Takt has no
 *  such type. Lanes other than 1 have no counterpart. */
TAKT_API takt_dl_dtype takt_dtype_to_dlpack(takt_dtype dtype);
TAKT_API takt_dtype takt_dtype_from_dlpack(takt_dl_dtype type);

#ifdef __cplusplus
}
#endif
#endif
