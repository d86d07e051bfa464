/* require.h - requirements of a caller: backends and element types. */
#ifndef TAKT_API_REQUIRE_H
#define TAKT_API_REQUIRE_H

#include "plan/backend.h"

/* Every word of `words` ("blas,f32") is a backend or an element type; a backend that cannot be used
 * here is refused at once. NULL: nothing is required. `library`: see takt_backend_missing. */
TAKT_MUST_USE takt_status takt_require_words(takt_ctx *ctx, const char *words, const char *library);
/* The plan meets the requirements: TAKT_E_REQUIRE with the first step that does not. */
TAKT_MUST_USE takt_status takt_require_plan(const takt_plan *plan, const char *words);

#endif
