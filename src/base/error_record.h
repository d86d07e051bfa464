/* error_record.h - trying what may fail: the context's record is taken before, with
 * takt_error_copy, and put back after a failure that is nobody's business. */
#ifndef TAKT_BASE_ERROR_RECORD_H
#define TAKT_BASE_ERROR_RECORD_H

#include "base/error.h"

/* While other threads may fail. Only after a failure: what they recorded meanwhile is lost. */
void takt_error_put_back(takt_ctx *ctx, const takt_error *before);

#endif
