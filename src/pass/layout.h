/* layout.h - what the files of the pass `layout` share: values in two forms. */
#ifndef TAKT_PASS_LAYOUT_H
#define TAKT_PASS_LAYOUT_H

#include "pass/copier.h"
#include "pass/pass.h"

typedef struct takt_layout {
    takt_copier c;
    takt_id *last;           /* per node of `in`: its form with channels last, or TAKT_NONE */
    unsigned char *is_moved; /* it was computed in that form */
    unsigned char *is_asked; /* a later node computes in that form */
    takt_pass_report *report;
} takt_layout;

enum { TAKT_LAYOUT_MOST = 64 }; /* inputs of a node that is moved */

/* Where axis `axis` of `rank` goes when channels come last. */
int64_t takt_layout_axis(int64_t axis, int rank);
/* The model's own form of node `id` of the old graph, and the other one. */
takt_id takt_layout_plain(takt_layout *l, takt_id id);
takt_id takt_layout_last(takt_layout *l, takt_id id);
/* What node `id` becomes: its op on `in` with `attr`, remembered as the form with channels last. */
void takt_layout_moved(takt_layout *l, takt_id id, const takt_id *in, const takt_attr *attr,
                       const char *law);

/* layout_moves.c: fills `is_asked`. */
void takt_layout_ask(takt_layout *l);
/* Node `id` is moved if it quantises, or only moves elements; or shuffles channels, which depends
 * on the nodes before it. */
bool takt_layout_move(takt_layout *l, takt_id id, const takt_node *n);
bool takt_layout_shuffle(takt_layout *l, takt_id id, const takt_node *n);

#endif
