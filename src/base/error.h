/* error.h - error ids and how a failure is recorded.
 *
 * Every message has a stable id; base/errors/<area>.def holds X(id, NAME, CLASS, "explanation").
 * Ids are never reused; each is hit by a test.
 */
#ifndef TAKT_BASE_ERROR_H
#define TAKT_BASE_ERROR_H

#include "base/ctx.h"

typedef enum takt_error_id {
#define X(id, name, class, text) TAKT_E_##name = id,
#include "base/errors/all.def"
#include "base/inner.h"
#undef X
} takt_error_id;

/* Records the failure in the context (the newest wins) and returns its class. */
TAKT_INNER takt_status takt_fail(takt_ctx *ctx, takt_error_id id, const char *format, ...)
    TAKT_PRINTF(3, 4);
/* Records it in a record of the caller, such as a session's. */
takt_status takt_error_set(takt_error *error, takt_error_id id, const char *format, ...)
    TAKT_PRINTF(3, 4);

/* Adds a hint to the failure in such a record. */
takt_status takt_error_hint(takt_error *error, const char *format, ...) TAKT_PRINTF(2, 3);
/* Adds the node that the failure concerns. */
takt_status takt_error_node(takt_error *error, const char *name);
/* "out of memory: N bytes for WHAT". */
takt_status takt_error_memory(takt_error *error, const char *what, size_t bytes);

/* A consistent copy of the context's last record, even while other threads fail. */
void takt_error_copy(takt_ctx *ctx, takt_error *to);

/* Additions to the failure just recorded; each returns its class, so that
 * `return takt_fail_hint(ctx, "…")` reads well after takt_fail. */
TAKT_INNER takt_status takt_fail_hint(takt_ctx *ctx, const char *format, ...) TAKT_PRINTF(2, 3);
takt_status takt_fail_node(takt_ctx *ctx, const char *name);
takt_status takt_fail_offset(takt_ctx *ctx, uint64_t offset);
takt_status takt_fail_place(takt_ctx *ctx, int line, int column);
/* "out of memory: N bytes for WHAT". */
takt_status takt_fail_memory(takt_ctx *ctx, const char *what, size_t bytes);

takt_status takt_error_class(takt_error_id id);
/* "SHAPE" for 2101, or NULL. */
const char *takt_error_name(int id);
/* All ids of the catalogue, in its order; returns their number. */
int takt_error_ids(const int **ids);

#define TAKT_TRY(call)                                                                             \
    do {                                                                                           \
        const takt_status takt_try_status_ = (call);                                               \
        if (takt_try_status_ != TAKT_OK)                                                           \
            return takt_try_status_;                                                               \
    } while (0)

/* For public functions: a pointer that must not be NULL. `ctx` may be NULL. */
#define TAKT_NEED(ctx, pointer)                                                                    \
    do {                                                                                           \
        if ((pointer) == NULL)                                                                     \
            return takt_fail((ctx), TAKT_E_ARGUMENT, "%s: " #pointer " is NULL", __func__);        \
    } while (0)

TAKT_INNER void takt_log(takt_ctx *ctx, takt_log_level level, const char *format, ...)
    TAKT_PRINTF(3, 4);

#endif
