/* cut.c - chooses the grid of tasks of a product. */
#include "backend/cpu/cut.h"

#include "backend/cpu/machine.h"

enum { ROWS_LEAST = 4 };
enum { MANY_THREADS = 8 }; /* from here on, some are slower than others */
enum { MOST = 8 };         /* tasks for each, or parts of a product */
enum { LEAST_US = 5 };     /* least time of an optional task */
#define WAITING 0.75       /* for the last task, as a fraction of it */

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
        best.grain = 1; /* an even split matters more than full tiles */
    return best;
}

takt_cut takt_cpu_cut(const takt_cut_work *w, size_t tasks)
{
    return cut(w, tasks, takt_cpu_cut_figures.panel_rows, ROWS_LEAST);
}

takt_cut takt_cpu_cut_of(const takt_cut_work *w, size_t tasks, double bytes)
{
    return cut(w, tasks,
               bytes <= takt_cpu_cut_figures.near_bytes ? takt_cpu_cut_figures.near_panel_rows
                                                        : takt_cpu_cut_figures.panel_rows,
               ROWS_LEAST);
}

takt_cut takt_cpu_cut_tiles(const takt_cut_work *w, size_t tasks, double bytes)
{
    const takt_cut_work packed = {w->rows, w->panels, w->tile, 3};
    return bytes <= takt_cpu_cut_figures.near_bytes
               ? cut(&packed, tasks, takt_cpu_cut_figures.panel_rows, divided(w->tile, 2))
               : takt_cpu_cut(w, tasks);
}

takt_cut takt_cpu_cut_lines(const takt_cut_work *w, size_t tasks, size_t positions)
{
    const size_t each = positions > 0 ? positions : 1;
    return cut(w, tasks, takt_cpu_cut_figures.panel_rows / (double)each, divided(ROWS_LEAST, each));
}

/* Several where a slow thread would delay the others for long, and where small tasks cost little.
 * Weights that stay in a thread's own cache should not move to another thread, though. Few rows are
 * limited by memory reads, which prefer long runs: four tasks for each of two threads took 1.2
 * times as long as one. */
size_t takt_cpu_tasks_each(size_t m, size_t rows, size_t threads, double bytes)
{
    enum { FEW_ROWS = 16 };
    if (bytes >= takt_cpu_cut_figures.own_bytes * (double)threads && m < 4 * rows)
        return m >= FEW_ROWS ? 4 : 1;
    return m >= 4 * threads * rows ? 2 : 1;
}

size_t takt_cpu_tasks_most(size_t each, size_t threads)
{
    return threads >= MANY_THREADS ? threads : each * threads;
}

/* Whether weights stay in the threads' own caches from run to run. */
static bool is_kept(const takt_cut_pace *pace)
{
    return pace->bytes < takt_cpu_cut_figures.own_bytes * (double)pace->threads;
}

/* The cost of a task, in units of work. Tasks of the same columns follow each other, so weights
 * that fit a thread's own cache are fetched from far away only for the first. */
static double task_cost(const takt_cut_work *w, const takt_cut *c, const takt_cut_pace *pace)
{
    enum { STRIP = 3 };              /* overhead of a strip: reading B again */
    static const double alone = 0.3; /* a panel without a neighbour, if it is in cache */
    const size_t r = divided(w->rows, c->rows), strips = divided(r, w->tile);
    const size_t u = divided(w->panels, c->columns), tasks = c->rows * c->columns;
    const double height = (double)divided(r, strips), each = (double)tasks / (double)pace->threads;
    const bool is_own = is_kept(pace);
    const double multiplying = (double)u + (u % 2 && is_own ? alone : 0);
    const double reading = (double)u * takt_cpu_cut_figures.panel_rows;
    const bool is_near =
        is_own && (double)u * pace->bytes / (double)w->panels <= takt_cpu_cut_figures.own_bytes;
    const double same = !is_near || each < 1 ? 1 : each < (double)c->rows ? each : (double)c->rows;
    return multiplying * (double)strips * (height + STRIP) + reading / same +
           (double)r * w->per_row;
}

/* The same in microseconds, with the overhead of taking it, if all tasks of `whole` together take
 * the time of `pace`. */
