/* answers.h - a builder's answers to backends for each step, kept for replay.
 *
 * A plan that is given other sizes in place (resize.h) recompiles its steps with the same
 * functions, but everything they request exists already: blocks of memory, buffers, packed weights.
 * Requests must come in the same order; a step that requests something else at other sizes cannot
 * be resized this way. */
#ifndef TAKT_PLAN_ANSWERS_H
#define TAKT_PLAN_ANSWERS_H

#include "plan/backend.h"

typedef enum takt_asked {
    TAKT_ASKED_BLOCK,
    TAKT_ASKED_VIEW,
    TAKT_ASKED_RESULT,
    TAKT_ASKED_PACK,
    TAKT_ASKED_TEXT,
    TAKT_ASKED_KIND,
    TAKT_ASKED_CHILD,
} takt_asked;

typedef struct takt_answer {
    takt_asked what;
    takt_id node;
    uint32_t buffer;
    size_t bytes;
    const void *at;     /* the block or the kind */
    const char *format; /* of a pack; or the text */
    struct takt_plan *child;
    struct takt_resizer *resizer; /* of the child; NULL: it is a body that finds sizes */
} takt_answer;

/* A constant that depends on sizes is recomputed for each size: the step that does. */
typedef struct takt_sized_step {
    const takt_group *group;
    takt_step step;
} takt_sized_step;

typedef struct takt_answers {
    takt_answer *list;
    size_t count, capacity;
    size_t at;              /* the next to replay */
    bool is_replay;         /* answers are replayed, not collected */
    bool is_rigid;          /* a step requested something that cannot be replayed */
    bool has_children;      /* the step being compiled requested plans of subgraphs */
    takt_sized_step *steps; /* of constants, in the order they run */
    size_t step_count, step_capacity;
} takt_answers;

struct takt_builder;

/* Whether answers are replayed to the step being compiled. */
bool takt_answers_replayed(const struct takt_builder *b);
/* The next answer, or NULL if it answers another request. */
const takt_answer *takt_answers_next(struct takt_builder *b, takt_asked what);
/* Records an answer, if those of this step are recorded. */
TAKT_MUST_USE takt_status takt_answers_keep(struct takt_builder *b, takt_answer answer);
/* Records a constant step that has just run. */
TAKT_MUST_USE takt_status takt_answers_keep_step(struct takt_builder *b, const takt_step *step);
/* Whether recomputed constants are read from or written to that buffer. */
bool takt_answers_holds(const struct takt_builder *b, uint32_t buffer);
/* Marks the request as one that cannot be replayed. */
void takt_answers_give_up(struct takt_builder *b);
/* Gives the plan of a subgraph other sizes, by index of names; `*graph` is then the graph it
 * computes. `*done` false: these sizes are not possible. */
TAKT_MUST_USE takt_status takt_child_resize(const takt_answer *answer, const int64_t *sizes,
                                            size_t count, const takt_graph **graph, bool *done);
/* The failure of a step whose requests differ from before; nothing is recorded. */
#define TAKT_OTHER_QUESTION TAKT_ERR_STATE

#endif
