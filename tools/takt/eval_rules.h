/* eval_rules.h - the fraction of samples that satisfy a model's constraints. */
#ifndef TAKT_TOOL_EVAL_RULES_H
#define TAKT_TOOL_EVAL_RULES_H

#include "tool.h"

/* Counterexamples of a constraint that are kept, the first ones. */
enum { TOOL_EXAMPLES = 10 };

typedef struct tool_constraint {
    const char *name;
    size_t output; /* of the session */
    uint64_t held;
    double sum; /* of truth */
    struct {
        uint64_t sample;
        double truth;
        int arity; /* of the tuple that breaks it; 0: none is known */
        uint32_t entry[TAKT_MAX_RANK];
    } example[TOOL_EXAMPLES];
    size_t example_count;
} tool_constraint;

typedef struct tool_constraints {
    takt_ctx *ctx;
    const takt_model *model;
    tool_constraint *at;
    size_t count;
    uint64_t runs;    /* so far */
    uint64_t samples; /* of a run */
} tool_constraints;

/* All constraints of a model; none: count is 0. False: out of memory. */
bool tool_constraints_init(const takt_tool *t, const takt_model *model, uint64_t samples,
                           tool_constraints *c);
void tool_constraints_free(tool_constraints *c);
/* The plan whose outputs are the truth of each; NULL: `*code` says why. */
takt_plan *tool_constraints_plan(takt_tool *t, const tool_constraints *c, const tool_sizes *sizes,
                                 int *code);
/* Reads the truth of each after a run whose first sample is `sample`. */
takt_status tool_constraints_add(tool_constraints *c, takt_session *session, uint64_t sample);
void tool_constraints_write(const tool_constraints *c, takt_format format);

#endif
