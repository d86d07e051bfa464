/* error_record.h - trying something that may fail: save the context's record with takt_error_copy
 * first, and restore it after a failure that should not be reported. */
#ifndef TAKT_BASE_ERROR_RECORD_H
#define TAKT_BASE_ERROR_RECORD_H

#include "base/error.h"

/* Safe while other threads fail, but whatever they recorded meanwhile is lost. Call it only after a
 * failure. */
void takt_error_put_back(takt_ctx *ctx, const takt_error *before);

#endif
