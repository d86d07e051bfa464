/* native.h - functions that the caller registered for custom operations. */
#ifndef TAKT_BASE_NATIVE_H
#define TAKT_BASE_NATIVE_H

#include <takt/op.h>

#include "base/error.h"

typedef struct takt_native_op {
    takt_op_def def; /* the name is a copy after the record */
    struct takt_native_op *next;
} takt_native_op;

TAKT_MUST_USE takt_status takt_native_add(takt_ctx *ctx, const takt_op_def *def);
/* The newest function of that name, or NULL. */
const takt_op_def *takt_native_find(const takt_ctx *ctx, const char *name);
void takt_native_drop(takt_ctx *ctx);

#endif
