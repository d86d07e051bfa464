/* mem.c - memory through the context's allocator. */
#include "base/mem.h"

#include <string.h>

#include "base/size.h"

/* An allocator need not support empty blocks: they get one byte. */
static size_t real_size(size_t size)
{
    return size != 0 ? size : 1;
}

takt_status takt_mem_get(takt_ctx *ctx, size_t size, const char *what, void **block)
{
    *block = ctx->allocator.get(ctx->allocator.user, real_size(size), TAKT_ALIGN);
    return *block != NULL ? TAKT_OK : takt_fail_memory(ctx, what, size);
}

takt_status takt_mem_zero(takt_ctx *ctx, size_t count, size_t size, const char *what, void **block)
{
    size_t bytes;
    *block = NULL;
    if (!takt_size_mul(count, size, &bytes))
        return takt_fail(ctx, TAKT_E_OVERFLOW,
                         "%s: %zu items of %zu bytes are more than can be addressed", what, count,
                         size);
    TAKT_TRY(takt_mem_get(ctx, bytes, what, block));
    memset(*block, 0, bytes);
    return TAKT_OK;
}

void takt_mem_put(takt_ctx *ctx, void *block, size_t size)
{
    if (block != NULL)
        ctx->allocator.put(ctx->allocator.user, block, real_size(size));
}

takt_status takt_mem_grow(takt_ctx *ctx, void **array, size_t *capacity, size_t need, size_t item)
{
    if (need <= *capacity)
        return TAKT_OK;
    size_t count = *capacity < 8 ? 8 : *capacity, bytes;
    if (!takt_size_mul(count, 2, &count) || count < need)
        count = need;
    if (!takt_size_mul(count, item, &bytes))
        return takt_fail(ctx, TAKT_E_OVERFLOW,
                         "an array of %zu items of %zu bytes is more than can be addressed", need,
                         item);
    void *grown;
    TAKT_TRY(takt_mem_get(ctx, bytes, "a growing array", &grown));
    if (*array != NULL) {
        memcpy(grown, *array, *capacity * item);
        takt_mem_put(ctx, *array, *capacity * item);
    }
    *array = grown;
    *capacity = count;
    return TAKT_OK;
}
