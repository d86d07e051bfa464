/* Unique.c - Unique: which rows differ must be known when the model is loaded. */
#include "io/onnx/adapt.h"

/* x as rows along an axis: element `k` of row `r`. */
typedef struct rows {
    const takt_array *x;
    size_t count, outer, inner;
} rows;

static double element(const rows *s, size_t r, size_t k)
{
    const size_t flat = (k / s->inner * s->count + r) * s->inner + k % s->inner;
    return s->x->f != NULL ? s->x->f[flat] : (double)s->x->i[flat];
}

static int compare(const rows *s, size_t a, size_t b)
{
    for (size_t k = 0; k < s->outer * s->inner; k++) {
        const double p = element(s, a, k), q = element(s, b, k);
        if (p != q)
            return p < q ? -1 : 1;
    }
    return 0;
}

static rows rows_of(takt_call *c, const takt_array *x)
{
    rows s = {.x = x, .count = x->count, .outer = 1, .inner = 1};
    if (takt_onnx_attr(c, "axis") == NULL)
        return s;
    const int axis = takt_onnx_axis(c, takt_onnx_i(c, "axis", 0), x->rank);
    s.count = x->rank > 0 ? (size_t)x->dim[axis] : 1;
    for (int i = 0; i < axis; i++)
        s.outer *= (size_t)x->dim[i];
    for (int i = axis + 1; i < x->rank; i++)
        s.inner *= (size_t)x->dim[i];
    return s;
}

/* First occurrences into `first`, how often into `times`, which of them each row is into `of`. */
static size_t find(const rows *s, int64_t *first, int64_t *of, int64_t *times)
{
    size_t count = 0;
    for (size_t r = 0; r < s->count; r++) {
        size_t u = 0;
        while (u < count && compare(s, (size_t)first[u], r) != 0)
            u++;
        if (u == count)
            first[count++] = (int64_t)r;
        of[r] = (int64_t)u;
        times[u]++;
    }
    return count;
}

static void sort(const rows *s, size_t count, int64_t *first, int64_t *of, int64_t *times,
                 int64_t *place)
{
    for (size_t i = 0; i < count; i++) { /* place[old] = new */
        place[i] = 0;
        for (size_t k = 0; k < count; k++)
            place[i] += compare(s, (size_t)first[k], (size_t)first[i]) < 0;
    }
    int64_t *old_first = place + count, *old_times = place + 2 * count;
    for (size_t i = 0; i < count; i++) {
        old_first[i] = first[i];
        old_times[i] = times[i];
    }
    for (size_t i = 0; i < count; i++) {
        first[place[i]] = old_first[i];
        times[place[i]] = old_times[i];
    }
    for (size_t r = 0; r < s->count; r++)
        of[r] = place[of[r]];
}

static takt_status adapt(takt_call *c)
{
    const takt_array *x = takt_onnx_known(c, 0);
    if (c->status != TAKT_OK)
        return c->status;
    const rows s = rows_of(c, x);
    if (s.count > 4096)
        return takt_onnx_refuse(c, "%zu rows", s.count);
    int64_t *first = takt_onnx_get(c, s.count, sizeof *first);
    int64_t *of = takt_onnx_get(c, s.count, sizeof *of);
    int64_t *times = takt_onnx_get(c, s.count, sizeof *times);
    int64_t *place = takt_onnx_get(c, 3 * s.count, sizeof *place);
    if (first == NULL || of == NULL || times == NULL || place == NULL)
        return TAKT_ERR_MEMORY;
    const size_t count = find(&s, first, of, times);
    if (takt_onnx_i(c, "sorted", 1) != 0)
        sort(&s, count, first, of, times, place);
    takt_id in = takt_onnx_in(c, 0);
    const int64_t all = (int64_t)x->count;
    if (takt_onnx_attr(c, "axis") == NULL)
        in = takt_onnx_shape(c, in, &all, 1);
    const takt_id index = takt_onnx_i64s(c, first, count);
    takt_onnx_set(c, 0, takt_onnx_gather(c, in, index, takt_onnx_i(c, "axis", 0)));
    takt_onnx_set(c, 1, index);
    takt_onnx_set(c, 2, takt_onnx_i64s(c, of, s.count));
    takt_onnx_set(c, 3, takt_onnx_i64s(c, times, count));
    return c->status;
}

const takt_onnx_op takt_onnx_Unique = {.names = {"Unique"}, .adapt = adapt};
