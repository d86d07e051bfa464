/* suppress.h - non-maximum suppression with a fixed number of results. */
#ifndef TAKT_IO_TFLITE_SUPPRESS_H
#define TAKT_IO_TFLITE_SUPPRESS_H

#include "io/tflite/adapt.h"

typedef struct takt_tfl_suppress {
    takt_id boxes;  /* [n, 4]: y and x of two corners, the lower ones first */
    takt_id scores; /* [n]; -inf for boxes to ignore */
    int64_t n, most;
    double overlap;
    bool is_strict; /* boxes with exactly this overlap stay */
} takt_tfl_suppress;

/* Chosen rows, best first: [most] each; `is_there` is false for unused entries. */
typedef struct takt_tfl_chosen {
    takt_id index, score, is_there; /* i32, f32, bool */
} takt_tfl_chosen;

takt_tfl_chosen takt_tfl_suppressed(takt_tfl_call *c, const takt_tfl_suppress *s);
/* Column `k` of boxes [n, 4]: [n]. */
takt_id takt_tfl_edge(takt_tfl_call *c, takt_id boxes, int64_t k);

#endif
