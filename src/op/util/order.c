/* order.c - a bottom-up merge sort of positions. */
#include "op/util/order.h"

#include <math.h>
#include <string.h>

#include "op/util/elements.h"
#include "op/util/index.h"
#include "op/util/make.h"
#include "op/util/stops.h"

static bool is_less(const takt_array *a, size_t i, size_t j)
{
    if (takt_dtype_is_float(a->dtype))
        return isnan(a->f[j]) ? !isnan(a->f[i]) : a->f[i] < a->f[j];
    return takt_dtype_is_unsigned(a->dtype) ? (uint64_t)a->i[i] < (uint64_t)a->i[j]
                                            : a->i[i] < a->i[j];
}

static bool goes_before(const takt_line *l, bool descending, size_t i, size_t j)
{
    const size_t a = l->first + i * l->stride, b = l->first + j * l->stride;
    return descending ? is_less(l->array, b, a) : is_less(l->array, a, b);
}

void takt_order(const takt_eval *e, const takt_line *line, bool descending, size_t *order,
                size_t *spare)
{
    const size_t n = line->count;
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t low = 0; low < n; low += 2 * width) {
            const size_t middle = low + width < n ? low + width : n;
            const size_t high = middle + width < n ? middle + width : n;
            size_t a = low, b = middle;
            for (size_t to = low; to < high; to++) { /* of equals the left one: stable */
                if (takt_eval_stops(e, 4))
                    return;
                const bool right =
                    a == middle || (b < high && goes_before(line, descending, order[b], order[a]));
                spare[to] = right ? order[b++] : order[a++];
            }
        }
        memcpy(order, spare, n * sizeof *order);
    }
}

size_t takt_line_count(const takt_array *array, int axis)
{
    return takt_index_span(array, 0, axis) * takt_index_span(array, axis + 1, array->rank);
}

takt_line takt_line_at(const takt_array *array, int axis, size_t i)
{
    const size_t inner = takt_index_span(array, axis + 1, array->rank);
    const size_t count = (size_t)array->dim[axis];
    return (takt_line){.array = array,
                       .first = i / inner * count * inner + i % inner,
                       .stride = inner,
                       .count = count};
}

void takt_order_put(takt_eval *e, const takt_line *from, const takt_line *to, const size_t *order)
{
    for (size_t i = 0; i < to->count; i++) {
        const size_t at = to->first + i * to->stride;
        takt_index_move(&e->out[0], at, from->array, from->first + order[i] * from->stride);
        e->out[1].i[at] = (int64_t)order[i];
    }
}

void takt_order_grad(takt_graph *g, takt_id id, takt_id dy, int axis, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    if (dy != TAKT_NONE)
        dx[0] = takt_elements_scatter(g, takt_make_filled(g, n.in[0], 0), takt_graph_get(g, id, 1),
                                      dy, n.attr[axis].i64, TAKT_ADD);
}
