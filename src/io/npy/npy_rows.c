/* npy_rows.c - reads .npy files a few rows at a time, for files larger than memory. */
#include <string.h>

#include "base/mem.h"
#include "base/size.h"
#include "io/file.h"
#include "io/npy/npy.h"
#include "ir/normal.h"

struct takt_npy {
    takt_ctx *ctx;
    takt_file *file;
    char *path;
    size_t path_bytes;
    takt_tensor_view view; /* data NULL */
    bool is_fortran, is_new;
    uint64_t data_at;
    size_t row_bytes, element; /* bytes */
    int64_t written;           /* rows */
};

static takt_status make(takt_ctx *ctx, const char *path, takt_npy **result)
{
    void *block, *name;
    *result = NULL;
    if (path == NULL)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "the path of an .npy file is NULL");
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof(takt_npy), "npy file", &block));
    takt_npy *n = block;
    n->ctx = ctx;
    n->path_bytes = strlen(path) + 1;
    if (takt_mem_get(ctx, n->path_bytes, "path", &name) != TAKT_OK) {
        takt_mem_put(ctx, n, sizeof *n);
        return TAKT_ERR_MEMORY;
    }
    n->path = name;
    memcpy(n->path, path, n->path_bytes);
    *result = n;
    return TAKT_OK;
}

void takt_npy_close(takt_npy *n)
{
    if (n == NULL)
        return;
    if (n->file != NULL)
        n->ctx->files.close(n->ctx->files.user, n->file);
    takt_mem_put(n->ctx, n->path, n->path_bytes);
    takt_mem_put(n->ctx, n, sizeof *n);
}

/* Sets the size of rows; false if the total is not addressable. */
static bool settle(takt_npy *n, uint64_t *bytes)
{
    takt_tensor_view row = n->view;
    size_t total;
    row.rank = n->view.rank > 0 ? n->view.rank : 0;
    n->element = (size_t)takt_dtype_bits(n->view.dtype) / 8;
    if (row.rank > 0)
        row.dims[0] = 1;
    if (!takt_npy_bytes(&row, &n->row_bytes) || !takt_npy_bytes(&n->view, &total))
        return false;
    *bytes = total;
    return true;
}

/* ---- reading ---- */

static takt_status read_at(takt_npy *n, uint64_t offset, void *to, size_t count)
{
    return takt_file_part(n->ctx, n->path, n->file, offset, to, count);
}

static takt_status read_header(takt_npy *n)
{
    enum { MOST = TAKT_NPY_HEADER + 12 };
    uint64_t size = 0, bytes;
    void *block;
    const int error = n->ctx->files.size(n->ctx->files.user, n->file, &size);
    if (error != 0)
        return takt_fail_file(n->ctx, TAKT_E_FILE_READ, n->path, "read", error);
    const size_t length = size < MOST ? (size_t)size : MOST;
    TAKT_TRY(takt_mem_get(n->ctx, length, "npy header", &block));
    takt_cursor c = takt_cursor_of(block, length, 0);
    takt_npy_header h;
    takt_status status = read_at(n, 0, block, length);
    if (status == TAKT_OK)
        status = takt_npy_read_header(n->ctx, n->path, &c, &h);
    n->data_at = takt_cursor_offset(&c);
    takt_mem_put(n->ctx, block, length);
    TAKT_TRY(status);
    n->view = (takt_tensor_view){.dtype = h.dtype, .rank = h.rank};
    memcpy(n->view.dims, h.dims, sizeof h.dims);
    n->is_fortran = h.is_fortran && h.rank > 1;
    if (!settle(n, &bytes))
        return takt_fail(n->ctx, TAKT_E_NPY, "%s: the shape is too large", n->path);
    if (size - n->data_at == bytes)
        return TAKT_OK;
    takt_fail(n->ctx, TAKT_E_NPY, "%s: the header promises %llu bytes of data, the file has %llu",
              n->path, (unsigned long long)bytes, (unsigned long long)(size - n->data_at));
    return takt_fail_offset(n->ctx, n->data_at);
}

takt_status takt_npy_open(takt_ctx *ctx, const char *path, takt_npy **npy, takt_tensor_view *view)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, npy);
    *npy = NULL;
    TAKT_NEED(ctx, view);
    *view = (takt_tensor_view){.data = NULL};
    TAKT_TRY(make(ctx, path, npy));
    takt_npy *n = *npy;
    const int error = ctx->files.open_read(ctx->files.user, path, &n->file);
    const takt_status status =
        error != 0 ? takt_fail_file(ctx, TAKT_E_FILE_OPEN, path, "open", error) : read_header(n);
    if (status == TAKT_OK) {
        *view = n->view;
        return TAKT_OK;
    }
    if (error != 0)
        n->file = NULL;
    takt_npy_close(n);
    *npy = NULL;
    return status;
}

static takt_status check_range(takt_npy *n, int64_t first, int64_t count)
{
    const int64_t rows = n->view.rank > 0 ? n->view.dims[0] : 1;
    if (first >= 0 && count >= 0 && first <= rows && count <= rows - first)
        return TAKT_OK;
    return takt_fail(n->ctx, TAKT_E_ARGUMENT, "%s has %lld rows: %lld from %lld cannot be taken",
                     n->path, (long long)rows, (long long)count, (long long)first);
}

