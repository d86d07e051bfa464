/* fold_node.h - a node of constants replaced by its value. */
#ifndef TAKT_PASS_FOLD_NODE_H
#define TAKT_PASS_FOLD_NODE_H

#include "pass/pass.h"

enum { TAKT_FOLD_INPUTS = 8 }; /* of a node that can be folded, at most */

/* The constant that `n` computes; all its inputs are constants, and it has one result. A node that
 * cannot be evaluated (a zero divisor, say) is left to fail at run time, where the error has a
 * place. */
takt_id takt_fold_node(takt_rewrite *r, const takt_node *n);

#endif
