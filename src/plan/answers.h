/* answers.h - what a builder told backends about each step, kept to tell them again.
 *
 * A plan that is given other sizes in place (resize.h) compiles its steps anew with the same
 * functions, but everything that they ask for is there: blocks of memory, buffers, packed weights.
 * Questions have to come in the same order; a step that asks for something else at other sizes
 * cannot be sized so.
 */
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

/* A constant that depends on sizes is computed again for each: the step that does. */
typedef struct takt_sized_step {
    const takt_group *group;
    takt_step step;
} takt_sized_step;

typedef struct takt_answers {
    takt_answer *list;
    size_t count, capacity;
    size_t at;              /* the next that is told again */
    bool is_again;          /* they are told, not collected */
    bool is_rigid;          /* a step asked for what cannot be told again */
    bool has_children;      /* the step being compiled asked for plans of subgraphs */
    takt_sized_step *steps; /* of constants, in the order they run */
    size_t step_count, step_capacity;
} takt_answers;

struct takt_builder;

/* Whether the step being compiled is told what it was told before. */
bool takt_answers_again(const struct takt_builder *b);
/* The answer that comes next, or NULL if it is one to another question. */
const takt_answer *takt_answers_next(struct takt_builder *b, takt_asked what);
/* Keeps one, if those of this step are kept. */
TAKT_MUST_USE takt_status takt_answers_keep(struct takt_builder *b, takt_answer answer);
/* Keeps a constant step that has just run. */
TAKT_MUST_USE takt_status takt_answers_keep_step(struct takt_builder *b, const takt_step *step);
/* Whether constants that are computed again are read or written in that buffer. */
bool takt_answers_holds(const struct takt_builder *b, uint32_t buffer);
/* What was asked for cannot be told again. */
void takt_answers_give_up(struct takt_builder *b);
/* Gives the plan of a subgraph other sizes, by index of names; `*graph` is what it computes then.
 * `*done` false: it cannot have them. */
TAKT_MUST_USE takt_status takt_child_resize(const takt_answer *answer, const int64_t *sizes,
                                            size_t count, const takt_graph **graph, bool *done);
/* The failure of a step that asks for something else than before; nothing is recorded. */
#define TAKT_OTHER_QUESTION TAKT_ERR_STATE

#endif
