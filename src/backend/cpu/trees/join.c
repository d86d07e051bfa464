/* join.c - sums, least and greatest of the weights of leaves. */
#include "backend/cpu/trees/join.h"

#include <string.h>

void takt_trees_open(const takt_trees_sums *s)
{
    const size_t count = s->rows * s->targets;
    memset(s->sum, 0, count * sizeof *s->sum);
    memset(s->has, 0, s->form->is_dense ? 0 : count);
}

static inline double weight_at(const takt_trees_packed *p, size_t i, const bool is_f64)
{
    return is_f64 ? p->weight_f64[i] : (double)p->weight[i];
}

/* One target: a chain of additions for each row. */
static inline void add_one(const takt_trees_sums *s, const takt_trees_found *f, const bool is_f64)
{
    for (size_t r = 0; s->rows < 4 && r < s->rows; r++) {
        double sum = s->sum[r];
        for (size_t t = 0; t < f->trees; t++)
            sum += weight_at(s->packed, f->leaf[t * f->stride + r], is_f64);
        s->sum[r] = sum;
    }
    for (size_t t = 0; s->rows >= 4 && t < f->trees; t++)
        for (size_t r = 0; r < s->rows; r++)
            s->sum[r] += weight_at(s->packed, f->leaf[t * f->stride + r], is_f64);
}

/* Every leaf has all targets, and they are added. */
static inline void add_dense(const takt_trees_sums *s, const takt_trees_found *f, const bool is_f64)
{
    const size_t targets = s->targets;
    for (size_t r = 0; r < s->rows; r++) {
        double *restrict sum = s->sum + r * targets;
        for (size_t t = 0; t < f->trees; t++) {
            const size_t at = f->leaf[t * f->stride + r] * targets;
            for (size_t k = 0; k < targets; k++)
                sum[k] += weight_at(s->packed, at + k, is_f64);
        }
    }
}

static void add_any(const takt_trees_sums *s, const takt_trees_found *f, bool adds, bool is_first)
{
    const takt_trees_packed *p = s->packed;
    for (size_t r = 0; r < s->rows; r++)
        for (size_t t = 0; t < f->trees; t++) {
            const size_t at = f->leaf[t * f->stride + r];
            const size_t first = p->start != NULL ? p->start[at] : at * s->targets;
            const size_t end = p->start != NULL ? p->start[at + 1] : first + s->targets;
            for (size_t i = first; i < end; i++) {
                const size_t k = r * s->targets + (p->target != NULL ? p->target[i] : i - first);
                const double w = p->weight != NULL ? (double)p->weight[i] : p->weight_f64[i];
                const bool has = s->form->is_dense ? !is_first || t > 0 : s->has[k];
                s->sum[k] = adds ? s->sum[k] + w : takt_trees_join(s->aggregate, s->sum[k], w, has);
                s->has[k] = true;
            }
        }
}

void takt_trees_add(const takt_trees_sums *s, const takt_trees_found *found, bool is_first)
{
    const bool adds = s->aggregate == TAKT_TREES_SUM || s->aggregate == TAKT_TREES_AVERAGE;
    const bool is_f64 = s->form->is_f64;
    if (!s->form->is_dense || !adds)
        add_any(s, found, adds, is_first);
    else if (s->targets == 1 && is_f64)
        add_one(s, found, true);
    else if (s->targets == 1)
        add_one(s, found, false);
    else if (is_f64)
        add_dense(s, found, true);
    else
        add_dense(s, found, false);
}

void takt_trees_close(const takt_trees_sums *s, double none, takt_dtype dtype, void *y,
                      size_t first)
{
    const size_t count = s->rows * s->targets;
    const double trees = (double)s->form->trees;
    for (size_t i = 0; i < count; i++) {
        const bool has = s->form->is_dense ? s->form->trees > 0 : s->has[i];
        const double v = !has                                 ? none
                         : s->aggregate == TAKT_TREES_AVERAGE ? s->sum[i] / trees
                                                              : s->sum[i];
        takt_dtype_put_f(dtype, y, first + i, v);
    }
}
