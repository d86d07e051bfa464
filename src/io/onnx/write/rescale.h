/* rescale.h - fixed-point scaling in ONNX's integers (op/rescale.c). */
#ifndef TAKT_IO_ONNX_WRITE_RESCALE_H
#define TAKT_IO_ONNX_WRITE_RESCALE_H

#include "io/onnx/write/emit.h"

/* Scales x (i32) by inputs `multiplier` and `shift` of the node; the shift must be constant. Names
 * the i32 result `out` and returns it. */
const char *takt_emit_rescaled(takt_emit *e, const char *x, size_t multiplier, size_t shift,
                               const char *out);

#endif
