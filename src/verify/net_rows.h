/* net_rows.h - a matrix that grows row by row. */
#ifndef TAKT_VERIFY_NET_ROWS_H
#define TAKT_VERIFY_NET_ROWS_H

#include "verify/net_build.h"

typedef struct takt_net_rows {
    takt_net_builder *b;
    size_t *starts;
    uint32_t *columns;
    double *values;
    size_t at, room, row;
} takt_net_rows;

/* `terms`: of all rows together, at most. */
TAKT_MUST_USE takt_status takt_net_rows_begin(takt_net_rows *m, takt_net_builder *b, size_t count,
                                              size_t terms);
/* An entry of the current row. */
void takt_net_rows_put(takt_net_rows *m, size_t column, double value);
/* The row is complete. */
void takt_net_rows_next(takt_net_rows *m);
/* As one part of a new node; dense where every row has every column in order. */
TAKT_MUST_USE takt_status takt_net_rows_end(takt_net_rows *m, const takt_node *n, uint32_t source,
                                            takt_net_value *out);

#endif
