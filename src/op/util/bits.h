/* bits.h - bools as words: 64 of the last axis to a u64, the lowest bit first. */
#ifndef TAKT_OP_UTIL_BITS_H
#define TAKT_OP_UTIL_BITS_H

#include "op/ops.h"

/* Number of rows, words per row and bools per row of an array of words (`bools` of the last
 * axis). */
typedef struct takt_bit_rows {
    size_t rows, words, bools;
} takt_bit_rows;

takt_bit_rows takt_bit_rows_of(const takt_type *words, const takt_type *bools);

/* The words of bools, and the bools of words whose last axis stands for `size`. */
takt_id takt_pack_bits(takt_graph *g, takt_id x);
takt_id takt_unpack_bits(takt_graph *g, takt_id x, takt_dim size);

#endif
