/* normal.h - the normal form of tensors from outside: files, and buffers that callers bind.
 *
 * A bool is a byte that is 0 or 1. Kernels, the interpreter and passes rely on it: for other bytes,
 * bitwise and logical `and` differ. Readers and bindings refuse data that is not in normal form
 * instead of fixing it, each with its own error (docs/formats.md has the table). */
#ifndef TAKT_IR_NORMAL_H
#define TAKT_IR_NORMAL_H

#include "ir/type.h"

/* The first of `count` bools that is neither 0 nor 1; `count` if all are. */
size_t takt_bools_check(const void *bytes, size_t count);
/* The first such byte of `bytes` bytes of a dense tensor of any type; `bytes` for all other
 * types. */
static inline size_t takt_normal_check(const takt_type *type, const void *data, size_t bytes)
{
    return type->dtype == TAKT_BOOL ? takt_bools_check(data, bytes) : bytes;
}
/* The message for such an element; print it with its index and value. */
#define TAKT_NORMAL_BOOL "element %zu is %u: a bool is 0 or 1"

#endif
