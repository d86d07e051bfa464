/* fz_npy.c - any bytes as .npy: two readings agree, and a valid array is written and read again. */
#include <takt/array.h>

#include "fuzz/target.h"
#include "util/meter.h"

typedef struct sheet {
    takt_ctx *ctx;
    const takt_tensor_view *of;
} sheet;

static bool same(takt_ctx *ctx, const takt_tensor_view *a, const takt_tensor_view *b)
{
    char x[TAKT_DIGEST_TEXT], y[TAKT_DIGEST_TEXT];
    must(takt_view_digest(ctx, a, 1, x) == TAKT_OK && takt_view_digest(ctx, b, 1, y) == TAKT_OK);
    return a->dtype == b->dtype && a->rank == b->rank && strcmp(x, y) == 0 &&
           memcmp(a->dims, b->dims, sizeof a->dims) == 0;
}

static int read_back(void *user, const char *text, size_t length)
{
    const sheet *s = user;
    takt_tensor_view again;
    must(takt_npy_load_memory(s->ctx, "written", text, length, &again) == TAKT_OK);
    must(same(s->ctx, s->of, &again));
    takt_view_free(s->ctx, &again);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    meter m = {0};
    const takt_allocator allocator = METER_ALLOCATOR(&m);
    const takt_config config = {.allocator = &allocator, .limits.bytes = 1 << 30};
    takt_ctx *ctx;
    takt_tensor_view a, b;
    if (takt_ctx_create(&config, &ctx) != TAKT_OK)
        return 0;
    const takt_status status = takt_npy_load_memory(ctx, "fuzz", data, size, &a);
    must(m.peak <= size + 65536);
    must((status == TAKT_OK) == (a.data != NULL));
    must(status != TAKT_ERR_INTERNAL && (status == TAKT_OK || takt_last_error(ctx)[0] != '\0'));
    must(takt_npy_load_memory(ctx, "fuzz", data, size, &b) == status);
    if (status == TAKT_OK) {
        sheet s = {.ctx = ctx, .of = &a};
        must(same(ctx, &a, &b));
        must(takt_npy_write(ctx, &a, read_back, &s) == TAKT_OK);
    }
    takt_view_free(ctx, &a);
    takt_view_free(ctx, &b);
    takt_ctx_destroy(ctx);
    must(m.live == 0);
    return 0;
}
