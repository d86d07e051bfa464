/* count.c - live bytes of a context and their peak; any thread may count. */
#include "base/count.h"

#include <stdatomic.h>

bool takt_count_more(takt_ctx *ctx, size_t bytes, uint64_t *live)
{
    const uint64_t before = atomic_fetch_add(&ctx->live_bytes, bytes), limit = ctx->limits.bytes;
    *live = before + bytes;
    if (before <= limit && bytes <= limit - before)
        return true;
    takt_count_less(ctx, bytes);
    return false;
}

void takt_count_peak(takt_ctx *ctx, uint64_t live)
{
    uint64_t peak = atomic_load(&ctx->peak_bytes);
    while (peak < live && !atomic_compare_exchange_weak(&ctx->peak_bytes, &peak, live))
        continue;
}

void takt_count_less(takt_ctx *ctx, size_t bytes)
{
    atomic_fetch_sub(&ctx->live_bytes, bytes);
}
