/* together.h - texts generated in a batch: one run reads a token, or a part of a prompt, of each.
 */
#ifndef TAKT_API_TEXT_TOGETHER_H
#define TAKT_API_TEXT_TOGETHER_H

#include "api/text/engine.h"

enum { TAKT_TOGETHER_WIDTHS = 8 };

/* A plan for several texts; its session has the state of those from `first` on. */
typedef struct takt_together_plan {
    takt_plan *plan;
    takt_session *session;
    size_t first;
} takt_together_plan;

typedef struct takt_together_width {
    size_t rows;
    takt_together_plan token; /* one token of each text */
    takt_together_plan part;  /* up to `most` tokens of each */
    size_t most;              /* 0: there is no such plan */
} takt_together_width;

/* Plans for 2, 4, 8, ... texts and for all of them. A run takes texts that follow each other;
 * inactive texts among them keep their state. */
typedef struct takt_together {
    takt_generator *const *texts; /* of one takt_generator_open_first, by row */
    size_t count;
    takt_together_width widths[TAKT_TOGETHER_WIDTHS];
    size_t width_count, token_room;
    int64_t *tokens, *wanted; /* of a run */
    bool *is_active;
    size_t spare; /* tokens that may be computed and discarded to save a run */
} takt_together;

/* `texts` is borrowed. The first one's store is freed: no text can be added afterwards. */
TAKT_MUST_USE takt_status takt_together_open(takt_together *t, takt_generator *const *texts,
                                             size_t count);
void takt_together_close(takt_together *t);
/* Each text with an id that is not negative reads it. Its scores are valid until the next call. On
 * failure no text has read anything. */
TAKT_MUST_USE takt_status takt_together_read(takt_together *t, const int32_t *ids);

/* ---- prompts (together_parts.c) ---- */

/* The part of its prompt that a text reads, at most a batch. */
typedef struct takt_together_part {
    const int32_t *ids;
    size_t count;       /* 0: nothing */
    bool is_done;       /* it was read, or `status` says why not; also if `count` is 0 */
    size_t together;    /* the parts of the run that read it */
    takt_status status; /* the error is the context's if it is the last one */
    double ns;          /* of the run */
    bool is_next;       /* it goes with next tokens of other texts; `count` is 0 */
} takt_together_part;

/* A part of one token is no more than a next token: where two or more texts have either, such parts
 * become ids. They are read by takt_together_read, with `ids` of all texts. */
void takt_together_join_next(const takt_together *t, takt_together_part *parts, int32_t *ids);
/* Tokens of each prompt that one run of `rows` texts reads at most; 0: states cannot go back, or
 * prompts are read one by one for another reason. */
size_t takt_together_part_of(const takt_together *t, size_t rows);
/* Memory for the scores of each text: a session that reads prompts of others overwrites them. */
TAKT_MUST_USE takt_status takt_together_open_parts(takt_together *t);
/* One run of a width: `length` tokens of `rows` texts from `first` on, of t->tokens. */
TAKT_MUST_USE takt_status takt_together_run(const takt_together *t, takt_together_plan *p,
                                            size_t rows, size_t first, size_t length);
/* Each text reads its part, several in one run where that takes less time than a run for each.
 * `only`: the text whose run is the only one; else the number of texts. */
void takt_together_read_parts(takt_together *t, takt_together_part *parts, size_t only);
/* A run of the texts of one width from `first` on: `members` read parts, of `length` tokens at
 * most. */
typedef struct takt_together_join {
    size_t width, first, length, members;
    int64_t gain; /* tokens that could be computed in the time that it saves */
} takt_together_join;
/* That run. On failure no text has read anything. */
TAKT_MUST_USE takt_status takt_together_join_parts(takt_together *t, const takt_together_join *j,
                                                   takt_together_part *parts);

#endif
