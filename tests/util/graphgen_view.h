/* graphgen_view.h - random views of values, which are hard for fusion, aliasing and folding of
 * moves.
 */
#ifndef TAKT_TESTS_UTIL_GRAPHGEN_VIEW_H
#define TAKT_TESTS_UTIL_GRAPHGEN_VIEW_H

#include "util/random_array.h"

enum { TAKT_GEN_LARGEST = 20000 }; /* elements that a view may have */

/* A slice, reshape, transpose, split, concat, broadcast, pad, ... of `id`, of any shape. */
takt_id takt_gen_view(takt_graph *g, takt_random *r, takt_id id);
/* Elements of `id` at other positions, in a shape that broadcasts to its own. */
takt_id takt_gen_operand(takt_graph *g, takt_random *r, takt_id id);
/* `id` as a value of type `want`, by casts and views; TAKT_NONE if that cannot be. */
takt_id takt_gen_fit(takt_graph *g, takt_random *r, takt_id id, const takt_type *want);

#endif
