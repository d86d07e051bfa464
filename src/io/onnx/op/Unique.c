/* Unique.c - Unique: which rows differ must be known when the model is loaded. */
#include <math.h>

#include "base/sort.h"
#include "io/onnx/adapt.h"

/* x as rows along an axis: element `k` of row `r`. */
typedef struct rows {
    const takt_array *x;
    size_t count, outer, inner;
} rows;

static size_t element(const rows *s, size_t r, size_t k)
{
    return (k / s->inner * s->count + r) * s->inner + k % s->inner;
}

/* NaN is one value, after all numbers, as NumPy has it. */
static int compare_floats(double p, double q)
{
    return isnan(p) || isnan(q) ? isnan(p) - isnan(q) : (p > q) - (p < q);
}

static int compare(const rows *s, size_t a, size_t b)
{
    int order = 0;
    for (size_t k = 0; order == 0 && k < s->outer * s->inner; k++) {
        const size_t p = element(s, a, k), q = element(s, b, k);
        if (s->x->f != NULL)
            order = compare_floats(s->x->f[p], s->x->f[q]);
        else if (s->x->dtype == TAKT_U64)
            order = ((uint64_t)s->x->i[p] > (uint64_t)s->x->i[q]) -
                    ((uint64_t)s->x->i[p] < (uint64_t)s->x->i[q]);
        else
            order = (s->x->i[p] > s->x->i[q]) - (s->x->i[p] < s->x->i[q]);
    }
    return order;
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

typedef struct row {
    const rows *s;
    size_t index;
} row;

/* Equal rows stand as they did: the first of them is the one that counts. */
static bool is_before(const void *a, const void *b)
{
    const row *p = a, *q = b;
    const int order = compare(p->s, p->index, q->index);
    return order != 0 ? order < 0 : p->index < q->index;
}

/* What is found: of each different row where it is first and how often, of each row which it is. */
typedef struct found {
    size_t count;
    int64_t *first, *of, *times;
} found;

/* In the order of the rows' values. */
static void find(const rows *s, const row **sorted, found *f)
{
    takt_sort_pointers((const void **)sorted, s->count, is_before);
    for (size_t i = 0; i < s->count; i++) {
        const size_t r = sorted[i]->index;
        if (i == 0 || compare(s, sorted[i - 1]->index, r) != 0)
            f->first[f->count++] = (int64_t)r;
        f->of[r] = (int64_t)f->count - 1;
        f->times[f->count - 1]++;
    }
}

/* In the order in which they come; `place` has room for three numbers of each. */
static void unsort(const rows *s, found *f, int64_t *place)
{
    int64_t *first = place + f->count, *times = place + 2 * f->count, next = 0;
    for (size_t i = 0; i < f->count; i++) {
        first[i] = f->first[i];
        times[i] = f->times[i];
    }
    for (size_t r = 0; r < s->count; r++) {
        const int64_t old = f->of[r];
        if (first[old] == (int64_t)r) {
            place[old] = next++;
            f->first[place[old]] = first[old];
            f->times[place[old]] = times[old];
        }
        f->of[r] = place[old];
    }
}

static takt_status find_all(takt_call *c, const rows *s, found *f)
{
    const double size = (double)s->count, each = (double)(s->outer * s->inner);
    if (!takt_onnx_affords(c, 2 * size * log2(size + 2) * (each + 1)))
        return c->status;
    *f = (found){.first = takt_onnx_get(c, s->count, sizeof *f->first),
                 .of = takt_onnx_get(c, s->count, sizeof *f->of),
                 .times = takt_onnx_get(c, s->count, sizeof *f->times)};
    int64_t *place = takt_onnx_get(c, 3 * s->count, sizeof *place);
    row *each_row = takt_onnx_get(c, s->count, sizeof *each_row);
    const row **sorted = takt_onnx_get(c, s->count, sizeof *sorted);
    if (c->status != TAKT_OK)
        return c->status;
    for (size_t i = 0; i < s->count; i++) {
        each_row[i] = (row){s, i};
        sorted[i] = &each_row[i];
    }
    find(s, sorted, f);
    if (takt_onnx_i(c, "sorted", 1) == 0)
        unsort(s, f, place);
    return c->status;
}

static takt_status adapt(takt_call *c)
{
    const takt_array *x = takt_onnx_known(c, 0);
    if (c->status != TAKT_OK)
        return c->status;
    const rows s = rows_of(c, x);
    found f = {0};
    TAKT_TRY(find_all(c, &s, &f));
    takt_id in = takt_onnx_in(c, 0);
    const int64_t all = (int64_t)x->count;
    if (takt_onnx_attr(c, "axis") == NULL)
        in = takt_onnx_shape(c, in, &all, 1);
    const takt_id index = takt_onnx_i64s(c, f.first, f.count);
    takt_onnx_set(c, 0, takt_onnx_gather(c, in, index, takt_onnx_i(c, "axis", 0)));
    takt_onnx_set(c, 1, index);
    takt_onnx_set(c, 2, takt_onnx_i64s(c, f.of, s.count));
    takt_onnx_set(c, 3, takt_onnx_i64s(c, f.times, f.count));
    return c->status;
}

const takt_onnx_op takt_onnx_Unique = {.names = {"Unique"}, .adapt = adapt};
