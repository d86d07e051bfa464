/* cut.c - chooses the grid of tasks of a product. */
#include "backend/cpu/cut.h"

/* Reading a panel from the last level of cache takes as long as multiplying about this many rows
 * with it: 3 on a Neoverse V1, 19 on an AVX-512 Xeon whose cores share 300 GB/s. */
enum { PANEL_ROWS = 10, ROWS_LEAST = 4 };
/* And from a cache of the thread's own, where so many bytes stay. */
enum { NEAR_PANEL_ROWS = 3, NEAR_BYTES = 512 << 10 };

static size_t divided(size_t n, size_t by)
{
    return (n + by - 1) / by;
}

static takt_cut cut(const takt_cut_work *w, size_t tasks, double panel_rows, size_t rows_least)
{
    const size_t most_rows = w->rows > rows_least ? divided(w->rows, rows_least) : 1;
    const size_t most_columns = w->panels < 1 ? 1 : w->panels;
    takt_cut best = {1, 1, w->tile};
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
 * read, which likes long runs: four tasks for each of two threads took 1.2 times as long as one,
 * but among sixteen one was seen to be half as fast as the others. */
size_t takt_cpu_tasks_each(size_t m, size_t rows, size_t threads, double bytes)
{
    enum { OWN_BYTES = 1 << 20, FEW_ROWS = 16, MANY_THREADS = 8 };
    if (bytes >= (double)OWN_BYTES * (double)threads && m < 4 * rows)
        return m >= FEW_ROWS ? 4 : threads >= MANY_THREADS ? 2 : 1;
    return m >= 4 * threads * rows ? 2 : 1;
}
