/* spread.h - results with channels first, from tiles of positions by channels. */
#ifndef TAKT_BACKEND_CPU_CONV_SPREAD_H
#define TAKT_BACKEND_CPU_CONV_SPREAD_H

#include <stddef.h>

#include "backend/cpu/cpu.h"

/* Rows [row, row + rows) of all positions of a batch and channels [column, column + columns). */
typedef struct takt_conv_tile {
    const float *data; /* [rows][columns] */
    size_t row, rows, column, columns;
} takt_conv_tile;

/* Writes a tile to y, [batch][channels][positions]. */
void takt_conv_spread(const takt_conv_tile *t, size_t channels, size_t positions, float *y);
/* The output of a convolution's step: `first`, which is its result with channels first, or, if that
 * is TAKT_NONE, the result of p->group. */
TAKT_MUST_USE takt_status takt_conv_output(takt_planner *p, takt_id first);

#endif