static takt_status check_bools(takt_npy *n, int64_t first, const unsigned char *data, size_t bytes)
{
    const size_t bad = n->view.dtype == TAKT_BOOL ? takt_bools_check(data, bytes) : bytes;
    if (bad == bytes)
        return TAKT_OK;
    return takt_fail(n->ctx, TAKT_E_NPY, "%s: a bool in row %lld is neither 0 nor 1", n->path,
                     (long long)first + (long long)(bad / n->row_bytes));
}

/* The first axis is the contiguous one: one piece per element of a row. `place` is its row-major
 * index; in the file it is at the reversed index. */
static takt_status read_fortran(takt_npy *n, int64_t first, int64_t count, unsigned char *to)
{
    const size_t rows = (size_t)count, whole = (size_t)n->view.dims[0];
    const size_t pieces = n->row_bytes / n->element, bytes = rows * n->element;
    void *block;
    if (bytes == 0)
        return TAKT_OK;
    TAKT_TRY(takt_mem_get(n->ctx, bytes, "a column", &block));
    takt_status status = TAKT_OK;
    for (size_t place = 0; place < pieces && status == TAKT_OK; place++) {
        size_t rest = place, at = 0, step = 1, index[TAKT_MAX_RANK];
        for (int d = n->view.rank - 1; d > 0; d--) {
            index[d] = rest % (size_t)n->view.dims[d];
            rest /= (size_t)n->view.dims[d];
        }
        for (int d = 1; d < n->view.rank; d++) {
            at += index[d] * step;
            step *= (size_t)n->view.dims[d];
        }
        status = read_at(n, n->data_at + (at * whole + (size_t)first) * n->element, block, bytes);
        for (size_t r = 0; r < rows && status == TAKT_OK; r++)
            memcpy(to + (r * pieces + place) * n->element, (unsigned char *)block + r * n->element,
                   n->element);
    }
    takt_mem_put(n->ctx, block, bytes);
    return status;
}

takt_status takt_npy_read_rows(takt_npy *n, int64_t first, int64_t count, void *to)
{
    TAKT_NEED(NULL, n);
    if (n->is_new)
        return takt_fail(n->ctx, TAKT_E_STATE, "%s is being written", n->path);
    TAKT_TRY(check_range(n, first, count));
    if (to == NULL && count > 0)
        return takt_fail(n->ctx, TAKT_E_ARGUMENT, "takt_npy_read_rows: to is NULL");
    const size_t bytes = (size_t)count * n->row_bytes;
    const takt_status status =
        n->is_fortran ? read_fortran(n, first, count, to)
                      : read_at(n, n->data_at + (uint64_t)first * n->row_bytes, to, bytes);
    return status == TAKT_OK ? check_bools(n, first, to, bytes) : status;
}

/* ---- writing ---- */

static takt_status begin(takt_npy *n)
{
    takt_ctx *ctx = n->ctx;
    uint64_t bytes;
    takt_text text;
    takt_text_init(&text, ctx);
    takt_status status = takt_npy_head(ctx, &n->view, &text);
    if (status == TAKT_OK && !settle(n, &bytes))
        status = takt_fail(ctx, TAKT_E_OVERFLOW, "%s would be too large", n->path);
    int error = 0;
    if (status == TAKT_OK) {
        error = ctx->files.create(ctx->files.user, n->path, &n->file);
        if (error != 0)
            n->file = NULL;
        else
            error = ctx->files.write(ctx->files.user, n->file, takt_text_get(&text), text.length);
    }
    takt_text_deinit(&text);
    return error != 0 ? takt_fail_file(ctx, TAKT_E_FILE_WRITE, n->path, "write", error) : status;
}

takt_status takt_npy_create(takt_ctx *ctx, const char *path, const takt_tensor_view *view,
                            takt_npy **npy)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, npy);
    *npy = NULL;
    TAKT_NEED(ctx, view);
    TAKT_TRY(make(ctx, path, npy));
    (*npy)->is_new = true;
    (*npy)->view = *view;
    const takt_status status = begin(*npy);
    if (status != TAKT_OK) {
        takt_npy_close(*npy);
        *npy = NULL;
    }
    return status;
}

takt_status takt_npy_write_rows(takt_npy *n, const void *from, int64_t count)
{
    TAKT_NEED(NULL, n);
    if (!n->is_new)
        return takt_fail(n->ctx, TAKT_E_STATE, "%s is being read", n->path);
    TAKT_TRY(check_range(n, n->written, count));
    if (from == NULL && count > 0)
        return takt_fail(n->ctx, TAKT_E_ARGUMENT, "takt_npy_write_rows: from is NULL");
    const int error =
        n->ctx->files.write(n->ctx->files.user, n->file, from, (size_t)count * n->row_bytes);
    if (error != 0)
        return takt_fail_file(n->ctx, TAKT_E_FILE_WRITE, n->path, "write", error);
    n->written += count;
    return TAKT_OK;
}

takt_status takt_npy_commit(takt_npy *n)
{
    TAKT_NEED(NULL, n);
    const int64_t rows = n->view.rank > 0 ? n->view.dims[0] : 1;
    if (!n->is_new || n->written != rows)
        return takt_fail(n->ctx, TAKT_E_STATE, "%s has %lld of its %lld rows", n->path,
                         (long long)n->written, (long long)rows);
    const int error = n->ctx->files.commit(n->ctx->files.user, n->file);
    return error == 0 ? TAKT_OK
                      : takt_fail_file(n->ctx, TAKT_E_FILE_WRITE, n->path, "write", error);
}