static double task_us(const takt_cut_work *w, const takt_cut *c, const takt_cut *whole,
                      const takt_cut_pace *pace)
{
    const double by_flops = pace->flops / takt_cpu_cut_figures.flops_per_us;
    const double by_bytes = pace->bytes / (is_kept(pace) ? takt_cpu_cut_figures.near_per_us
                                                         : takt_cpu_cut_figures.far_per_us);
    const double all_us = by_flops > by_bytes ? by_flops : by_bytes;
    const double all = (double)(whole->rows * whole->columns) * task_cost(w, whole, pace);
    return takt_cpu_cut_figures.taking_us + all_us * task_cost(w, c, pace) / all;
}

/* Time until the last of this many tasks is done. */
static double until_end(double us, size_t tasks, const takt_cut_pace *pace)
{
    const double waiting = pace->threads < MANY_THREADS ? 0 : WAITING;
    return us * ((double)divided(tasks, pace->threads) + waiting);
}

takt_cut takt_cpu_cut_finer(const takt_cut_work *w, takt_cut c, const takt_cut_pace *pace)
{
    const double loss = is_kept(pace) ? 1.2 : 1.3; /* upper limit, if all were equally fast */
    const size_t coarse = c.rows * c.columns, most = MOST * pace->threads;
    if (pace->threads < MANY_THREADS || coarse < 2 || w->rows == 0 || w->panels == 0)
        return c;
    takt_cut best = c;
    const double even = task_us(w, &c, &c, pace) * (double)divided(coarse, pace->threads);
    double least = until_end(task_us(w, &c, &c, pace), coarse, pace);
    for (size_t columns = 1; columns <= most && columns <= w->panels; columns++)
        for (size_t rows = 1; rows <= most / columns && rows <= w->rows; rows++) {
            const takt_cut try = {rows, columns, 1, true};
            if (divided(w->rows, divided(w->rows, rows)) != rows ||
                divided(w->panels, divided(w->panels, columns)) != columns)
                continue; /* fewer would be as large */
            const double us = task_us(w, &try, &c, pace);
            const double all = until_end(us, rows * columns, pace);
            if (us * (double)divided(rows * columns, pace->threads) > loss * even)
                continue;
            if ((us >= LEAST_US || rows * columns <= coarse) && all < least) {
                least = all;
                best = try;
            }
        }
    return best;
}

takt_cut takt_cpu_cut_products(const takt_cut_work *w, size_t products, const takt_cut_pace *pace)
{
    enum { ENOUGH = 4 };
    static const double gain =
        0.9; /* the time must fall to this part: packing separately has a cost */
    const takt_cut whole = {1, 1, w->tile, false};
    takt_cut best = whole;
    if (pace->threads < 2 || products >= ENOUGH * pace->threads || w->rows == 0 || w->panels == 0)
        return whole;
    double least = gain * until_end(task_us(w, &whole, &whole, pace), products, pace);
    for (size_t parts = 2; parts <= MOST && parts <= w->rows; parts++) {
        const takt_cut try = {parts, 1, 1, true};
        const double us = task_us(w, &try, &whole, pace);
        const double all = until_end(us, products * parts, pace);
        if (us >= LEAST_US && all < least) {
            least = all;
            best = try;
        }
    }
    return best;
}

/* False: shares have one row already. */
static bool lower(takt_cut *c, size_t rows)
{
    const size_t tasks = c->rows * c->columns, each = divided(rows, c->rows);
    if (each <= 1)
        return false;
    c->rows = divided(rows, each - divided(each, 8));
    c->columns = divided(tasks, c->rows);
    if (c->grain * c->rows > rows)
        c->grain = 1;
    return true;
}

void takt_cpu_fit(takt_planner *p, takt_cut *c, size_t rows, takt_cpu_set_fn *set, void *facts)
{
    const takt_cut best = *c;
    const size_t before = p->step->scratch_bytes;
    set(p, facts);
    while (!takt_planner_has_room(p)) {
        const bool is_lower = lower(c, rows);
        if (!is_lower)
            *c = best;
        p->step->scratch_bytes = before;
        set(p, facts);
        if (!is_lower)
            return;
    }
}
