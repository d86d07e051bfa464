/* order.h - how the elements of a tensor are reordered from a folder's layout to GGUF's. */
#ifndef TAKT_IO_HF_ORDER_H
#define TAKT_IO_HF_ORDER_H

#include "ir/tensor.h"

typedef enum takt_hf_move {
    TAKT_HF_AS_IS,
    TAKT_HF_PAIRS,      /* interleaves rows that are half a head apart */
    TAKT_HF_GROUPED,    /* q, k and v of each group of heads: all q, all k, all v */
    TAKT_HF_TRANSPOSED, /* rows and columns change places */
    TAKT_HF_FLAT,       /* dimensions of size 1 are removed */
    TAKT_HF_PLUS_ONE,   /* 1 is added */
    TAKT_HF_DECAY,      /* -exp(x) */
    TAKT_HF_BEHIND,     /* rows up to that of the padding token are dropped */
    TAKT_HF_SWAPPED,    /* transposes a and b of [n, a, b] */
    TAKT_HF_EVEN, /* of [n, a, 2 b] every other column, swapped; of [n, 2 b] every other one */
    TAKT_HF_ODD,  /* the others */
    TAKT_HF_MOVES,
} takt_hf_move;

/* The tensor in its file as `rows` rows of `width` bytes, and where they go. */
typedef struct takt_hf_order {
    takt_hf_move move;
    takt_dtype dtype; /* of elements in the file */
    size_t element;   /* bytes of one */
    size_t rows, width;
    size_t size;            /* PAIRS, GROUPED: rows of a head */
    size_t groups, queries; /* GROUPED: groups, and queries of each */
    size_t inner;           /* SWAPPED, EVEN, ODD: a of [n, a, b] */
} takt_hf_order;

/* Whether the bytes of the file are those of the tensor, in the same order. */
bool takt_hf_is_plain(const takt_hf_order *o);
/* In what multiples of bytes the tensor, of `bytes`, can be made of rows from the same place in the
 * file; 0: only as a whole. */
size_t takt_hf_grain(const takt_hf_order *o, size_t bytes);
/* GROUPED: where in the file a head of the tensor is. [groups, queries + 2, size] becomes [groups,
 * queries, size], [groups, size], [groups, size]. */
size_t takt_hf_grouped(const takt_hf_order *o, size_t head);
/* For the other moves: puts rows [first, first + count), which are at `rows`, into the tensor that
 * begins at `to`, or into a part of it, where `first` counts from the beginning of the part. */
void takt_hf_put_rows(const takt_hf_order *o, const uint8_t *rows, size_t first, size_t count,
                      uint8_t *to);

#endif
