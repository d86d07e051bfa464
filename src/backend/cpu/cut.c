/* cut.c - chooses the grid of tasks of a product. */
#include "backend/cpu/cut.h"

/* Reading a panel from the last level of cache takes as long as multiplying about this many rows
 * with it: 3 on a Neoverse V1, 19 on an AVX-512 Xeon whose cores share 300 GB/s. */
enum { PANEL_ROWS = 10, ROWS_LEAST = 4 };
/* And from a cache of the thread's own, where so many bytes stay. */
enum { NEAR_PANEL_ROWS = 3, NEAR_BYTES = 512 << 10 };
enum { OWN_BYTES = 1 << 20 }; /* that a thread finds in a cache of its own when it comes back */
enum { MANY_THREADS = 8 };    /* of which some are slower than others */
enum { LEAST_US = 5 };        /* that a task is worth where it need not be one */
#define WAITING 0.75          /* for the last task, as a part of it */

static size_t divided(size_t n, size_t by)
{
    return (n + by - 1) / by;
}

static takt_cut cut(const takt_cut_work *w, size_t tasks, double panel_rows, size_t rows_least)
{
    const size_t most_rows = w->rows > rows_least ? divided(w->rows, rows_least) : 1;
    const size_t most_columns = w->panels < 1 ? 1 : w->panels;
    takt_cut best = {1, 1, w->tile, false};
    double least = 0;
    for (size_t columns = 1; columns <= tasks && columns <= most_columns; columns++) {
        const size_t rows = tasks / columns < most_rows ? tasks / columns : most_rows;
        const double r = (double)divided(w->rows, rows), u = (double)divided(w->panels, columns);
        const double cost = u * (r + panel_rows) + r * w->per_row;
        if (columns == 1 || cost < least) {
            least = cost;
            best.rows = rows;
            best.columns = columns;
        }
    }
    if (w->rows < 4 * best.rows * w->tile)
        best.grain = 1; /* an even share is worth more than full tiles */
    return best;
}

takt_cut takt_cpu_cut(const takt_cut_work *w, size_t tasks)
{
    return cut(w, tasks, PANEL_ROWS, ROWS_LEAST);
}

takt_cut takt_cpu_cut_of(const takt_cut_work *w, size_t tasks, double bytes)
{
    return cut(w, tasks, bytes <= NEAR_BYTES ? NEAR_PANEL_ROWS : PANEL_ROWS, ROWS_LEAST);
}

takt_cut takt_cpu_cut_lines(const takt_cut_work *w, size_t tasks, size_t positions)
{
    const size_t each = positions > 0 ? positions : 1;
    return cut(w, tasks, (double)PANEL_ROWS / (double)each, divided(ROWS_LEAST, each));
}

/* Several where a slow thread would hold up the others for long, and where small tasks cost little.
 * Weights that stay in a thread's own cache are its own, though. Few rows are as fast as memory is
 * read, which likes long runs: four tasks for each of two threads took 1.2 times as long as one. */
size_t takt_cpu_tasks_each(size_t m, size_t rows, size_t threads, double bytes)
{
    enum { FEW_ROWS = 16 };
    if (bytes >= (double)OWN_BYTES * (double)threads && m < 4 * rows)
        return m >= FEW_ROWS ? 4 : 1;
    return m >= 4 * threads * rows ? 2 : 1;
}

size_t takt_cpu_tasks_most(size_t each, size_t threads)
{
    return threads >= MANY_THREADS ? threads : each * threads;
}

/* What a task takes, in units of work, if `rows` and `columns` are made of a thread's share. */
static double task_cost(const takt_cut_work *w, const takt_cut *c, double bytes, size_t rows,
                        size_t columns)
{
    enum { STRIP = 3 }; /* what a strip takes beside its rows: reading B once more */
    const size_t r = divided(w->rows, c->rows * rows), strips = divided(r, w->tile);
    const size_t u = divided(w->panels, c->columns * columns);
    const double height = (double)divided(r, strips);
    const bool is_near = (double)u * bytes / (double)w->panels <= OWN_BYTES;
    const double reading = is_near ? PANEL_ROWS / (double)rows : PANEL_ROWS;
    return (double)u * ((double)strips * (height + STRIP) + reading) + (double)r * w->per_row;
}

/* And in microseconds, with taking it. */
static double task_us(const takt_cut_work *w, const takt_cut *c, const takt_cut_pace *pace,
                      size_t rows, size_t columns)
{
    static const double flops_per_us = 6e4, near_per_us = 4e4, far_per_us = 1e4, taking_us = 0.3;
    const bool is_near = pace->bytes < (double)OWN_BYTES * (double)pace->threads;
    const double by_flops = pace->flops / flops_per_us;
    const double by_bytes = pace->bytes / (is_near ? near_per_us : far_per_us);
    const double all_us = by_flops > by_bytes ? by_flops : by_bytes;
    const double all = (double)(c->rows * c->columns) * task_cost(w, c, pace->bytes, 1, 1);
    return taking_us + all_us * task_cost(w, c, pace->bytes, rows, columns) / all;
}

takt_cut takt_cpu_cut_finer(const takt_cut_work *w, takt_cut c, const takt_cut_pace *pace)
{
    enum { MOST = 8 };
    if (pace->threads < MANY_THREADS || c.rows * c.columns < 2 || w->rows == 0 || w->panels == 0)
        return c;
    takt_cut best = c;
    double least = task_us(w, &c, pace, 1, 1) * (1 + WAITING);
    for (size_t i = 2; i < 2 * MOST; i++) {
        const size_t parts = i / 2 + 1, rows = i % 2 ? parts : 1, columns = i % 2 ? 1 : parts;
        if (c.rows * rows > w->rows || c.columns * columns > w->panels)
            continue;
        const double us = task_us(w, &c, pace, rows, columns);
        const double all = us * ((double)parts + WAITING);
        if (us >= LEAST_US && all < least) {
            least = all;
            best = (takt_cut){c.rows * rows, c.columns * columns, 1, rows > 1};
        }
    }
    return best;
}

takt_cut takt_cpu_cut_products(const takt_cut_work *w, size_t products, const takt_cut_pace *pace)
{
    enum { MOST = 8, ENOUGH = 4 };
    static const double gain = 0.9; /* at least: packing apart from multiplying costs something */
    const takt_cut whole = {1, 1, w->tile, false};
    takt_cut best = whole;
    if (pace->threads < 2 || products >= ENOUGH * pace->threads || w->panels == 0)
        return whole;
    const double waiting = pace->threads < MANY_THREADS ? 0 : WAITING;
    double least = 0;
    for (size_t parts = 1; parts <= MOST && parts <= w->rows; parts++) {
        const double us = task_us(w, &whole, pace, parts, 1);
        const double all = us * ((double)divided(products * parts, pace->threads) + waiting);
        if (parts == 1 || (us >= LEAST_US && all < least)) {
            least = parts == 1 ? all * gain : all;
            best = (takt_cut){parts, 1, 1, true};
        }
    }
    return best.rows > 1 ? best : whole;
}
