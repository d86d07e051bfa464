/* order.h - sorts positions by value: stable, NaN last in ascending order. */
#ifndef TAKT_OP_UTIL_ORDER_H
#define TAKT_OP_UTIL_ORDER_H

#include "op/ops.h"

/* One line of an array: elements first, first + stride, …, `count` of them. */
typedef struct takt_line {
    const takt_array *array;
    size_t first, stride, count;
} takt_line;

/* Writes the positions 0 … count - 1 in order of value; on ties the lower position first.
 * Descending puts NaN first. `spare` has room for `count` too. */
void takt_order(const takt_eval *e, const takt_line *line, bool descending, size_t *order,
                size_t *spare);
/* Number of lines of an array along an axis, and line number `i`. */
size_t takt_line_count(const takt_array *array, int axis);
takt_line takt_line_at(const takt_array *array, int axis, size_t i);

/* Results 0 and 1 of an op along the line `to`: the elements at the first of these positions of the
 * line `from` of its input, and the positions. */
void takt_order_put(takt_eval *e, const takt_line *from, const takt_line *to, const size_t *order);
/* The gradient of result 0 goes to the positions in result 1, along the axis in attribute number
 * `axis`. */
void takt_order_grad(takt_graph *g, takt_id id, takt_id dy, int axis, takt_id *dx);

#endif
