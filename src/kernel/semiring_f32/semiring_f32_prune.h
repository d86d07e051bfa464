/* semiring_f32_prune.h - max-min without the terms that cannot matter; a part of
 * semiring_f32_body.h.
 *
 * A term is at most a[i][k]. Where a whole row of c has reached a[i][k], all terms of that k are
 * skipped. Rows are often alike, so the least element of one row is the first guess for the next:
 * factors above the guess come first, then those between the guess and the least element that this
 * gave. Among operands without NaN and -0 the maximum does not depend on the order.
 */

enum { LISTED = 512 }; /* factors that are listed at a time */

/* The k with low < a[k] <= high. */
INLINE size_t list(uint16_t *to, const float *a, size_t count, float low, float high)
{
    size_t found = 0;
    for (size_t k = 0; k < count; k++) {
        to[found] = (uint16_t)k;
        found += (size_t)((a[k] > low) & (a[k] <= high));
    }
    return found;
}

typedef struct listed {
    const uint16_t *at;
    size_t count;
    const float *a, *b; /* of the first k that could be listed */
    size_t stride;      /* of b */
} listed;

/* `count` vectors of a row of c with the terms of these k; the lesser of `least` and them. */
INLINE vf lift(listed l, float *c, vf least, size_t lanes, const size_t count)
{
    vf sum[ABREAST];
    for (size_t v = 0; v < count; v++)
        sum[v] = load(c + v * VF, lanes);
    for (size_t q = 0; q < l.count; q++) {
        const vf a = vf_set1(l.a[l.at[q]]);
        const float *b = l.b + l.at[q] * l.stride;
        for (size_t v = 0; v < count; v++)
            sum[v] = larger_plain(sum[v], lesser_plain(a, load(b + v * VF, lanes)));
    }
    for (size_t v = 0; v < count; v++) {
        store(c + v * VF, sum[v], lanes);
        if (lanes == VF) /* the other lanes of a tail are not elements of c */
            least = lesser_plain(least, sum[v]);
    }
    return least;
}

/* A row of c; returns its least element. */
static float lift_row(listed l, float *c, size_t n)
{
    vf least = vf_set1(INFINITY);
    size_t j = 0;
    for (; j + ABREAST * VF <= n; j += ABREAST * VF, l.b += ABREAST * VF)
        least = lift(l, c + j, least, VF, ABREAST);
    for (; j + VF <= n; j += VF, l.b += VF)
        least = lift(l, c + j, least, VF, 1);
    if (j < n)
        least = lift(l, c + j, least, n - j, 1);
    float lane[VF], low = INFINITY;
    vf_store(lane, least);
    for (size_t v = 0; v < VF; v++)
        low = lane[v] < low ? lane[v] : low;
    for (; j < n; j++)
        low = c[j] < low ? c[j] : low;
    return low;
}

/* Row i with the factors in (low, high]; adds their number to *spent. */
static float lift_all(const takt_semiring_f32 *p, size_t i, float low, float high, size_t *spent)
{
    uint16_t at[LISTED];
    float least = 0;
    for (size_t k = 0; k < p->k; k += LISTED) {
        const float *a = p->a + i * p->k + k;
        const size_t count = list(at, a, p->k - k < LISTED ? p->k - k : LISTED, low, high);
        *spent += count;
        least = lift_row((listed){at, count, a, p->b + k * p->n, p->n}, p->c + i * p->n, p->n);
    }
    return least;
}

/* The first rows of c, and how many: it stops where more than half of the terms matter, because
 * tiles are faster then. */
static size_t pruned(const takt_semiring_f32 *p)
{
    enum { TRIED = 8 };
    size_t spent = 0, i = 0;
    float guess = 0;
    while (i < p->m && (i < TRIED || 2 * spent <= i * p->k)) {
        memset(p->c + i * p->n, 0, p->n * sizeof(float));
        const float least = lift_all(p, i, guess, INFINITY, &spent);
        guess = least < guess ? lift_all(p, i, least, guess, &spent) : least;
        i++;
    }
    return i;
}
