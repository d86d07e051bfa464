/* eager.h - one operation as the text of a model. */
#ifndef TAKT_API_EAGER_H
#define TAKT_API_EAGER_H

#include <takt/eager.h>

#include "base/text.h"

/* Inputs are called x0, x1, ... and outputs y0, y1, ... */
TAKT_MUST_USE takt_status takt_eager_text(takt_ctx *ctx, const takt_op_call *c, takt_text *text);

#endif
