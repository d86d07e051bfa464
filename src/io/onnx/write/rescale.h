/* rescale.h - fixed-point scaling in ONNX's whole numbers (op/rescale.c). */
#ifndef TAKT_IO_ONNX_WRITE_RESCALE_H
#define TAKT_IO_ONNX_WRITE_RESCALE_H

#include "io/onnx/write/emit.h"

/* x of i32 by inputs `multiplier` and `shift` of the node, of which the shift is a constant: i32,
 * called `out`, which is returned. */
const char *takt_emit_rescaled(takt_emit *e, const char *x, size_t multiplier, size_t shift,
                               const char *out);

#endif
