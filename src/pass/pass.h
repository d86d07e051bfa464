/* pass.h - a pass reads one graph and writes another.
 *
 * Most passes are tables of rules. One driver offers each node, its inputs already rewritten, to
 * the rules for its op, and copies it when none applies; dead nodes are not copied. Passes that
 * need a global view are plain functions in the same record.
 *
 * A pass says what it may change about the numbers (`licence`, a heading of docs/numerics.md);
 * NULL means the same bits with and without it.
 */
#ifndef TAKT_PASS_PASS_H
#define TAKT_PASS_PASS_H

#include "base/inner.h"
#include "ir/graph.h"

/* What happened, for `takt opt --trace` and `takt explain`. */
typedef struct takt_pass_event {
    const char *pass, *law; /* static text */
    const char *node;       /* name or origin of the node, or its op */
    const char *refused;    /* NULL: the rule fired; else why it did not */
    struct takt_pass_event *next, *in_slot;
} takt_pass_event;

typedef struct takt_pass_report {
    takt_arena arena;
    takt_pass_event *first, *last;
    takt_pass_event **slots; /* refusals by their hash; a repeated pass adds no duplicates */
    size_t fired, refused;
} takt_pass_report;

TAKT_INNER void takt_pass_report_init(takt_pass_report *report, takt_ctx *ctx);
TAKT_INNER void takt_pass_report_deinit(takt_pass_report *report);
/* A pass without rules reports what it did to a node; does nothing if `report` is NULL. */
void takt_pass_fired(takt_pass_report *report, const char *pass, const char *law,
                     const takt_node *n);

typedef struct takt_pass takt_pass;

/* A parameter of a pass besides the graph: "precision:to=f16". */
typedef struct takt_pass_arg {
    const char *name, *summary;
    const char *const *words; /* allowed words, NULL last; its value is the index of the word */
    double least, most;       /* of a number, if there are no words */
    double fallback;          /* default */
} takt_pass_arg;

enum { TAKT_PASS_ARGS = 4 };

/* All finite values of a node are within it; low > high: nothing is known. */
typedef struct takt_value_range {
    double low, high;
} takt_value_range;

typedef struct takt_pass_given {
    double arg[TAKT_PASS_ARGS];     /* by index of the pass's args */
    const takt_value_range *ranges; /* per node of the graph; NULL: those of constants are computed,
                                     * if the pass reads ranges */
} takt_pass_given;

/* The defaults. */
takt_pass_given takt_pass_defaults(const takt_pass *pass);
/* "to=f16", several separated by colons, on top of `given`. */
TAKT_MUST_USE takt_status takt_pass_read(takt_ctx *ctx, const takt_pass *pass, const char *text,
                                         size_t length, takt_pass_given *given);
/* The ranges of constants, in `arena`; NULL if out of memory. */
takt_value_range *takt_pass_constant_ranges(takt_arena *arena, const takt_graph *g);

/* One node being rewritten. */
typedef struct takt_rewrite {
    const takt_graph *in;
    takt_graph *out;
    takt_id id;           /* of the node in `in` */
    const uint32_t *uses; /* per node of `in`: users, outputs and next values */
    const takt_id *map;   /* per node of `in`, before this one: its replacement */
    const takt_pass *pass;
    const takt_pass_given *given;
    const char *law;
    takt_pass_report *report; /* or NULL */
} takt_rewrite;

/* What is known about input `k` of the node being rewritten. */
takt_value_range takt_rewrite_range(const takt_rewrite *r, uint32_t k);

/* `n` is the node with inputs that are ids of r->out. Returns what replaces it, or TAKT_NONE. */
typedef takt_id takt_rule_fn(takt_rewrite *r, const takt_node *n);

typedef struct takt_rule {
    const takt_op *root; /* NULL: offered every node */
    const char *law;     /* "x * 1 = x": its name in traces and docs */
    takt_rule_fn *apply;
} takt_rule;

struct takt_pass {
    const char *name, *summary;
    const char *licence;                /* heading of docs/numerics.md, or NULL */
    takt_pass_arg args[TAKT_PASS_ARGS]; /* name NULL: no more */
    bool reads_ranges;
    const takt_rule *rules;
    size_t rule_count;
    /* Used instead of rules. */
    takt_status (*run)(const takt_graph *in, const takt_pass_given *given, takt_pass_report *report,
                       takt_graph **out);
};

#define TAKT_RULES(array) .rules = (array), .rule_count = sizeof(array) / sizeof *(array)

/* Records why a rule that nearly applied did not; returns TAKT_NONE. */
takt_id takt_refuse(takt_rewrite *r, const takt_node *n, const char *why);

/* One pass over `in`, repeated until nothing fires (at most a few rounds). */
TAKT_MUST_USE takt_status takt_pass_apply(const takt_pass *pass, const takt_graph *in,
                                          takt_pass_report *report, takt_graph **out);

/* With arguments, and optionally with ranges of the nodes of `in`. */
TAKT_MUST_USE takt_status takt_pass_apply_with(const takt_pass *pass, const takt_pass_given *given,
                                               const takt_graph *in, takt_pass_report *report,
                                               takt_graph **out);

