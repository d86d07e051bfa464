/* unique.c - sorts rows and compares each with the one before it. */
#include "op/util/unique.h"

#include <math.h>

#include "base/sort.h"

static size_t element(const takt_unique *s, size_t r, size_t k)
{
    return (k / s->inner * s->count + r) * s->inner + k % s->inner;
}

/* NaN is one value, after all numbers, as in NumPy. */
static int compare_floats(double p, double q)
{
    return isnan(p) || isnan(q) ? isnan(p) - isnan(q) : (p > q) - (p < q);
}

static int compare(const takt_unique *s, size_t a, size_t b)
{
    int order = 0;
    for (size_t k = 0; order == 0 && k < s->outer * s->inner; k++) {
        const size_t p = element(s, a, k), q = element(s, b, k);
        if (s->f != NULL)
            order = compare_floats(s->f[p], s->f[q]);
        else if (s->is_unsigned)
            order =
                ((uint64_t)s->i[p] > (uint64_t)s->i[q]) - ((uint64_t)s->i[p] < (uint64_t)s->i[q]);
        else
            order = (s->i[p] > s->i[q]) - (s->i[p] < s->i[q]);
    }
    return order;
}

typedef struct row {
    const takt_unique *s;
    size_t index;
} row;

/* Equal rows keep their order: the first one counts. */
static bool is_before(const void *a, const void *b)
{
    const row *p = a, *q = b;
    const int order = compare(p->s, p->index, q->index);
    return order != 0 ? order < 0 : p->index < q->index;
}

/* In the order of the rows' values. */
static void find(const takt_unique *s, const row **sorted, takt_found_rows *f)
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

/* In order of appearance; `place` has room for three numbers of each. */
static void unsort(const takt_unique *s, takt_found_rows *f, int64_t *place)
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

size_t takt_unique_bytes(size_t rows)
{
    return (rows + 1) * (sizeof(row) + sizeof(row *) + 3 * sizeof(int64_t));
}

void takt_unique_find(const takt_unique *u, void *memory, takt_found_rows *f)
{
    row *each = memory;
    int64_t *place = (int64_t *)(void *)(each + u->count + 1);
    const row **sorted = (const row **)(void *)(place + 3 * (u->count + 1));
    f->count = 0;
    for (size_t i = 0; i < u->count; i++) {
        each[i] = (row){u, i};
        sorted[i] = &each[i];
    }
    find(u, sorted, f);
    if (!u->is_sorted)
        unsort(u, f, place);
}
