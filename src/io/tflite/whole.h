/* whole.h - operators that are kept whole for a writer.
 *
 * Recurrent and other layers of integers have no form in floats that LiteRT would compute with the
 * same bits. If scales are kept, such an operator becomes one `custom` node named "tflite.SVDF",
 * whose body has the integer arithmetic: it runs like any other, and the writer finds in its inputs
 * what the file had. Inputs are told apart by the names of the body's inputs:
 *
 *   in_3                     input 3 of the operator, absent if left out
 *   mid_4                    a zero of the type of intermediate tensor 4
 *   scale_in_3, zero_in_3    scales (f32) and zero points (i64) of a tensor, with axis_in_3 where
 *                            there are several; also of out_0 and mid_4
 *   options                  i64: kind of the options, inputs, intermediate tensors; then field,
 *                            bytes and bits of each option
 *
 * Its outputs are out_0 and, for each input that is a variable of the operator, next_3.
 */
#ifndef TAKT_IO_TFLITE_WHOLE_H
#define TAKT_IO_TFLITE_WHOLE_H

#include "io/tflite/adapt.h"

#define TAKT_TFL_WHOLE "tflite."

enum { TAKT_TFL_OPTIONS = 8, TAKT_TFL_OPTIONS_HEAD = 3 };

typedef struct takt_tfl_option {
    int field, bytes;
    uint32_t bits;
} takt_tfl_option;

/* The import of such an operator. */
struct takt_tfl_whole {
    takt_tfl_option option[TAKT_TFL_OPTIONS]; /* those it reads */
    size_t option_count;
    takt_id *next; /* per input: the next value of a variable, or TAKT_NONE */
};

/* Whether the operator is to be kept whole. */
bool takt_tfl_is_whole(const takt_tfl_call *c);
TAKT_MUST_USE takt_status takt_tfl_keep_whole(takt_tfl_call *c, const takt_tflite_op *adapter);

#endif
