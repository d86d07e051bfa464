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
    takt_id id;                  /* of the input; TAKT_NONE until it exists */
    const takt_pb_graph *branch; /* the only branch that reads it */
    int axis;
    takt_span label;
    takt_dim own, said; /* its name, and the one in the file; equal if no other input has it */
};

/* Names that the file uses for inputs of one branch and also, by mistake, for another input: some
 * exporters write encoder_sequence_length_out. The model is read again with separate names for
 * these. Spans point into the file. */
enum { TAKT_ONNX_ALIASES = 8 };
typedef struct takt_onnx_aliases {
    struct {
        takt_span label, said;
    } at[TAKT_ONNX_ALIASES];
    size_t count;
} takt_onnx_aliases;
TAKT_MUST_USE takt_status takt_split_find(takt_import *im, takt_onnx_aliases *found);

/* Gives sizes of input `in`, whose type is `type`, separate names. */
TAKT_MUST_USE takt_status takt_split_input(takt_import *im, const takt_pb_value *in,
                                           takt_type *type);
/* The input is node `id`. */
void takt_split_done(takt_import *im, takt_id id);
/* The type of `id` according to the file. */
takt_type takt_split_type(const takt_room *room, takt_id id);

#endif
