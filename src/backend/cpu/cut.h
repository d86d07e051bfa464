/* cut.h - how a product of rows by panels of weights is cut into tasks for threads. */
#ifndef TAKT_BACKEND_CPU_CUT_H
#define TAKT_BACKEND_CPU_CUT_H

#include "base/size.h"
#include "plan/backend.h"

/* The unit of work is one row by one panel. */
typedef struct takt_cut_work {
    size_t rows, panels;
    size_t tile;    /* rows of a full tile of the product */
    double per_row; /* reading, gathering and packing a row, paid by each task that reads it */
} takt_cut_work;

/* The speedup of 16-bit products over f32. */
enum { TAKT_CUT_FASTER = 4 };

typedef struct takt_cut_pace {
    size_t threads;
    double flops; /* f32 operations that take as long as the whole product */
    double bytes; /* of the weights */
} takt_cut_pace;

typedef struct takt_cut {
    size_t rows, columns; /* tasks = rows * columns */
    size_t grain;         /* rows that stay together */
    bool is_tall;         /* tasks of the same columns follow each other, else those of a row */
} takt_cut;

/* Tasks of equal size with the least overhead, at most `tasks` of them: each reads all weights of
 * its columns and all of its rows. */
takt_cut takt_cpu_cut(const takt_cut_work *w, size_t tasks);
/* The same for `bytes` of weights in all: few stay in a thread's own cache. */
takt_cut takt_cpu_cut_of(const takt_cut_work *w, size_t tasks, double bytes);
/* The same for AMX, where half a tile takes as long with a few rows as with all of them, and which
 * is so fast that even weights in a thread's own cache are slow to reach. */
takt_cut takt_cpu_cut_tiles(const takt_cut_work *w, size_t tasks, double bytes);
/* The same where a row is a line of `positions` positions, which stay together. */
takt_cut takt_cpu_cut_lines(const takt_cut_work *w, size_t tasks, size_t positions);

/* Tasks per thread for a product of `m` rows with `bytes` of weights; `rows` is the height of a
 * full tile. */
size_t takt_cpu_tasks_each(size_t m, size_t rows, size_t threads, double bytes);

/* The maximum number of tasks, if each thread may have `each` of them: one if there are many, since
 * they are divided further. */
size_t takt_cpu_tasks_most(size_t each, size_t threads);

/* For many threads: several tasks per thread, so that a slow thread leaves some of its share to the
 * others; otherwise, or if the work is too small, `c`. */
takt_cut takt_cpu_cut_finer(const takt_cut_work *w, takt_cut c, const takt_cut_pace *pace);

/* Parts of the rows of each of several equal products, which are too few to be shared evenly;
 * `pace` is of one of them. */
takt_cut takt_cpu_cut_products(const takt_cut_work *w, size_t products, const takt_cut_pace *pace);

/* Finds tasks and scratch of p->step, by `set`, for the cut of a product of `rows` rows. A smaller
 * size of a range has the scratch of the largest: where the cut needs more, it gets about as many
 * tasks of fewer rows each. If no cut fits, it stays as it was. */
typedef void takt_cpu_set_fn(takt_planner *p, void *facts);
void takt_cpu_fit(takt_planner *p, takt_cut *c, size_t rows, takt_cpu_set_fn *set, void *facts);

static inline size_t takt_cut_row(const takt_cut *c, size_t task)
{
    return c->is_tall ? takt_remainder(task, c->rows) : takt_quotient(task, c->columns);
}

static inline size_t takt_cut_column(const takt_cut *c, size_t task)
{
    return c->is_tall ? takt_quotient(task, c->rows) : takt_remainder(task, c->columns);
}

#endif
