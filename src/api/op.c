/* op.c - registering functions for custom operations. */
#include <takt/op.h>

#include "base/native.h"

takt_status takt_register_op(takt_ctx *ctx, const takt_op_def *def)
{
    if (def == NULL || def->name == NULL || def->name[0] == '\0' || def->run == NULL)
        return takt_fail(ctx, TAKT_E_ARGUMENT,
                         "takt_register_op: a name and a function are needed");
    return takt_native_add(ctx, def);
}
