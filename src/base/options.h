/* options.h - structures that callers fill in and that grow with each version. */
#ifndef TAKT_BASE_OPTIONS_H
#define TAKT_BASE_OPTIONS_H

#include <takt/ctx.h>

#include "base/inner.h"

/* Copies a caller's structure, whose first member is its `size`, into `to`, which is `full` bytes
 * here. A caller built against another version has a shorter or longer structure: fields it lacks
 * are zero, and fields we do not know must be zero. A size of 0 means `full`; `given` NULL means
 * all zero. `what` names the structure in the message. */
TAKT_INNER TAKT_MUST_USE takt_status takt_options_read(takt_ctx *ctx, const char *what,
                                                       const void *given, void *to, size_t full);

#endif
