/* array.h - values of the interpreter: creating, freeing, and copying to and from packed memory. */
#ifndef TAKT_IR_ARRAY_H
#define TAKT_IR_ARRAY_H

#include "ir/op.h"

/* A zeroed array; `type` is concrete. On failure `*out` is empty. */
TAKT_MUST_USE takt_status takt_array_create(takt_ctx *ctx, const takt_type *type, takt_array *out);
/* Accepts an empty one. */
void takt_array_release(takt_ctx *ctx, takt_array *array);
TAKT_MUST_USE takt_status takt_array_copy(takt_ctx *ctx, const takt_array *from, takt_array *out);
takt_type takt_array_type(const takt_array *array);

/* Rounds, or wraps, every element to the element type. */
void takt_array_round(takt_array *array);

TAKT_MUST_USE takt_status takt_array_from_tensor(takt_ctx *ctx, const takt_tensor *from,
                                                 takt_array *out);
/* A new tensor; the caller releases it. */
TAKT_MUST_USE takt_status takt_array_to_tensor(takt_ctx *ctx, const takt_array *from,
                                               takt_tensor *out);

#endif
