/* trees_body.h - descents through trees, eight at a time: rows of one tree, or trees of one row.
 *
 * A step is two loads that wait for each other, and a few operations; eight descents side by side
 * keep the processor busy. Files that include it define TREES_NAME and TREES_RANK.
 */
#include "kernel/trees/trees_step.h"

enum { ABREAST = 8 };

/* ---- several descents ---- */

/* Eight descents, each with its own nodes and keys. */
typedef struct walks {
    const void *nodes[ABREAST];
    const int32_t *keys[ABREAST];
    uint32_t least, most;
} walks;

/* From the roots to the depth of the nearest leaf without a check, then until nothing moves. */
INLINE void go(const walks *w, size_t at[ABREAST], const bool is_wide)
{
    for (uint32_t i = 0; i < w->least; i++)
        for (int k = 0; k < ABREAST; k++)
            at[k] = step(w->nodes[k], at[k], w->keys[k], is_wide);
    for (uint32_t i = w->least; i < w->most; i++) {
        size_t moved = 0;
        for (int k = 0; k < ABREAST; k++) {
            const size_t to = step(w->nodes[k], at[k], w->keys[k], is_wide);
            moved |= to ^ at[k];
            at[k] = to;
        }
        if (moved == 0)
            return;
    }
}

/* Rows [row, row + ABREAST) of tree t. */
INLINE void rows_of(const takt_trees_job *j, size_t t, size_t row, const bool is_wide)
{
    size_t at[ABREAST];
    walks w = {.least = j->tree[t].least, .most = j->tree[t].most};
    for (size_t k = 0; k < ABREAST; k++) {
        w.nodes[k] = nodes_of(j, &j->tree[t], is_wide);
        at[k] = j->tree[t].root;
        w.keys[k] = j->keys + (row + k) * j->stride;
    }
    go(&w, at, is_wide);
    for (size_t k = 0; k < ABREAST; k++)
        j->leaf[t * j->rows + row + k] = j->leaf_of[j->tree[t].first + at[k]];
}

/* Trees [t, t + ABREAST) of a row. */
INLINE void trees_of(const takt_trees_job *j, size_t t, size_t row, const bool is_wide)
{
    size_t at[ABREAST];
    walks w = {.least = UINT32_MAX};
    for (size_t k = 0; k < ABREAST; k++) {
        w.nodes[k] = nodes_of(j, &j->tree[t + k], is_wide);
        at[k] = j->tree[t + k].root;
        w.keys[k] = j->keys + row * j->stride;
        w.least = j->tree[t + k].least < w.least ? j->tree[t + k].least : w.least;
        w.most = j->tree[t + k].most > w.most ? j->tree[t + k].most : w.most;
    }
    go(&w, at, is_wide);
    for (size_t k = 0; k < ABREAST; k++)
        j->leaf[(t + k) * j->rows + row] = j->leaf_of[j->tree[t + k].first + at[k]];
}

INLINE void all(const takt_trees_job *j, const bool is_wide)
{
    const size_t even = j->rows - j->rows % ABREAST;
    for (size_t t = 0; t < j->trees; t++)
        for (size_t row = 0; row < even; row += ABREAST)
            rows_of(j, t, row, is_wide);
    for (size_t row = even; row < j->rows; row++) {
        size_t t = 0;
        for (; t + ABREAST <= j->trees; t += ABREAST)
            trees_of(j, t, row, is_wide);
        for (; t < j->trees; t++)
            j->leaf[t * j->rows + row] = one(j, &j->tree[t], j->keys + row * j->stride, is_wide);
    }
}

static void run(const takt_trees_job *j)
{
    if (j->pairs != NULL)
        all(j, false);
    else
        all(j, true);
}

TAKT_KERNELS(trees, TAKT_KERNEL(trees, TREES_NAME, TREES_RANK, run, NULL));
