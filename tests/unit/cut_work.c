/* cut_work.c - products are divided among threads by rows or by columns, depending on their
 * weights. */
#include "test.h"

#include "backend/cpu/cut.h"

/* 512^3 in panels of 16 columns for sixteen threads: each has several consecutive tasks of its own
 * columns. */
static void finer(void)
{
    const takt_cut_work work = {512, 32, 14, 2};
    const takt_cut_pace many = {16, 2.7e8, 1e6}, few = {2, 2.7e8, 1e6}, small = {16, 1e6, 1e6};
    const takt_cut each = takt_cpu_cut_of(&work, 16, 1e6);
    const takt_cut fine = takt_cpu_cut_finer(&work, each, &many);
    EXPECT_EQ(each.rows * each.columns, 16);
    EXPECT(!each.is_tall);
    EXPECT(fine.columns == each.columns && fine.rows > each.rows && fine.is_tall, "%zu x %zu",
           fine.rows, fine.columns);
    for (size_t i = 0; i < fine.rows * fine.columns; i++)
        EXPECT(takt_cut_column(&fine, i) == i / fine.rows && takt_cut_row(&fine, i) < fine.rows);
    const takt_cut even = takt_cpu_cut_finer(&work, takt_cpu_cut_of(&work, 2, 1e6), &few);
    EXPECT(even.rows * even.columns == 2, "two threads are as fast as each other");
    const takt_cut short_work = takt_cpu_cut_finer(&work, each, &small);
    EXPECT(short_work.rows * short_work.columns == 16, "%zu x %zu", short_work.rows,
           short_work.columns);
    const takt_cut_work row = {1, 256, 14, 2}; /* has only columns to cut */
    const takt_cut_pace read = {16, 3.4e7, 6.7e7};
    const takt_cut wide = takt_cpu_cut_finer(&row, takt_cpu_cut_of(&row, 16, 6.7e7), &read);
    EXPECT(wide.rows == 1 && wide.columns > 16, "%zu columns", wide.columns);
    const takt_cut_work none = {0, 256, 14, 2}; /* weights, but nothing to multiply them with */
    const takt_cut empty = takt_cpu_cut_finer(&none, takt_cpu_cut_of(&none, 16, 6.7e7), &read);
    EXPECT(empty.rows == 1 && empty.columns == 16, "%zu x %zu", empty.rows, empty.columns);
}

/* Twelve products for sixteen threads, three for two; and products that already divide evenly or
 * are too short. */
static void products(void)
{
    const takt_cut_work head = {128, 8, 14, 2};
    const takt_cut_pace sixteen = {16, 2.1e6, 3.3e4}, two = {2, 2.1e6, 3.3e4},
                        short_one = {16, 2e5, 3e4};
    EXPECT_IS(takt_cpu_cut_products(&head, 12, &sixteen).rows, >=, 4);
    EXPECT_EQ(takt_cpu_cut_products(&head, 3, &two).rows, 2);
    EXPECT_EQ(takt_cpu_cut_products(&head, 12, &two).rows, 1);
    EXPECT_EQ(takt_cpu_cut_products(&head, 64, &sixteen).rows, 1);
    EXPECT_EQ(takt_cpu_cut_products(&head, 12, &short_one).rows, 1);
    EXPECT_EQ(takt_cpu_cut_products(&(takt_cut_work){128, 0, 14, 2}, 12, &sixteen).rows, 1);
    EXPECT_EQ(takt_cpu_cut_products(&(takt_cut_work){0, 8, 14, 2}, 12, &sixteen).rows, 1);
    EXPECT_EQ(takt_cpu_cut_products(&head, 12, &(takt_cut_pace){1, 2.1e6, 3.3e4}).rows, 1);
}

int main(void)
{
    finer();
    products();
    /* 32 rows by 11 panels for two threads: 6 and 5 panels are not even shares, but each reads half
     * of the weights. That matters if they come from memory. */
    const takt_cut_work work = {32, 11, 8, 2};
    const takt_cut far = takt_cpu_cut(&work, 2), near = takt_cpu_cut_of(&work, 2, 400e3),
                   large = takt_cpu_cut_of(&work, 2, 4e6);
    EXPECT(far.rows == 1 && far.columns == 2, "%zu x %zu", far.rows, far.columns);
    EXPECT(near.rows == 2 && near.columns == 1, "%zu x %zu", near.rows, near.columns);
    EXPECT(large.rows == far.rows && large.columns == far.columns, "%zu x %zu", large.rows,
           large.columns);
    /* 32 rows by 8 panels of AMX: if only rows were split, each of eight threads would read all
     * weights, for four rows at a time. Two threads pack half of the rows each. */
    const takt_cut_work amx = {32, 8, 32, 2};
    const takt_cut eight = takt_cpu_cut_tiles(&amx, 8, 400e3),
                   two = takt_cpu_cut_tiles(&amx, 2, 4e5);
    EXPECT(eight.rows == 2 && eight.columns == 4, "%zu x %zu", eight.rows, eight.columns);
    EXPECT(two.rows == 2 && two.columns == 1, "%zu x %zu", two.rows, two.columns);
    const takt_cut away = takt_cpu_cut_tiles(&amx, 8, 4e6), as_f32 = takt_cpu_cut(&amx, 8);
    EXPECT_EQ(away.rows, as_f32.rows);
    EXPECT_EQ(away.columns, as_f32.columns);
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
    /* Seven lines for sixteen threads: each line may be a task. */
    const takt_cut few = takt_cpu_cut_lines(&(takt_cut_work){7, 2, 1, 1}, 16, 7);
    EXPECT(few.rows == 7 && few.columns == 2, "%zu x %zu", few.rows, few.columns);
    return test_done();
}
