/* together.h - texts generated in a batch: one run reads a token of each. */
#ifndef TAKT_API_TEXT_TOGETHER_H
#define TAKT_API_TEXT_TOGETHER_H

#include "api/text/engine.h"

enum { TAKT_TOGETHER_WIDTHS = 8 };

/* Plans for 2, 4, 8, ... texts and for all of them. A run takes the smallest one that includes the
 * last active text; inactive texts before it keep their state. */
typedef struct takt_together {
    takt_generator *const *texts; /* of one takt_generator_open_first, by row */
    size_t count;
    struct takt_together_width {
        size_t rows;
        takt_plan *plan;
        takt_session *session;
    } widths[TAKT_TOGETHER_WIDTHS];
    size_t width_count;
    int64_t *tokens, *wanted; /* per text */
    bool *is_active;
} takt_together;

/* `texts` is borrowed. The first one's store is freed: no text can be added afterwards. */
TAKT_MUST_USE takt_status takt_together_open(takt_together *t, takt_generator *const *texts,
                                             size_t count);
void takt_together_close(takt_together *t);
/* Each text with an id that is not negative reads it. Its scores are valid until the next call. On
 * failure no text has read anything. */
TAKT_MUST_USE takt_status takt_together_read(takt_together *t, const int32_t *ids);

#endif
