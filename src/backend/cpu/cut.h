/* cut.h - how a product of rows by panels of weights is cut into tasks for threads. */
#ifndef TAKT_BACKEND_CPU_CUT_H
#define TAKT_BACKEND_CPU_CUT_H

#include <stddef.h>

/* The unit of work is one row by one panel. */
typedef struct takt_cut_work {
    size_t rows, panels;
    size_t tile;    /* rows of a full tile of the product */
    double per_row; /* reading, gathering and packing a row, which every task does for its rows */
} takt_cut_work;

typedef struct takt_cut {
    size_t rows, columns; /* tasks = rows * columns */
    size_t grain;         /* rows that stay together */
} takt_cut;

/* Tasks of equal size that do least beside multiplying: each reads all weights of its columns and
 * all rows of its own. At most `tasks` of them. */
takt_cut takt_cpu_cut(const takt_cut_work *w, size_t tasks);
/* The same for `bytes` of weights in all: few stay in a thread's own cache. */
takt_cut takt_cpu_cut_of(const takt_cut_work *w, size_t tasks, double bytes);
/* The same where a row is a line of so many of them, which stay together. */
takt_cut takt_cpu_cut_lines(const takt_cut_work *w, size_t tasks, size_t positions);

/* Tasks for each thread of a product of `m` rows with `bytes` of weights, `rows` being those of a
 * full tile. */
size_t takt_cpu_tasks_each(size_t m, size_t rows, size_t threads, double bytes);

#endif
