/* unique.c - rows that differ: where each is first, which one every row is, how often each comes.
 */
#include <math.h>

#include "base/sort.h"
#include "op/util/check.h"

enum { AXIS, SORTED };

static takt_status infer(takt_infer *in)
{
    const takt_type *x = in->type[0];
    takt_dim count = 1;
    int axis = 0;
    if (in->attr[AXIS].is_set) {
        TAKT_TRY(takt_check_axis(in, in->attr[AXIS].i64, x->rank, &axis));
        count = x->dim[axis];
    }
    for (int d = 0; !in->attr[AXIS].is_set && d < x->rank; d++)
        TAKT_TRY(takt_dim_make(in->dims, TAKT_DIM_MUL, count, x->dim[d], &count));
    for (int i = 0; i < 3; i++)
        in->out[i] = (takt_type){.dtype = TAKT_I64, .rank = 1, .dim = {count}};
    in->out[3] = (takt_type){.dtype = TAKT_I64, .rank = 1, .dim = {1}};
    return TAKT_OK;
}

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

static rows rows_of(const takt_array *x, const takt_attr *given)
{
    rows s = {.x = x, .count = x->count, .outer = 1, .inner = 1};
    if (!given->is_set)
        return s;
    const int axis = (int)(given->i64 < 0 ? given->i64 + x->rank : given->i64);
    s.count = (size_t)x->dim[axis];
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

static takt_status eval(takt_eval *e)
{
    const rows s = rows_of(&e->in[0], &e->attr[AXIS]);
    found f = {.first = e->out[0].i, .of = e->out[1].i, .times = e->out[2].i};
    int64_t *place = takt_arena_array(e->scratch, 3 * s.count + 1, sizeof *place);
    row *each = takt_arena_array(e->scratch, s.count + 1, sizeof *each);
    const row **sorted = takt_arena_array(e->scratch, s.count + 1, sizeof *sorted);
    if (place == NULL || each == NULL || sorted == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < s.count; i++) {
        each[i] = (row){&s, i};
        sorted[i] = &each[i];
    }
    find(&s, sorted, &f);
    if (!e->attr[SORTED].boolean)
        unsort(&s, &f, place);
    e->out[3].i[0] = (int64_t)f.count;
    return TAKT_OK;
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    const takt_type *x = takt_type_of(g, n->in[0]);
    size_t count = 0, bytes = 0;
    (void)takt_type_count(x, &count);
    (void)takt_type_bytes(x, &bytes);
    cost->flops = 4 * (double)count * log2((double)count + 2);
    cost->bytes = (double)bytes + 24 * (double)n->type[0].dim[0];
}

const takt_op takt_op_unique = {
    .name = "unique",
    .summary = "rows that differ: where each is first, zeros after them; which one every row is; "
               "how often each comes, zeros after them; and how many they are",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .out_count = 4,
    .attrs = {[AXIS] = {.name = "axis",
                        .type = TAKT_ATTR_I64,
                        .is_optional = true,
                        .summary = "along which rows lie; left out: every element is one"},
              [SORTED] = {.name = "sorted",
                          .type = TAKT_ATTR_BOOL,
                          .fallback.boolean = true,
                          .summary = "in the order of their values; else as they come"}},
    .traits = TAKT_PRIMITIVE,
    .dtypes = TAKT_COMPUTE,
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .no_gradient = "its results are places",
    .no_bound = "places are not followed",
    .samples = {"unique(i8[9] in (0, 3))", "unique(f32[4, 2] in (0, 1), axis=0, sorted=false)",
                "unique(i64[2, 3] in (0, 1), axis=1)", "unique(u64[0])"},
};
