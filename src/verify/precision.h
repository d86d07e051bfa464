/* precision.h - ranges of all values of a model, and the effect of a narrower type on them. */
#ifndef TAKT_VERIFY_PRECISION_H
#define TAKT_VERIFY_PRECISION_H

#include <takt/verify.h>

#include "api/model.h"

typedef enum takt_leaving { TAKT_WILL_NOT, TAKT_MAY, TAKT_DOES } takt_leaving;

/* One value of the graph that runs. */
typedef struct takt_value_row {
    takt_id id;
    double lo, hi;     /* bounds; NaN: unknown */
    double least, top; /* measured on data; NaN in either: not measured, or NaN was seen */
    bool is_measured, saw_nan;
    double small_share; /* of a constant: elements that are not 0 and become 0 */
    takt_leaving overflow, underflow, clip;
} takt_value_row;

typedef struct takt_ranges {
    takt_ctx *ctx;
    takt_arena arena;
    takt_graph *graph; /* that runs */
    takt_value_row *rows;
    size_t count;
    size_t unbounded; /* inputs about which nothing is known */
    size_t runs;
    double seconds; /* that the run of the bounds took */
} takt_ranges;

TAKT_MUST_USE takt_status takt_ranges_init(takt_ranges *r, const takt_model *m,
                                           const takt_check_options *o);
void takt_ranges_deinit(takt_ranges *r);
/* Judges every row for the precision's type: TAKT_I8 considers only quantised values. */
void takt_ranges_judge(takt_ranges *r, takt_dtype precision);

#endif
