/* backends.h - the backends by name. */
#ifndef TAKT_API_BACKENDS_H
#define TAKT_API_BACKENDS_H

#include "plan/backend.h"

/* NULL if there is none. */
const takt_backend *takt_backend_named(const char *name);
/* TAKT_E_NAME with a hint if there is none, or the reason if it cannot be used here. */
TAKT_MUST_USE takt_status takt_backend_find(takt_ctx *ctx, const char *name,
                                            const takt_backend **out);

#endif
