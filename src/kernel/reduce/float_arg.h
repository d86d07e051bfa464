/* float_arg.h - where the extreme of a row or column lies. */
#ifndef TAKT_KERNEL_REDUCE_FLOAT_ARG_H
#define TAKT_KERNEL_REDUCE_FLOAT_ARG_H

static bool is_hit(T x, T extreme)
{
    return extreme == extreme ? x == extreme : x != x;
}

/* The extreme first, then the first place that has it: both passes are vectors. */
static size_t arg_row(const T *x, size_t n, bool is_max, bool is_last, const takt_poll *poll)
{
    enum { POLLED = 1 << 17 };
    const T extreme = is_max ? row(TAKT_REDUCE_MAX, x, n, poll) : row(TAKT_REDUCE_MIN, x, n, poll);
    if (is_last) {
        size_t i = n;
        while (i > 1 && !is_hit(x[i - 1], extreme) && (i % POLLED != 0 || !takt_poll_stops(poll)))
            i--;
        return i == 0 ? 0 : i - 1;
    }
    const vec e = VEC(set1)(extreme);
    size_t i = 0;
    if (extreme == extreme)
        while (i + LANES <= n && !MASK(any)(VEC(eq)(VEC(load)(x + i), e))) {
            i += LANES;
            if (i % POLLED == 0 && takt_poll_stops(poll))
                return i;
        }
    while (i < n && !is_hit(x[i], extreme)) {
        i++;
        if (i % POLLED == 0 && takt_poll_stops(poll))
            return i;
    }
    return i;
}

/* True if x replaces the best so far. NaN beats everything; ties go to the first. */
static inline bool beats(T x, T best, bool is_max, bool is_last)
{
    if (best != best)
        return is_last && x != x;
    if (x != x)
        return true;
    if (is_last && x == best)
        return true;
    return is_max ? x > best : x < best;
}

/* Any layout: a tile of results at a time, so that columns are read row by row. */
static void arg_any(const takt_reduce *r, bool is_max, bool is_last)
{
    int64_t *d = r->dst;
    for (size_t first = 0; first < r->count; first += TILE) {
        const size_t width = r->count - first < TILE ? r->count - first : TILE;
        T best[TILE];
        for (size_t i = 0; i < r->n; i++) {
            if (i % CHUNK == 0 && i > 0 && takt_poll_stops(r->poll))
                return;
            const T *x = (const T *)r->src + takt_reduce_at(r, first, i);
            for (size_t c = 0; c < width; c++) {
                const T value = x[c * r->across];
                if (i > 0 && !beats(value, best[c], is_max, is_last))
                    continue;
                best[c] = value;
                d[first + c] = (int64_t)i;
            }
        }
        for (size_t c = 0; c < width && r->n == 0; c++)
            d[first + c] = 0;
    }
}

static void arg(const takt_reduce *r)
{
    const bool is_max = r->op == TAKT_REDUCE_ARGMAX || r->op == TAKT_REDUCE_ARGMAX_LAST;
    const bool is_last = r->op == TAKT_REDUCE_ARGMAX_LAST || r->op == TAKT_REDUCE_ARGMIN_LAST;
    if (r->step != 1 || !is_one_run(r)) {
        arg_any(r, is_max, is_last);
        return;
    }
    for (size_t k = 0; k < r->count; k++) {
        const T *x = (const T *)r->src + k * r->across;
        ((int64_t *)r->dst)[k] =
            r->n == 0 ? 0 : (int64_t)arg_row(x, r->n, is_max, is_last, r->poll);
    }
}

#endif
