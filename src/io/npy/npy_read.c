/* npy_read.c - reads an .npy file into a newly allocated dense tensor. */
#include <string.h>

#include "base/cursor.h"
#include "base/mem.h"
#include "base/size.h"
#include "io/npy/npy.h"
#include "io/read.h"
#include "ir/dtype.h"
#include "ir/normal.h"

bool takt_npy_bytes(const takt_tensor_view *v, size_t *bytes)
{
    size_t count = 1, dense = 1, size;
    bool is_empty = false;
    if (v == NULL || v->rank < 0 || v->rank > TAKT_MAX_RANK ||
        (unsigned)v->dtype >= TAKT_DTYPE_COUNT || v->device != 0)
        return false;
    for (int d = v->rank - 1; d >= 0; d--) {
        if (!takt_size_from_i64(v->dims[d], &size))
            return false;
        if (v->strides[d] != 0 && size > 1 && (size_t)v->strides[d] != dense)
            return false;
        is_empty = is_empty || size == 0;
        /* A zero dimension must not hide a product that overflows. */
        if (!takt_size_mul(count, size == 0 ? 1 : size, &count))
            return false;
        dense *= size;
    }
    return takt_dtype_bytes(v->dtype, is_empty ? 0 : count, bytes) && count <= INT64_MAX;
}

takt_status takt_view_alloc(takt_ctx *ctx, takt_tensor_view *view)
{
    size_t bytes;
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, view);
    view->data = NULL;
    if (!takt_npy_bytes(view, &bytes))
        return takt_fail(ctx, TAKT_E_OVERFLOW,
                         "a tensor's shape is too large or its view not dense");
    if (bytes > ctx->limits.tensor_bytes)
        return takt_fail(ctx, TAKT_E_OVERFLOW, "a tensor has %zu bytes, the limit is %llu", bytes,
                         (unsigned long long)ctx->limits.tensor_bytes);
    return takt_mem_zero(ctx, 1, bytes, "tensor", &view->data);
}

void takt_view_free(takt_ctx *ctx, takt_tensor_view *view)
{
    size_t bytes;
    if (ctx == NULL || view == NULL)
        return;
    memset(view->strides, 0, sizeof view->strides); /* in any order: same element count */
    if (view->data != NULL && takt_npy_bytes(view, &bytes))
        takt_mem_put(ctx, view->data, bytes);
    view->data = NULL;
}

/* `from` has the first axis contiguous; `to` the last. */
static void transpose(const takt_tensor_view *v, const uint8_t *from, size_t count, size_t size)
{
    int64_t index[TAKT_MAX_RANK] = {0};
    uint8_t *to = v->data;
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        for (int d = v->rank - 1; d >= 0; d--)
            at = at * (size_t)v->dims[d] + (size_t)index[d];
        memcpy(to + i * size, from + at * size, size);
        for (int d = v->rank - 1; d >= 0 && ++index[d] == v->dims[d]; d--)
            index[d] = 0;
    }
}

static takt_status fail_at(takt_ctx *ctx, const char *name, size_t offset, const char *what)
{
    takt_fail(ctx, TAKT_E_NPY, "%s: %s", name, what);
    return takt_fail_offset(ctx, offset);
}

static takt_status check_bools(takt_ctx *ctx, const char *name, const uint8_t *data, size_t count,
                               size_t at)
{
    const size_t bad = takt_bools_check(data, count);
    return bad < count ? fail_at(ctx, name, at + bad, "a bool is neither 0 nor 1") : TAKT_OK;
}

/* The first axis is the innermost. */
static void set_fortran(takt_tensor_view *view)
{
    int64_t stride = 1;
    for (int d = 0; d < view->rank; d++) {
        view->strides[d] = stride;
        stride *= view->dims[d];
    }
}

