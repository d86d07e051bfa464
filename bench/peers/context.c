/* context.c - the context of the driver's shared library. */
#include "context.h"

takt_ctx *peers_context(void)
{
    static takt_ctx *ctx;
    if (ctx == NULL && takt_ctx_create(NULL, &ctx) != TAKT_OK)
        return NULL;
    return ctx;
}
