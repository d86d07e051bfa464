/* cut_work.c - products are cut for threads by rows or by columns, as their weights lie. */
#include "test.h"

#include "backend/cpu/cut.h"

int main(void)
{
    /* 32 rows by 11 panels for two threads: 6 and 5 panels are no even shares, but each reads half
     * of the weights. That counts where they come from far away. */
    const takt_cut_work work = {32, 11, 8, 2};
    const takt_cut far = takt_cpu_cut(&work, 2), near = takt_cpu_cut_of(&work, 2, 400e3),
                   large = takt_cpu_cut_of(&work, 2, 4e6);
    EXPECT(far.rows == 1 && far.columns == 2, "%zu x %zu", far.rows, far.columns);
    EXPECT(near.rows == 2 && near.columns == 1, "%zu x %zu", near.rows, near.columns);
    EXPECT(large.rows == far.rows && large.columns == far.columns, "%zu x %zu", large.rows,
           large.columns);
    const takt_cut_work one = {1, 11, 8, 2}; /* a row is never cut */
    const takt_cut row = takt_cpu_cut_of(&one, 2, 400e3);
    EXPECT(row.rows == 1 && row.columns == 2, "%zu x %zu", row.rows, row.columns);
    /* 28 lines of 28 by 8 panels: as lines of one position they would be too few to cut. */
    const takt_cut_work image = {28, 8, 1, 1};
    const takt_cut lines = takt_cpu_cut_lines(&image, 2, 28),
                   points = takt_cpu_cut_lines(&image, 2, 1), usual = takt_cpu_cut(&image, 2);
    EXPECT(lines.rows == 2 && lines.columns == 1, "%zu x %zu", lines.rows, lines.columns);
    EXPECT(points.rows == usual.rows && points.columns == usual.columns, "%zu x %zu", points.rows,
           points.columns);
    EXPECT(usual.rows == 1 && usual.columns == 2, "%zu x %zu", usual.rows, usual.columns);
    /* Seven lines for sixteen threads: a line may be a task of its own. */
    const takt_cut few = takt_cpu_cut_lines(&(takt_cut_work){7, 2, 1, 1}, 16, 7);
    EXPECT(few.rows == 7 && few.columns == 2, "%zu x %zu", few.rows, few.columns);
    return test_done();
}
