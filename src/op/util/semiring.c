/* semiring.c - shapes of products over semirings, and their arithmetic in f64. */
#include "op/util/semiring.h"

#include <math.h>
#include <string.h>

#include "op/util/check.h"
#include "op/util/make.h"

const char *const takt_semiring_names[] = {"max_min",     "max_mul", "min_add", "noisy_or",
                                           "lukasiewicz", "or_and",  NULL};

takt_status takt_semiring_infer(takt_infer *in)
{
    const takt_type *a = in->type[0], *b = in->type[1];
    const bool is_bits = in->attr[TAKT_SEMIRING].i64 == TAKT_SEMIRING_OR_AND;
    if (is_bits != (a->dtype == TAKT_U64))
        return takt_infer_fail(in, TAKT_E_DTYPE, "or_and is for u64, the others are for floats");
    TAKT_TRY(takt_infer_rank(in, 0, 2, TAKT_MAX_RANK));
    TAKT_TRY(takt_infer_rank(in, 1, a->rank, a->rank));
    for (int d = 0; d + 2 < a->rank; d++)
        TAKT_TRY(takt_check_dims(in, 0, d, 1, d));
    const int last = a->rank - 1;
    if (!is_bits) {
        TAKT_TRY(takt_check_dims(in, 0, last, 1, last - 1));
    } else {
        takt_dim words;
        bool agree;
        TAKT_TRY(takt_dim_make(in->dims, TAKT_DIM_CEILDIV, b->dim[last - 1], 64, &words));
        TAKT_TRY(takt_check_agree(in, a->dim[last], words, &agree));
        if (!agree)
            return takt_infer_fail(in, TAKT_E_SHAPE,
                                   "a row of a must have a word for every 64 rows of b");
    }
    in->out[0] = *a;
    in->out[0].dim[last] = b->dim[last];
    return TAKT_OK;
}

takt_semiring_sizes takt_semiring_sizes_of(const takt_type *a, const takt_type *b)
{
    const int last = a->rank - 1;
    takt_semiring_sizes z = {.batch = 1,
                             .m = (size_t)a->dim[last - 1],
                             .n = (size_t)b->dim[last],
                             .k = (size_t)b->dim[last - 1]};
    for (int d = 0; d + 2 < a->rank; d++)
        z.batch *= (size_t)a->dim[d];
    return z;
}

static takt_type type_of(const takt_array *a)
{
    takt_type t = {.dtype = a->dtype, .rank = a->rank};
    for (int d = 0; d < a->rank; d++)
        t.dim[d] = a->dim[d];
    return t;
}

takt_semiring_sizes takt_semiring_sizes_in(const takt_eval *e)
{
    const takt_type a = type_of(&e->in[0]), b = type_of(&e->in[1]);
    return takt_semiring_sizes_of(&a, &b);
}

/* ---- one element ---- */

typedef takt_semiring_math math;

takt_semiring_math takt_semiring_math_of(const takt_node *n)
{
    return (math){(takt_semiring)n->attr[TAKT_SEMIRING].i64, n->type->dtype == TAKT_F32};
}

/* Sums, products and quotients of two floats, computed in double, round to what f32 gives. */
static double rounded(const math *m, double x)
{
    return m->is_f32 ? (float)x : x;
}

static double larger(double x, double y)
{
    return x > y ? x : y;
}

static double lesser(double x, double y)
{
    return x < y ? x : y;
}

/* a * b + c, rounded once. */
static double fused(const math *m, double a, double b, double c)
{
    return m->is_f32 ? fmaf((float)a, (float)b, (float)c) : fma(a, b, c);
}

static double start(const math *m)
{
    return m->semiring == TAKT_MIN_ADD ? INFINITY : m->semiring == TAKT_NOISY_OR ? 1 : 0;
}

static double term(const math *m, double a, double b)
{
    switch (m->semiring) {
    case TAKT_MAX_MIN: return lesser(a, b);
    case TAKT_MAX_MUL: return rounded(m, a * b);
    case TAKT_MIN_ADD: return rounded(m, a + b);
    case TAKT_NOISY_OR: return fused(m, -a, b, 1);
    default: return larger(rounded(m, rounded(m, a + b) - 1), 0);
    }
}

static double gather(const math *m, double sum, double t)
{
    switch (m->semiring) {
    case TAKT_MAX_MIN:
    case TAKT_MAX_MUL: return larger(sum, t);
    case TAKT_MIN_ADD: return lesser(sum, t);
    case TAKT_NOISY_OR: return rounded(m, sum * t);
    default: return rounded(m, sum + t);
    }
}

