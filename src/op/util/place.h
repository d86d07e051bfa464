/* place.h - the position of a part of an axis whose start is known only at run time. */
#ifndef TAKT_OP_UTIL_PLACE_H
#define TAKT_OP_UTIL_PLACE_H

#include "op/ops.h"

/* `outer` times: `part` elements at `offset` in a run of `whole`. */
typedef struct takt_place {
    size_t which; /* of several starts */
    size_t outer, whole, part, offset;
} takt_place;

/* Reads element `place->which` of input `start`; TAKT_E_INDEX if `part` does not fit into `whole`
 * there. */
TAKT_MUST_USE takt_status takt_place_find(const takt_eval *e, const takt_array *whole,
                                          const takt_array *part, size_t start, int64_t axis,
                                          takt_place *place);

#endif
