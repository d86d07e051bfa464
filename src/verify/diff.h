/* diff.h - two models side by side: which value differs first, by how much, and why.
 *
 * Both graphs are evaluated by the interpreter. Without a reference it is the model itself with all
 * floats in f64 (diff_widen.c), whose nodes are known to be counterparts. A node of the model is
 * matched with one of the reference by name and op, by name, or by op and matched inputs. Each
 * matched node is evaluated twice: on its own inputs, and on the reference's values, so that an
 * error made at the node is distinguished from one that only passes through. Nodes without a match
 * belong to the stretch that ends at the next matched one.
 *
 * Both sides run in step, and a value is freed after its last reader (diff_run.c), so memory holds
 * what is between two layers, and not all values. Matching knows types and names; where it needs
 * numbers, both sides run once before, and some elements of each value are kept. */
#ifndef TAKT_VERIFY_DIFF_H
#define TAKT_VERIFY_DIFF_H

#include <takt/verify.h>

#include "api/model.h"
#include "ir/array.h"

typedef enum takt_cause {
    TAKT_CAUSE_NONE,
    TAKT_CAUSE_OVERFLOW,
    TAKT_CAUSE_UNDERFLOW,
    TAKT_CAUSE_CANCELLATION,
    TAKT_CAUSE_TYPE,
    TAKT_CAUSE_RANGE,
    TAKT_CAUSE_WEIGHTS,
    TAKT_CAUSE_MEANING,
    TAKT_CAUSE_LAYOUT,
    TAKT_CAUSES
} takt_cause;
extern const char *const takt_cause_words[TAKT_CAUSES];

typedef struct takt_diff_row {
    takt_id id, ref;        /* nodes of the model and of the reference */
    takt_id at;             /* origin of the error: a node of the stretch that ends at id */
    double made, carried;   /* greatest error over the greatest value: made here, and in total */
    double sqnr_made, sqnr; /* decibels; infinite if nothing differs */
    takt_cause cause;       /* NONE: no error originates here */
    const char *detail;     /* the attribute or op that differs, or NULL */
} takt_diff_row;

enum { TAKT_DIFF_BINS = 10 };      /* of the histogram: from 1 down by powers of ten */
enum { TAKT_DIFF_SAMPLES = 1024 }; /* elements that are kept of a value, at most */

/* One side. */
typedef struct takt_diff_side {
    takt_graph *graph;
    unsigned char *live;
    unsigned char *late;  /* per node: needs constants alone, and is computed for each reader */
    takt_array *values;   /* per node with one result; rank -1: not in memory */
    takt_array **several; /* per node with several: all of them; else NULL */
    size_t *readers;      /* per node: number of readers that have not read it yet */
    size_t next;          /* nodes before it have run */
    size_t *same;         /* how many nodes before it have the same label and op */
    double **samples;     /* per node: some of its elements, if matching needed them; or NULL */
} takt_diff_side;

typedef struct takt_diff_work {
    takt_ctx *ctx;
    takt_arena arena;
    const takt_diff_options *o;
    takt_diff_side ref, own;
    bool is_sampled;
    takt_id *match;       /* per node of own: a node of ref, or TAKT_NONE */
    takt_array *from_ref; /* per node of own: its value if matched nodes had the reference's
                           * values; rank -1: its own, or not in memory */
    takt_diff_row *rows;
    size_t count, unmatched, findings;
    size_t bins[TAKT_DIFF_BINS]; /* elements of the first finding, by their errors */
    bool has_bins;
} takt_diff_work;

/* Makes the reference of own: the same with floats in f64; fills match. */
TAKT_MUST_USE takt_status takt_diff_widen(takt_diff_work *w);
/* Fills match. */
TAKT_MUST_USE takt_status takt_diff_match(takt_diff_work *w);
/* Why the node of this row differs; sets cause and detail. `here`: its value, computed from the
 * reference's. Values of both nodes and of their inputs are in memory. */
TAKT_MUST_USE takt_status takt_diff_explain(takt_diff_work *w, takt_diff_row *row,
                                            const takt_array *here);

/* ---- sides that run (diff_run.c) ---- */

/* Late nodes are constants, and nodes up to `deepest - 1` after them. */
TAKT_MUST_USE takt_status takt_diff_side_init(takt_diff_work *w, unsigned char deepest,
                                              takt_diff_side *s);
/* Inputs have their values, nothing has run. `holds` are read again each, besides by nodes. */
TAKT_MUST_USE takt_status takt_diff_begin(takt_diff_work *w, takt_diff_side *s,
                                          const takt_id *holds, size_t hold_count);
/* Runs node `id`, whose inputs are in memory; late ones are computed. */
TAKT_MUST_USE takt_status takt_diff_run(takt_diff_work *w, takt_diff_side *s, takt_id id);
/* Computes a late value, if it is not in memory; takt_diff_leave frees it. */
TAKT_MUST_USE takt_status takt_diff_late(takt_diff_work *w, takt_diff_side *s, takt_id id);
/* Runs up to node `id`, whose value is then in memory. */
TAKT_MUST_USE takt_status takt_diff_reach(takt_diff_work *w, takt_diff_side *s, takt_id id);
/* One reader of `id` is done: true if that was the last one, and the value was freed. */
bool takt_diff_leave(takt_diff_work *w, takt_diff_side *s, takt_id id);
/* Some elements of each value, kept in `samples`. */
TAKT_MUST_USE takt_status takt_diff_sample(takt_diff_work *w, takt_diff_side *s);
/* Node `id` on these inputs, in the graph of `s`; NULL: absent. */
TAKT_MUST_USE takt_status takt_diff_evaluate(takt_diff_work *w, const takt_diff_side *s, takt_id id,
                                             const takt_array *const *inputs, takt_array *out);
/* A float value with one result that is not a constant. */
bool takt_diff_is_value(const takt_diff_side *s, size_t id);
void takt_diff_side_release(takt_diff_work *w, takt_diff_side *s);

#endif