static double finish(const math *m, double sum)
{
    if (m->semiring == TAKT_NOISY_OR)
        return rounded(m, 1 - sum);
    return m->semiring == TAKT_LUKASIEWICZ ? lesser(sum, 1) : sum;
}

void takt_semiring_row(const takt_semiring_math *m, const takt_semiring_sizes *z, const double *a,
                       const double *b, double *c)
{
    for (size_t j = 0; j < z->n; j++) {
        double sum = start(m);
        for (size_t k = 0; k < z->k; k++)
            sum = gather(m, sum, term(m, a[k], b[k * z->n + j]));
        c[j] = finish(m, sum);
    }
}

/* ---- the gradient ---- */

/* Data for the slopes of one result: its sum, and the share of a term that equals the extreme. */
typedef struct facts {
    double sum, count;
} facts;

static facts facts_of(const math *m, const takt_semiring_sizes *z, const double *a, const double *b)
{
    facts f = {start(m), 0};
    for (size_t k = 0; k < z->k; k++)
        f.sum = gather(m, f.sum, term(m, a[k], b[k * z->n]));
    for (size_t k = 0; k < z->k; k++)
        f.count += term(m, a[k], b[k * z->n]) == f.sum;
    f.count = rounded(m, 1 / f.count);
    return f;
}

static double slope(const math *m, const facts *f, double a, double b)
{
    const double t = term(m, a, b);
    switch (m->semiring) {
    case TAKT_MAX_MIN: return t == f->sum ? f->count * (a < b ? 1 : a == b ? 0.5 : 0) : 0;
    case TAKT_MAX_MUL: return t == f->sum ? rounded(m, f->count * b) : 0;
    case TAKT_MIN_ADD: return t == f->sum ? f->count : 0;
    default: return f->sum < 1 && t > 0 ? 1 : 0;
    }
}

/* x * (1 - a * b), where t is x * b. */
static double less(const math *m, double x, double t, double a)
{
    return fused(m, -t, a, x);
}

static uint32_t larger_bits(uint32_t most, double x, uint32_t mask)
{
    const float value = (float)x;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits &= mask;
    return bits > most ? bits : most;
}

/* As the contract of the kernel has it; f64 has range enough. */
static takt_semiring_range range_of(const math *m, const takt_semiring_sizes *z,
                                    const takt_semiring_grad *g)
{
    uint32_t truth = 0, dy = 0;
    if (!m->is_f32 || m->semiring != TAKT_NOISY_OR)
        return (takt_semiring_range){1, 1, 1, 1};
    for (size_t i = 0; i < z->k; i++)
        truth = larger_bits(truth, g->a[i], UINT32_MAX);
    for (size_t i = 0; i < z->k * z->n; i++)
        truth = larger_bits(truth, g->b[i], UINT32_MAX);
    for (size_t i = 0; i < z->n; i++)
        dy = larger_bits(dy, g->dy[i], INT32_MAX);
    return takt_semiring_range_of(truth, dy, z->n);
}

/* Adds column j: the product of all factors but one is the product of those before it and those
 * after it. */
static void add_noisy(const math *m, const takt_semiring_sizes *z, const takt_semiring_grad *g,
                      const takt_semiring_range *range, size_t j)
{
    const double *b = g->b + j;
    double part = range->first;
    for (size_t k = 0; k < z->k; k++) {
        g->room[k] = part;
        part = less(m, part, rounded(m, part * b[k * z->n]), g->a[k]);
    }
    part = rounded(m, g->dy[j] * range->last);
    for (size_t k = z->k; k-- > 0;) {
        const double t = rounded(m, part * b[k * z->n]);
        g->da[k] = fused(m, g->room[k], t, g->da[k]);
        part = less(m, part, t, g->a[k]);
    }
}

void takt_semiring_grad_row(const takt_semiring_math *m, const takt_semiring_sizes *z,
                            const takt_semiring_grad *g)
{
    const takt_semiring_range range = range_of(m, z, g);
    for (size_t k = 0; k < z->k; k++)
        g->da[k] = 0;
    for (size_t j = 0; j < z->n; j++) {
        if (m->semiring == TAKT_NOISY_OR) {
            add_noisy(m, z, g, &range, j);
            continue;
        }
        const facts f = facts_of(m, z, g->a, g->b + j);
        for (size_t k = 0; k < z->k; k++)
            g->da[k] = fused(m, g->dy[j], slope(m, &f, g->a[k], g->b[k * z->n + j]), g->da[k]);
    }
    for (size_t k = 0; m->semiring == TAKT_NOISY_OR && k < z->k; k++)
        g->da[k] = rounded(m, rounded(m, g->da[k] * range.first_back) * range.last_back);
}
