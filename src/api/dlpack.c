/* dlpack.c - tensors of other libraries as views, and views as tensors for them.
 *
 * Producers are untrusted: everything they declare is checked before a view is made.
 */
#include <takt/dlpack.h>

#include <string.h>

#include "base/mem.h"
#include "base/options.h"
#include "base/size.h"
#include "ir/dtype.h"

/* ---- element types ---- */

static const takt_dl_dtype types[TAKT_DTYPE_COUNT] = {
    [TAKT_F64] = {2, 64, 1},        [TAKT_F32] = {2, 32, 1},    [TAKT_F16] = {2, 16, 1},
    [TAKT_BF16] = {4, 16, 1},       [TAKT_I64] = {0, 64, 1},    [TAKT_I32] = {0, 32, 1},
    [TAKT_I16] = {0, 16, 1},        [TAKT_I8] = {0, 8, 1},      [TAKT_U64] = {1, 64, 1},
    [TAKT_U32] = {1, 32, 1},        [TAKT_U16] = {1, 16, 1},    [TAKT_U8] = {1, 8, 1},
    [TAKT_BOOL] = {6, 8, 1},        [TAKT_I2] = {0, 2, 1},      [TAKT_U2] = {1, 2, 1},
    [TAKT_I4] = {0, 4, 1},          [TAKT_U4] = {1, 4, 1},      [TAKT_F8E4M3FN] = {10, 8, 1},
    [TAKT_F8E4M3FNUZ] = {11, 8, 1}, [TAKT_F8E5M2] = {12, 8, 1}, [TAKT_F8E5M2FNUZ] = {13, 8, 1},
    [TAKT_F4E2M1] = {17, 4, 1},     [TAKT_F8E8M0] = {14, 8, 1},
};

takt_dl_dtype takt_dtype_to_dlpack(takt_dtype dtype)
{
    return (unsigned)dtype < TAKT_DTYPE_COUNT ? types[dtype] : (takt_dl_dtype){0, 0, 0};
}

takt_dtype takt_dtype_from_dlpack(takt_dl_dtype type)
{
    int i = 0;
    while (i < TAKT_DTYPE_COUNT && (types[i].code != type.code || types[i].bits != type.bits ||
                                    types[i].lanes != type.lanes))
        i++;
    return (takt_dtype)i;
}

/* ---- in ---- */

static takt_status check_device(takt_ctx *ctx, const takt_dl_tensor *t)
{
    const int32_t type = t->device.type;
    if (type == TAKT_DL_CPU || type == TAKT_DL_CUDA_HOST || type == TAKT_DL_ROCM_HOST ||
        (type == TAKT_DL_CUDA && t->device.id >= 0 && t->device.id < INT32_MAX))
        return TAKT_OK;
    takt_fail(ctx, TAKT_E_DEVICE, "the DLPack tensor lies in the memory of device %d:%d%s", type,
              t->device.id,
              type == TAKT_DL_CUDA ? " (CUDA)"
              : type == 8          ? " (Metal)"
                                   : "");
    return takt_fail_hint(ctx, "copy it to the host first");
}

/* Copies shape and strides into the view; all offsets must fit 64 bits. */
static takt_status take_layout(takt_ctx *ctx, const takt_dl_tensor *t, takt_tensor_view *v)
{
    int64_t count = 1, reach = 0, step;
    bool is_empty = false, is_spread = t->strides == NULL;
    for (int d = 0; d < t->ndim; d++) {
        const int64_t dim = t->shape[d], stride = t->strides != NULL ? t->strides[d] : 0;
        if (dim < 0)
            return takt_fail(ctx, TAKT_E_DLPACK, "dimension %d of the DLPack tensor is negative",
                             d);
        is_empty = is_empty || dim == 0;
        is_spread = is_spread || stride != 0;
        if (!takt_i64_mul(count, dim > 0 ? dim : 1, &count) || stride == INT64_MIN ||
            !takt_i64_mul(dim > 0 ? dim - 1 : 0, stride < 0 ? -stride : stride, &step) ||
            !takt_i64_add(reach, step, &reach))
            return takt_fail(ctx, TAKT_E_DLPACK, "the DLPack tensor's shape or strides overflow");
        v->dims[d] = dim;
        v->strides[d] = stride;
    }
    const int64_t bits = takt_dtype_bits(v->dtype);
    if (count > INT64_MAX / 64 || reach > INT64_MAX / 64 || reach > INT64_MAX / bits)
        return takt_fail(ctx, TAKT_E_DLPACK, "the DLPack tensor's shape or strides overflow");
    if (is_empty)
        memset(v->strides, 0, sizeof v->strides);
    if (!is_spread && !is_empty && count > 1) {
        takt_fail(ctx, TAKT_E_DLPACK,
                  "all %lld elements of the DLPack tensor lie at one place: no view tells that",
                  (long long)count);
        return takt_fail_hint(ctx, "make a copy of it that is dense");
    }
    if (!is_empty && t->data == NULL)
        return takt_fail(ctx, TAKT_E_DLPACK, "the DLPack tensor has elements, but no data");
    return TAKT_OK;
}

