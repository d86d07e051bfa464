/* opts_blocking.c - the caller's options for the blocking of matrix products. */
#include "api/opts.h"

enum { MOST = 65536, LINE_LEAST = 16, LINE_MOST = 4096 };
static const size_t BYTES_MOST = (size_t)1 << 30;

takt_status takt_opts_tile(takt_ctx *ctx, takt_plan_options *o, const char *text)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, text);
    size_t sizes[3];
    const char *at = text;
    for (int i = 0; i < 3; i++) {
        const char *end = at;
        size_t value = 0;
        for (; *end >= '0' && *end <= '9' && value <= MOST; end++)
            value = 10 * value + (size_t)(*end - '0');
        if (value > MOST || end == at || *end != (i < 2 ? ',' : '\0')) {
            takt_fail(ctx, TAKT_E_OPTION, "\"%.60s\" is not a tile", text);
            return takt_fail_hint(ctx,
                                  "rows, depth and columns up to %d, 0 for the default: "
                                  "96,1024,0",
                                  MOST);
        }
        sizes[i] = value;
        at = end + 1;
    }
    o->cache.rows = sizes[0];
    o->cache.depth = sizes[1];
    o->cache.columns = sizes[2];
    return TAKT_OK;
}

static takt_status check(takt_ctx *ctx, const takt_cache_config *c)
{
    if (c->rows > MOST || c->depth > MOST || c->columns > MOST)
        return takt_fail(ctx, TAKT_E_OPTION, "a tile of %zu x %zu x %zu: at most %d each", c->rows,
                         c->depth, c->columns, MOST);
    if (c->block_size > BYTES_MOST)
        return takt_fail(ctx, TAKT_E_OPTION, "a block of %zu bytes: at most %zu", c->block_size,
                         BYTES_MOST);
    if (c->cache_line_size != 0 &&
        (c->cache_line_size < LINE_LEAST || c->cache_line_size > LINE_MOST))
        return takt_fail(ctx, TAKT_E_OPTION, "a cache line of %zu bytes: give %d to %d",
                         c->cache_line_size, LINE_LEAST, LINE_MOST);
    if (c->enable_prefetch < -1 || c->enable_prefetch > 1)
        return takt_fail(ctx, TAKT_E_OPTION, "enable_prefetch is %d: give -1, 0 or 1",
                         c->enable_prefetch);
    if (c->prefetch_distance > MOST)
        return takt_fail(ctx, TAKT_E_OPTION, "a prefetch distance of %zu lines: at most %d",
                         c->prefetch_distance, MOST);
    return TAKT_OK;
}

takt_status takt_settle_blocking(takt_ctx *ctx, const takt_cache_config *c, takt_plan_settings *s)
{
    TAKT_TRY(check(ctx, c));
    s->blocking = (takt_gemm_blocking){.a_bytes = c->block_size,
                                       .rows = c->rows,
                                       .k = c->depth,
                                       .cols = c->columns,
                                       .line = c->cache_line_size,
                                       .skip = c->prefetch_distance,
                                       .no_prefetch = c->enable_prefetch < 0};
    s->is_blocked = c->block_size + c->rows + c->depth + c->columns + c->cache_line_size +
                            c->prefetch_distance >
                        0 ||
                    c->enable_prefetch < 0;
    return TAKT_OK;
}