/* Which passes run: "+name,-name", "-all", "-licensed" (those with a licence); later words win. */
typedef struct takt_pass_choice {
    uint64_t off;    /* bit i: pass i of the pipeline does not run */
    int fuse;        /* fusion into steps, which the plan does: 1 on, -1 off, 0 unset */
    double min_gain; /* "fuse:min-gain=1.5"; 0: unset */
} takt_pass_choice;
TAKT_INNER TAKT_MUST_USE takt_status takt_pass_choose(takt_ctx *ctx, const char *words,
                                                      takt_pass_choice *choice);

/* Called with the graph after each pass, for --emit-each-pass; may be NULL. */
typedef takt_status takt_pass_watch_fn(void *user, const takt_pass *pass, const takt_graph *g);

typedef struct takt_pipeline_options {
    takt_pass_choice choice;
    bool is_lowered; /* composites were lowered: none is recognised again */
    takt_pass_report *report;
    takt_pass_watch_fn *watch;
    void *watch_user;
} takt_pipeline_options;

/* The standard passes in their order (pipeline.c), except those that the plan applies itself. */
TAKT_INNER TAKT_MUST_USE takt_status takt_pipeline_run(takt_ctx *ctx, const takt_graph *in,
                                                       const takt_pipeline_options *options,
                                                       takt_graph **out);
TAKT_INNER size_t takt_pipeline_count(void);
TAKT_INNER const takt_pass *takt_pipeline_pass(size_t index);
TAKT_INNER const char *takt_pipeline_reason(size_t index); /* the reason for its position */
/* A pass of the pipeline that `off`, of a choice, does not switch off. */
bool takt_pass_is_on(const takt_pass *pass, uint64_t off);

/* Substitutes sizes for named dimensions (entries < 0 stay), in types and in attributes. */
TAKT_INNER TAKT_MUST_USE takt_status takt_graph_specialize(const takt_graph *in,
                                                           const int64_t *sizes, size_t size_count,
                                                           takt_graph **out);
/* Replaces every op that has a lowering by it, except where `keep` says otherwise. */
typedef bool takt_keep_fn(void *user, const takt_graph *g, const takt_node *n);
TAKT_MUST_USE takt_status takt_graph_lower(const takt_graph *in, takt_keep_fn *keep, void *user,
                                           takt_graph **out);
/* Replaces inputs by constants; types must agree. */
typedef struct takt_fixed_input {
    const char *name;
    takt_tensor value;
} takt_fixed_input;
TAKT_MUST_USE takt_status takt_graph_fix_inputs(const takt_graph *in, const takt_fixed_input *fixed,
                                                size_t count, takt_graph **out);
/* Replaces slots without a next value by constants: values[i] belongs to slot i (storage NULL:
 * keep the slot). */
TAKT_INNER TAKT_MUST_USE takt_status takt_graph_freeze(const takt_graph *in,
                                                       const takt_tensor *values, takt_graph **out);

/* The conditions of clauses as further outputs (checks.c) or, if not `on`, no clauses at all. */
TAKT_MUST_USE takt_status takt_graph_checks(const takt_graph *in, bool on, takt_graph **out);
/* Outputs of a planned graph that are the model's own. */
size_t takt_graph_shown(const takt_graph *g);

/* Weights of products and tables through `to` (f16 or bf16), which takes half the bytes. */
TAKT_MUST_USE takt_status takt_graph_narrow(const takt_graph *in, takt_dtype to,
                                            takt_pass_report *report, takt_graph **out);

/* Activations and factors of a model in `to` (f16 or bf16); parameters, inputs and outputs keep
 * their types. For graphs that gradients are appended to. */
TAKT_MUST_USE takt_status takt_graph_amp(const takt_graph *in, takt_dtype to,
                                         takt_pass_report *report, takt_graph **out);

/* A training step of such a model, in which the backward pass widens values of 16 bits itself
 * instead of reading those widened by the forward pass, which thus need not be kept. `loss` is the
 * result of the forward pass. */
TAKT_MUST_USE takt_status takt_graph_amp_late(const takt_graph *in, takt_id loss, takt_graph **out);

/* Where a graph is cut: names of inputs, outputs, values as they are printed, or layers. */
typedef struct takt_cut {
    const char *const *from; /* become inputs; none: the graph's own that are needed */
    size_t from_count;
    const char *const *to; /* become outputs; none: the graph's own */
    size_t to_count;
    bool keep_inputs; /* also keep the graph's own that are not needed */
} takt_cut;
TAKT_MUST_USE takt_status takt_graph_extract(const takt_graph *in, const takt_cut *cut,
                                             takt_graph **out);
/* Gives every input and output, and every state that depends on an input, a leading dimension of
 * that name: each sample is computed as before, bit for bit. `with_active`: another input, "active"
 * of truth values, says which samples' state is updated; that of the others is kept, except for
 * rows of a cache beyond those in use. */
TAKT_MUST_USE takt_status takt_graph_batch(const takt_graph *in, const char *dim, bool with_active,
                                           takt_graph **out);
/* Inputs that outputs append rows to become state with room for `room` of them (grow.c). */
TAKT_MUST_USE takt_status takt_graph_grow(const takt_graph *in, int64_t room, takt_graph **out);

#endif