static takt_status read_data(takt_ctx *ctx, const char *name, takt_cursor *c,
                             const takt_npy_header *h, bool keeps_order, takt_tensor_view *view)
{
    *view = (takt_tensor_view){.dtype = h->dtype, .rank = h->rank};
    memcpy(view->dims, h->dims, sizeof h->dims);
    size_t bytes;
    const size_t at = (size_t)takt_cursor_offset(c), left = takt_cursor_left(c);
    if (!takt_npy_bytes(view, &bytes))
        return fail_at(ctx, name, h->shape_at, "the shape is too large");
    if (left != bytes) {
        takt_fail(ctx, TAKT_E_NPY, "%s: the header promises %zu bytes of data, the file has %zu",
                  name, bytes, left);
        return takt_fail_offset(ctx, at);
    }
    const uint8_t *data = takt_cursor_take(c, bytes);
    if (h->dtype == TAKT_BOOL)
        TAKT_TRY(check_bools(ctx, name, data, bytes, at));
    TAKT_TRY(takt_view_alloc(ctx, view));
    const size_t size = (size_t)takt_dtype_bits(h->dtype) / 8;
    const bool is_fortran = h->is_fortran && h->rank > 1 && bytes > 0;
    if (is_fortran && !keeps_order)
        transpose(view, data, bytes / size, size);
    else if (bytes > 0)
        memcpy(view->data, data, bytes);
    if (is_fortran && keeps_order)
        set_fortran(view);
    return TAKT_OK;
}

takt_status takt_npy_read_header(takt_ctx *ctx, const char *name, takt_cursor *c,
                                 takt_npy_header *h)
{
    const size_t length = takt_cursor_left(c);
    const uint8_t *magic = takt_cursor_take(c, 6);
    if (magic == NULL || memcmp(magic, "\x93NUMPY", 6) != 0) {
        fail_at(ctx, name, 0, "this is not a .npy file: its first bytes are not \\x93NUMPY");
        return takt_fail_hint(ctx, "numpy.save(file, x) writes one");
    }
    const uint8_t major = takt_cursor_u8(c), minor = takt_cursor_u8(c);
    if (c->failed)
        return fail_at(ctx, name, length, "the file ends in its header");
    if (major < 1 || major > 3 || minor != 0) {
        takt_fail(ctx, TAKT_E_NPY, "%s: version %d.%d of .npy is unknown; 1.0 to 3.0 are read",
                  name, major, minor);
        return takt_fail_offset(ctx, 6);
    }
    const size_t header = major == 1 ? takt_cursor_u16le(c) : takt_cursor_u32le(c);
    if (header > TAKT_NPY_HEADER)
        return fail_at(ctx, name, 8, "the header is longer than 65536 bytes");
    const size_t at = (size_t)takt_cursor_offset(c);
    const uint8_t *text = takt_cursor_take(c, header);
    if (text == NULL)
        return fail_at(ctx, name, length, "the file ends in its header");
    return takt_npy_parse(ctx, name, (takt_span){(const char *)text, header}, at, h);
}

takt_status takt_npy_read_memory(takt_ctx *ctx, const char *name, takt_span bytes, bool keeps_order,
                                 takt_tensor_view *view)
{
    takt_cursor c = takt_cursor_of(bytes.at, bytes.length, 0);
    takt_npy_header h;
    *view = (takt_tensor_view){.data = NULL};
    TAKT_TRY(takt_npy_read_header(ctx, name, &c, &h));
    return read_data(ctx, name, &c, &h, keeps_order, view);
}

takt_status takt_npy_load_memory(takt_ctx *ctx, const char *name, const void *bytes, size_t length,
                                 takt_tensor_view *view)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, view);
    *view = (takt_tensor_view){.data = NULL};
    if (bytes == NULL && length > 0)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "takt_npy_load_memory: bytes is NULL");
    return takt_npy_read_memory(ctx, name != NULL ? name : "memory", (takt_span){bytes, length},
                                false, view);
}

takt_status takt_npy_load(takt_ctx *ctx, const char *path, takt_tensor_view *view)
{
    void *bytes;
    size_t length;
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, view);
    *view = (takt_tensor_view){.data = NULL};
    TAKT_NEED(ctx, path);
    TAKT_TRY(takt_read_file(ctx, path, &bytes, &length));
    const takt_status status = takt_npy_load_memory(ctx, path, bytes, length, view);
    takt_mem_put(ctx, bytes, length);
    return status;
}
