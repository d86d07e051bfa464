/* native.c - functions that the caller registered for custom operations. */
#include "base/native.h"

#include <string.h>

#include "base/mem.h"

static size_t size_of(const char *name)
{
    return sizeof(takt_native_op) + strlen(name) + 1;
}

takt_status takt_native_add(takt_ctx *ctx, const takt_op_def *def)
{
    void *block;
    TAKT_TRY(takt_mem_get(ctx, size_of(def->name), "a custom operation", &block));
    takt_native_op *op = block;
    char *name = (char *)(op + 1);
    memcpy(name, def->name, strlen(def->name) + 1);
    op->def = *def;
    op->def.name = name;
    op->next = ctx->natives; /* the newest is found first; plans may still use an older one */
    ctx->natives = op;
    return TAKT_OK;
}

const takt_op_def *takt_native_find(const takt_ctx *ctx, const char *name)
{
    for (const takt_native_op *op = ctx->natives; op != NULL; op = op->next)
        if (strcmp(op->def.name, name) == 0)
            return &op->def;
    return NULL;
}

void takt_native_drop(takt_ctx *ctx)
{
    while (ctx->natives != NULL) {
        takt_native_op *op = ctx->natives;
        ctx->natives = op->next;
        takt_mem_put(ctx, op, size_of(op->def.name));
    }
}
