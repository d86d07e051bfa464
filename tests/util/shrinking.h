/* shrinking.h - shared by tests of smaller models: data, and a timer that returns preset times.
 */
#ifndef TAKT_TESTS_UTIL_SHRINKING_H
#define TAKT_TESTS_UTIL_SHRINKING_H

#include <takt/shrink.h>

enum { SHRINK_SAMPLES = 48, SHRINK_CLASSES = 4, SHRINK_REPORT = 8192 };

/* A sink that appends to a text of SHRINK_REPORT bytes. */
int shrink_keep_text(void *user, const char *bytes, size_t length);

/* SHRINK_SAMPLES rows of `width` numbers and a label, through a file named after `name`. `what` 0:
 * noise, 1: constant, 2: one is infinite in f32, 3: noise, of which eight rows are used. NULL: the
 * failure was reported. */
takt_data *shrink_data(takt_ctx *ctx, const char *name, size_t width, int what);

/* The results of comparisons, in order. */
typedef struct shrink_told {
    size_t calls;
    const takt_verdict *verdicts; /* the last one for all that follow */
    size_t count;
} shrink_told;
/* A takt_shrink_compare_fn; runs both once. */
takt_status shrink_tell(void *user, takt_session *before, takt_session *after, takt_comparison *c);

#endif
