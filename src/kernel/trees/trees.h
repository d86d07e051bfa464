/* trees.h - contract of descents through decision trees: which leaf does each row reach in each
 * tree?
 *
 * Rows are keys: integers in the order of the values they stand for. A branch compares one key and
 * goes to one of two nodes; a leaf leads to itself, so that several descents advance in step
 * without checking which have arrived. There are two forms of nodes:
 *
 *   pairs   8 bytes, key in the low word: children stand side by side, at `next` of the high word
 *           if x[column] <= key, at next + 1 if not. A leaf has key INT32_MAX and itself as next
 *   wide    16 bytes: next[1] if x[column] <= key (or == key, for is_equal), else next[0]
 *
 *   result     leaf[t * rows + r] = leaf_of[first + where tree t ends for row r]
 *   reads      keys[r * stride + column] for the columns of nodes that are reached; leaves may read
 *              column 0, which must be there; writes exactly leaf[trees * rows]
 *   aliasing   leaf overlaps no operand
 */
#ifndef TAKT_KERNEL_TREES_H
#define TAKT_KERNEL_TREES_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/kernel.h"

enum { TAKT_TREES_NEXT_BITS = 20, TAKT_TREES_COLUMN_BITS = 12 }; /* of the high word of a pair */

typedef struct takt_trees_wide {
    int32_t key;
    uint32_t column; /* doubled, plus 1 for is_equal */
    uint32_t next[2];
} takt_trees_wide;

typedef struct takt_trees_tree {
    uint64_t first;       /* node: next counts from there, */
    uint32_t root;        /* and so does the root */
    uint32_t least, most; /* steps to the nearest leaf, or fewer; to the furthest, or more */
} takt_trees_tree;

typedef struct takt_trees_job {
    const takt_trees_tree *tree;
    size_t trees, rows;
    const uint64_t *pairs;       /* or NULL: */
    const takt_trees_wide *wide; /* these */
    const uint32_t *leaf_of;     /* one per node; read only for leaves */
    const int32_t *keys;
    size_t stride; /* of a row of keys */
    uint32_t *leaf;
} takt_trees_job;

static inline uint64_t takt_trees_pair(int32_t key, uint32_t column, uint32_t next)
{
    return (uint32_t)key | (uint64_t)(column << TAKT_TREES_NEXT_BITS | next) << 32;
}

typedef void takt_trees_fn(const takt_trees_job *j);

TAKT_KERNEL_FAMILY(trees, takt_trees_fn)

#endif
