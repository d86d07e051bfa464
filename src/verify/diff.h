/* diff.h - two models side by side: which value differs first, by how much, and why.
 *
 * Both graphs are evaluated by the interpreter. Without a reference it is the model itself with all
 * floats in f64 (diff_widen.c), whose nodes are known to be counterparts. A node of the model is
 * matched with one of the reference by name and op, by name, or by op and matched inputs. Each
 * matched node is evaluated twice: on its own inputs, and on the reference's values, so that an
 * error made at the node is distinguished from one that only passes through. Nodes without a match
 * belong to the stretch that ends at the next matched one. */
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
    takt_id at;             /* where the error originates: a node of the stretch that ends at id */
    double made, carried;   /* greatest error over the greatest value: made here, and in total */
    double sqnr_made, sqnr; /* decibels; infinite if nothing differs */
    takt_cause cause;       /* NONE: no error originates here */
    const char *detail;     /* the attribute or op that differs, or NULL */
} takt_diff_row;

/* One side. */
typedef struct takt_diff_side {
    takt_graph *graph;
    unsigned char *live;
    takt_array *values;   /* per node with one result; rank -1: not evaluated */
    takt_array **several; /* per node with several: all of them; else NULL */
    size_t *same;         /* how many nodes before it have the same label and op */
} takt_diff_side;

typedef struct takt_diff_work {
    takt_ctx *ctx;
    takt_arena arena;
    takt_diff_side ref, own;
    takt_id *match;       /* per node of own: a node of ref, or TAKT_NONE */
    takt_array *from_ref; /* per node of own: its value if matched nodes had the reference's
                           * values */
    takt_diff_row *rows;
    size_t count, unmatched, findings;
    takt_array **kept; /* values made by takt_diff_here, released at the end */
    size_t kept_count;
} takt_diff_work;

/* Makes the reference of own: the same with floats in f64; fills match. */
TAKT_MUST_USE takt_status takt_diff_widen(takt_diff_work *w);
/* Fills match; both sides are evaluated. */
void takt_diff_match(takt_diff_work *w);
/* Why the node of this row differs; sets cause and detail. */
void takt_diff_explain(takt_diff_work *w, takt_diff_row *row);
/* The value of node `id` of own, computed from the reference's values; evaluated on demand. */
TAKT_MUST_USE takt_status takt_diff_here(takt_diff_work *w, takt_id id, const takt_array **value);

#endif
