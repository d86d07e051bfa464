/* split.h - inputs that one branch of an If alone reads, and whose sizes the file calls as others.
 *
 * Merged decoders have caches of that kind: before the first token they hold nothing, or anything,
 * because the other branch is taken. Such a size gets a name of its own. Where the branch becomes
 * part of the graph (gated.c) it is compared if the branch is taken; elsewhere the two names meet
 * and are one.
 */
#ifndef TAKT_IO_ONNX_SPLIT_H
#define TAKT_IO_ONNX_SPLIT_H

#include "io/onnx/adapt.h"

struct takt_onnx_split {
    takt_onnx_split *next;
    takt_id id;                  /* of the input; TAKT_NONE until it is there */
    const takt_pb_graph *branch; /* the only branch that reads it */
    int axis;
    takt_span label;
    takt_dim own, said; /* its name, and that of the file; the same if no other input has that */
};

/* Names that the file has only for inputs of one branch, and that turned out to be the same as one
 * of another input: some exporters write encoder_sequence_length_out. The model is read again, with
 * these as names of their own. Spans are of the file. */
enum { TAKT_ONNX_ALIASES = 8 };
typedef struct takt_onnx_aliases {
    struct {
        takt_span label, said;
    } at[TAKT_ONNX_ALIASES];
    size_t count;
} takt_onnx_aliases;
TAKT_MUST_USE takt_status takt_split_find(takt_import *im, takt_onnx_aliases *found);

/* Gives sizes of input `in`, whose type is `type`, names of their own. */
TAKT_MUST_USE takt_status takt_split_input(takt_import *im, const takt_pb_value *in,
                                           takt_type *type);
/* The input is node `id`. */
void takt_split_done(takt_import *im, takt_id id);
/* The type of `id` as the file says it. */
takt_type takt_split_type(const takt_room *room, takt_id id);

#endif
