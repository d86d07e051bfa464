/* meet.h - broadcasting of sizes found at run time: any of them may be 1. */
#ifndef TAKT_IO_ONNX_MEET_H
#define TAKT_IO_ONNX_MEET_H

#include "io/onnx/adapt.h"

/* A size that was made from two others in a room: each of them is 1 or equal to it. */
struct takt_onnx_joint {
    const takt_onnx_joint *next;
    const takt_room *room;
    bool has_gate;
    takt_id gate;
    takt_dim whole, part[2];
};

/* A size, and the scalar of i64 that it is when the model runs. */
typedef struct takt_onnx_side {
    takt_id size;
    takt_dim dim;
} takt_onnx_side;

/* The size that both broadcast to; 0 unless a run finds both, or one and the other is a number. */
takt_dim takt_onnx_join(takt_call *c, const takt_onnx_side *a, const takt_onnx_side *b);
/* x, whose axis is 1 or `whole`, broadcast to `whole`. */
takt_id takt_onnx_stretch(takt_call *c, takt_id x, int axis, takt_dim whole);
/* Broadcasts the inputs of an element-wise operator whose sizes are found at run time to the size
 * of the result. */
TAKT_MUST_USE takt_status takt_onnx_meet(takt_call *c);

#endif
