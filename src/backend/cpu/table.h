/* table.h - rows of a constant table that a product reads as its columns, out of the same panels: a
 * table that is both embedding and head is held once. */
#ifndef TAKT_BACKEND_CPU_TABLE_H
#define TAKT_BACKEND_CPU_TABLE_H

#include "backend/cpu/cpu.h"
#include "kernel/pack/panels.h"

typedef struct takt_table {
    takt_panels panels;
    size_t rows, width; /* of the table */
    size_t bytes;       /* of an element: 2 or 4 */
} takt_table;

/* Adds the panels of `product` (takt_product_of_rows) to the step. */
TAKT_MUST_USE takt_status takt_table_add(takt_planner *p, takt_id product, takt_table *t,
                                         size_t *index);
/* Row `at`, from the panels at `from`. */
void takt_table_row(const takt_table *t, const void *from, size_t at, void *to);

#endif
