/* layering.h - where the boxes of a drawn graph go: rows by longest path, few crossings. */
#ifndef TAKT_MEASURE_REPORT_LAYERING_H
#define TAKT_MEASURE_REPORT_LAYERING_H

#include "base/arena.h"

typedef struct takt_place_box {
    double width;
    double x; /* of its middle */
    int row;  /* 0 is the top */
} takt_place_box;

typedef struct takt_place_edge {
    uint32_t from, to; /* boxes; row of `from` < row of `to` */
    uint32_t first;    /* index of its first bend in bends; `bend_count` of them, one a row */
    uint32_t bend_count;
} takt_place_edge;

typedef struct takt_layering {
    takt_place_box *boxes; /* the caller sets width and row */
    size_t box_count;
    takt_place_edge *edges; /* the caller sets from and to */
    size_t edge_count;
    /* results */
    double *bends; /* x where an edge passes the rows between its ends */
    size_t bend_count;
    double width; /* of the picture; the leftmost box begins at 0 */
    int rows;
} takt_layering;

/* False if out of memory. */
bool takt_layering_place(takt_layering *l, takt_arena *arena, double gap);

#endif
