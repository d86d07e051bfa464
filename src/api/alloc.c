/* alloc.c - aligned memory for the caller's tensors, with its size stored in front. */
#include <string.h>

#include "base/mem.h"
#include "base/size.h"

void *takt_alloc(takt_ctx *ctx, size_t bytes)
{
    size_t whole;
    void *block;
    if (ctx == NULL)
        return NULL;
    if (!takt_size_add(bytes, TAKT_ALIGN, &whole)) {
        (void)takt_fail(ctx, TAKT_E_OVERFLOW, "takt_alloc: %zu bytes are too many", bytes);
        return NULL;
    }
    if (takt_mem_get(ctx, whole, "takt_alloc", &block) != TAKT_OK)
        return NULL;
    memcpy(block, &whole, sizeof whole);
    return (unsigned char *)block + TAKT_ALIGN;
}

void takt_free(takt_ctx *ctx, void *block)
{
    if (ctx == NULL)
        return;
    size_t whole;
    if (block == NULL)
        return;
    unsigned char *start = (unsigned char *)block - TAKT_ALIGN;
    memcpy(&whole, start, sizeof whole);
    takt_mem_put(ctx, start, whole);
}
