/* random.h - random numbers for ONNX operators. */
#ifndef TAKT_IO_ONNX_RANDOM_H
#define TAKT_IO_ONNX_RANDOM_H

#include "io/onnx/adapt.h"

/* Seed, step and base for one of Takt's random ops, and a separate stream. */
TAKT_MUST_USE takt_status takt_onnx_random(takt_call *c, takt_id in[3], takt_named_attr *stream);

#endif
