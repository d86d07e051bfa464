/* replace.h - one element of a list replaced, as TensorFlow's converter writes it. */
#ifndef TAKT_IO_TFLITE_REPLACE_H
#define TAKT_IO_TFLITE_REPLACE_H

#include "io/tflite/adapt.h"

/* For a CONCATENATION: list[:at], an element, list[at + 1:]. */
typedef struct takt_tfl_replaced {
    takt_id list, element, at; /* element: one row; at: a scalar */
} takt_tfl_replaced;

/* Whether a CONCATENATION is of that form, and its slices have sizes that depend on values: nothing
 * else can be made of them. */
bool takt_tfl_replaces(takt_tfl_call *c, takt_tfl_replaced *what);
/* Whether a SLICE is one of the two: its result has no size, and is not made. */
bool takt_tfl_is_part(takt_tfl_call *c);

#endif
