/* backends.h - the backends by name. */
#ifndef TAKT_API_BACKENDS_H
#define TAKT_API_BACKENDS_H

#include "base/inner.h"
#include "plan/backend.h"

/* The default backend of plans, which also runs what other backends refuse. */
const takt_backend *takt_backend_default(void);
/* NULL if there is none. The part after a colon, "cuda:1", names a device and is ignored. */
TAKT_INNER const takt_backend *takt_backend_named(const char *name);
/* The argument of the backend's open(): the text after the colon in `name`, else `library`. */
const char *takt_backend_which(const char *name, const char *library);
/* Why the backend of that name, which exists, cannot be used here, or NULL. `library`: the one that
 * the caller names for it, or NULL; a named library is opened and checked when the plan is made. */
const char *takt_backend_missing(const char *name, const char *library);
/* TAKT_E_NAME with a hint if there is none, or the reason if it cannot be used here. */
TAKT_MUST_USE takt_status takt_backend_find(takt_ctx *ctx, const char *name, const char *library,
                                            const takt_backend **out);

/* Registers one more backend with a context under its name, which must be new; borrowed for the
 * life of the context. At most four. */
TAKT_MUST_USE takt_status takt_backend_add(takt_ctx *ctx, const takt_backend *backend);

#endif
