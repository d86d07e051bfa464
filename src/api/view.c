/* view.c - random values and digests of tensors in the caller's memory. */
#include <string.h>

#include <takt/array.h>

#include "base/mem.h"
#include "base/philox.h"
#include "base/sha256.h"
#include "io/npy/npy.h"
#include "ir/dtype.h"

static takt_status check(takt_ctx *ctx, const takt_tensor_view *v, size_t *bytes)
{
    TAKT_NEED(NULL, ctx);
    if (v == NULL)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "there is no view: it is NULL");
    if (v->device != 0)
        return takt_fail(ctx, TAKT_E_DEVICE, "a view lies in the memory of device %d",
                         (int)v->device);
    if (!takt_npy_bytes(v, bytes))
        return takt_fail(ctx, TAKT_E_ARGUMENT, "a view is not dense, or too large");
    if (v->data == NULL && *bytes > 0)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "a view has no data");
    return TAKT_OK;
}

static size_t count_of(const takt_tensor_view *v)
{
    size_t count = 1;
    for (int d = 0; d < v->rank; d++)
        count *= (size_t)v->dims[d];
    return count;
}

takt_status takt_view_random(takt_ctx *ctx, const takt_tensor_view *v, uint64_t seed,
                             uint32_t stream)
{
    return takt_view_random_below(ctx, v, seed, stream, INT64_MAX);
}

takt_status takt_view_random_below(takt_ctx *ctx, const takt_tensor_view *v, uint64_t seed,
                                   uint32_t stream, int64_t bound)
{
    enum { MOST = 10 };
    size_t bytes;
    TAKT_TRY(check(ctx, v, &bytes));
    const double range = bound > 0 && bound < MOST ? (double)bound : MOST;
    const takt_philox_at at = {.seed = seed, .stream = stream};
    const size_t count = count_of(v);
    for (size_t i = 0; i < count; i++) {
        const uint32_t word = takt_philox_word(&at, i);
        const double u = takt_philox_uniform(word);
        if (takt_dtype_is_float(v->dtype))
            takt_dtype_put_f(v->dtype, v->data, i, takt_dtype_round(v->dtype, 2 * u - 1));
        else if (v->dtype == TAKT_BOOL)
            takt_dtype_put_i(v->dtype, v->data, i, word >> 31);
        else
            takt_dtype_put_i(v->dtype, v->data, i, takt_dtype_wrap(v->dtype, (int64_t)(u * range)));
    }
    return TAKT_OK;
}

/* One bit pattern for all NaNs, so that equal results have equal digests. */
static void canonical(takt_dtype dtype, unsigned char *at, size_t count)
{
    static const uint64_t f64 = UINT64_C(0x7ff8000000000000);
    static const uint32_t f32 = 0x7fc00000;
    static const uint16_t f16 = 0x7e00, bf16 = 0x7fc0;
    const struct {
        const void *nan;
        size_t size;
    } of[] = {[TAKT_F64] = {&f64, 8},
              [TAKT_F32] = {&f32, 4},
              [TAKT_F16] = {&f16, 2},
              [TAKT_BF16] = {&bf16, 2}};
    for (size_t i = 0; i < count; i++) {
        const double value = takt_dtype_get_f(dtype, at, i);
        if (value != value)
            memcpy(at + i * of[dtype].size, of[dtype].nan, of[dtype].size);
    }
}

static void digest(takt_sha256 *sha, const takt_tensor_view *v, size_t bytes)
{
    _Alignas(8) unsigned char piece[2048];
    const unsigned char *data = v->data;
    if (v->dtype > TAKT_BF16) {
        takt_sha256_add(sha, data, bytes);
        return;
    }
    for (size_t at = 0; at < bytes; at += sizeof piece) {
        const size_t size = bytes - at < sizeof piece ? bytes - at : sizeof piece;
        memcpy(piece, data + at, size);
        canonical(v->dtype, piece, size * 8 / (size_t)takt_dtype_bits(v->dtype));
        takt_sha256_add(sha, piece, size);
    }
}

struct takt_digest {
    takt_ctx *ctx;
    takt_sha256 sha;
};

takt_status takt_digest_create(takt_ctx *ctx, takt_digest **result)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, result);
    void *block;
    *result = NULL;
    TAKT_TRY(takt_mem_get(ctx, sizeof(takt_digest), "digest", &block));
    takt_digest *d = block;
    d->ctx = ctx;
    takt_sha256_init(&d->sha);
    *result = d;
    return TAKT_OK;
}

takt_status takt_digest_add(takt_digest *d, const takt_tensor_view *view)
{
    size_t bytes;
    TAKT_NEED(NULL, d);
    TAKT_TRY(check(d->ctx, view, &bytes));
    digest(&d->sha, view, bytes);
    return TAKT_OK;
}

void takt_digest_end(takt_digest *d, char text[TAKT_DIGEST_TEXT])
{
    uint8_t result[TAKT_SHA256_BYTES];
    if (d == NULL) {
        if (text != NULL)
            text[0] = '\0';
        return;
    }
    takt_sha256_end(&d->sha, result);
    if (text != NULL)
        takt_sha256_text(result, text);
    takt_mem_put(d->ctx, d, sizeof *d);
}

takt_status takt_view_digest(takt_ctx *ctx, const takt_tensor_view *views, size_t count,
                             char text[TAKT_DIGEST_TEXT])
{
    takt_sha256 sha;
    uint8_t result[TAKT_SHA256_BYTES];
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, text);
    if (count > 0)
        TAKT_NEED(ctx, views);
    takt_sha256_init(&sha);
    for (size_t i = 0; i < count; i++) {
        size_t bytes;
        TAKT_TRY(check(ctx, &views[i], &bytes));
        digest(&sha, &views[i], bytes);
    }
    takt_sha256_end(&sha, result);
    takt_sha256_text(result, text);
    return TAKT_OK;
}