static takt_status take(takt_ctx *ctx, const takt_dl_tensor *t, takt_tensor_view *v)
{
    TAKT_TRY(check_device(ctx, t));
    if (t->ndim < 0 || t->ndim > TAKT_MAX_RANK || (t->ndim > 0 && t->shape == NULL))
        return takt_fail(ctx, TAKT_E_DLPACK,
                         "the DLPack tensor has %d dimensions%s; the most is %d", t->ndim,
                         t->shape == NULL ? " and no shape" : "", TAKT_MAX_RANK);
    v->rank = t->ndim;
    v->dtype = takt_dtype_from_dlpack(t->dtype);
    if (v->dtype == TAKT_DTYPE_COUNT)
        return takt_fail(
            ctx, TAKT_E_DLPACK,
            "DLPack type code %d with %d bits and %d lanes has no element type in Takt",
            t->dtype.code, t->dtype.bits, t->dtype.lanes);
    TAKT_TRY(take_layout(ctx, t, v));
    if (t->byte_offset > UINTPTR_MAX - (uintptr_t)t->data)
        return takt_fail(ctx, TAKT_E_DLPACK, "the DLPack tensor's offset overflows");
    v->data = t->data != NULL ? (char *)t->data + t->byte_offset : NULL;
    v->device = t->device.type == TAKT_DL_CUDA ? t->device.id + 1 : 0;
    return TAKT_OK;
}

static takt_status check_version(takt_ctx *ctx, const takt_dl_versioned *t)
{
    if (t->version.major != TAKT_DLPACK_MAJOR) {
        takt_fail(ctx, TAKT_E_DLPACK, "the DLPack tensor is of version %u.%u; Takt reads 1.x",
                  t->version.major, t->version.minor);
        return takt_fail_hint(ctx, "ask the producer for max_version=(1, %d)", TAKT_DLPACK_MINOR);
    }
    if ((t->flags & TAKT_DL_PADDED) != 0 && t->tensor.dtype.bits < 8)
        return takt_fail(ctx, TAKT_E_DLPACK,
                         "the DLPack tensor gives each element of %d bits a byte; Takt packs them",
                         t->tensor.dtype.bits);
    return TAKT_OK;
}

takt_status takt_view_from_dlpack(takt_ctx *ctx, const takt_dlpack *from, takt_tensor_view *view,
                                  bool *is_read_only)
{
    if (ctx == NULL)
        return TAKT_ERR_ARGUMENT;
    if (view == NULL || from == NULL || (from->versioned == NULL) == (from->managed == NULL))
        return takt_fail(ctx, TAKT_E_ARGUMENT,
                         "takt_view_from_dlpack: one tensor, versioned or not, and a view, please");
    takt_tensor_view made = {.rank = 0};
    const bool has_version = from->versioned != NULL;
    takt_status status = has_version ? check_version(ctx, from->versioned) : TAKT_OK;
    if (status == TAKT_OK)
        status = take(ctx, has_version ? &from->versioned->tensor : &from->managed->tensor, &made);
    *view = status == TAKT_OK ? made : (takt_tensor_view){.rank = 0};
    if (is_read_only != NULL)
        *is_read_only =
            status == TAKT_OK && has_version && (from->versioned->flags & TAKT_DL_READ_ONLY) != 0;
    return status;
}

/* ---- out ---- */

/* Both forms in one block: the consumer sees the one that it requested. */
typedef struct parcel {
    takt_ctx *ctx;
    void (*done)(void *user);
    void *user;
    takt_dl_versioned versioned;
    takt_dl_managed managed;
    int64_t shape[TAKT_MAX_RANK], strides[TAKT_MAX_RANK];
} parcel;

