/* leaves.h - the op records that graphs themselves need: sources of values, and selecting one of
 * several results. They are in ir/leaf/. */
#ifndef TAKT_IR_LEAVES_H
#define TAKT_IR_LEAVES_H

#include "base/inner.h"
#include "ir/op.h"

TAKT_INNER extern const takt_op takt_op_constant, takt_op_get;
extern const takt_op takt_op_input, takt_op_state;

#endif
