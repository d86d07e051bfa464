/* cast_hint.h - which of two element types to convert to. */
#ifndef TAKT_IR_CAST_HINT_H
#define TAKT_IR_CAST_HINT_H

#include "base/error.h"
#include "ir/dtype.h"

/* Adds to the failure: the type that loses less when converted to, and the cast that does it. */
takt_status takt_cast_hint(takt_ctx *ctx, takt_dtype a, takt_dtype b);

#endif