static void drop(parcel *p)
{
    void (*done)(void *user) = p->done;
    void *user = p->user;
    takt_mem_put(p->ctx, p, sizeof *p);
    if (done != NULL)
        done(user);
}

static void delete_versioned(takt_dl_versioned *self)
{
    drop(self->manager);
}

static void delete_managed(takt_dl_managed *self)
{
    drop(self->manager);
}

static takt_status check_view(takt_ctx *ctx, const takt_tensor_view *v)
{
    size_t count = 1, size, bytes;
    bool good = v->rank >= 0 && v->rank <= TAKT_MAX_RANK && (unsigned)v->dtype < TAKT_DTYPE_COUNT;
    bool is_empty = false;
    for (int d = 0; good && d < v->rank; d++) {
        good = takt_size_from_i64(v->dims[d], &size) &&
               takt_size_mul(count, size > 0 ? size : 1, &count);
        is_empty = is_empty || v->dims[d] == 0;
    }
    if (!good || !takt_dtype_bytes(v->dtype, count, &bytes) || (v->data == NULL && !is_empty))
        return takt_fail(ctx, TAKT_E_ARGUMENT, "takt_view_to_dlpack: the view is not valid");
    if (v->device < 0)
        return takt_fail(ctx, TAKT_E_DEVICE, "the view lies in the memory of device %d", v->device);
    return TAKT_OK;
}

static void fill(parcel *p, const takt_tensor_view *v, takt_dl_tensor *t)
{
    int64_t dense = 1;
    bool is_plain = true;
    for (int d = 0; d < v->rank; d++)
        is_plain = is_plain && v->strides[d] == 0;
    for (int d = v->rank - 1; d >= 0; d--) {
        p->shape[d] = v->dims[d];
        p->strides[d] = is_plain ? dense : v->strides[d];
        dense *= v->dims[d] > 0 ? v->dims[d] : 1;
    }
    *t = (takt_dl_tensor){
        .data = v->data,
        .device = {v->device > 0 ? TAKT_DL_CUDA : TAKT_DL_CPU, v->device > 0 ? v->device - 1 : 0},
        .ndim = v->rank,
        .dtype = takt_dtype_to_dlpack(v->dtype),
        .shape = p->shape,
        .strides = p->strides};
}

takt_status takt_view_to_dlpack(takt_ctx *ctx, const takt_tensor_view *view,
                                const takt_dlpack_options *options, takt_dlpack *to)
{
    takt_dlpack_options o;
    void *block;
    if (to != NULL)
        *to = (takt_dlpack){NULL, NULL};
    if (ctx == NULL)
        return TAKT_ERR_ARGUMENT;
    if (view == NULL || to == NULL)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "takt_view_to_dlpack: %s is NULL",
                         view == NULL ? "the view" : "where it goes");
    TAKT_TRY(takt_options_read(ctx, "takt_dlpack_options", options, &o, sizeof o));
    TAKT_TRY(check_view(ctx, view));
    if (o.unversioned && o.read_only)
        return takt_fail(ctx, TAKT_E_DLPACK,
                         "a read-only tensor needs DLPack 1.0: older consumers may write it");
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof(parcel), "DLPack tensor", &block));
    parcel *p = block;
    p->ctx = ctx;
    p->done = o.done;
    p->user = o.user;
    if (o.unversioned) {
        p->managed = (takt_dl_managed){.manager = p, .deleter = delete_managed};
        fill(p, view, &p->managed.tensor);
        to->managed = &p->managed;
        return TAKT_OK;
    }
    p->versioned = (takt_dl_versioned){.version = {TAKT_DLPACK_MAJOR, TAKT_DLPACK_MINOR},
                                       .manager = p,
                                       .deleter = delete_versioned,
                                       .flags = (o.read_only ? (uint64_t)TAKT_DL_READ_ONLY : 0) |
                                                (o.copied ? (uint64_t)TAKT_DL_COPIED : 0)};
    fill(p, view, &p->versioned.tensor);
    to->versioned = &p->versioned;
    return TAKT_OK;
}

void takt_dlpack_release(takt_dlpack *t)
{
    if (t == NULL)
        return;
    const takt_dlpack old = *t;
    *t = (takt_dlpack){NULL, NULL};
    if (old.versioned != NULL && old.versioned->deleter != NULL)
        old.versioned->deleter(old.versioned);
    if (old.managed != NULL && old.managed->deleter != NULL)
        old.managed->deleter(old.managed);
}
