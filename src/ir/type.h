/* type.h - what is known about a value before the run: element type and dimensions. */
#ifndef TAKT_IR_TYPE_H
#define TAKT_IR_TYPE_H

#include "base/inner.h"
#include "ir/dim.h"
#include "ir/dtype.h"

typedef struct takt_type {
    takt_dtype dtype;
    int rank;
    takt_dim dim[TAKT_MAX_RANK];
} takt_type;

bool takt_type_same(takt_dims *dims, const takt_type *a, const takt_type *b);
TAKT_INNER bool takt_type_is_concrete(const takt_type *type);
/* Elements and bytes of a concrete type; false on overflow or if not concrete. */
TAKT_INNER bool takt_type_count(const takt_type *type, size_t *count);
TAKT_INNER bool takt_type_bytes(const takt_type *type, size_t *bytes);
/* "f32[batch, 784]". */
void takt_type_print(takt_dims *dims, const takt_type *type, takt_text *text);
/* In a fixed buffer, for messages; cut with ... if it does not fit. Returns `buffer`. */
enum { TAKT_TYPE_TEXT = 160 };
TAKT_INNER const char *takt_type_text(const takt_dims *dims, const takt_type *type,
                                      char buffer[static TAKT_TYPE_TEXT]);
/* NumPy broadcasting of `b` into `*a`; unifies names. False: they do not fit (failure recorded
 * by the caller, who knows the op). TAKT_ERR_MEMORY can also occur. */
TAKT_MUST_USE takt_status takt_type_broadcast(takt_dims *dims, takt_type *a, const takt_type *b,
                                              bool *fits);

#endif
