/* trees_scalar.c - descents through trees, the definition: one at a time. */
#include "kernel/trees/trees_step.inc"

static void run(const takt_trees_job *j)
{
    for (size_t t = 0; t < j->trees; t++)
        for (size_t row = 0; row < j->rows; row++)
            j->leaf[t * j->rows + row] =
                one(j, &j->tree[t], j->keys + row * j->stride, j->pairs == NULL);
}

TAKT_KERNELS(trees, TAKT_KERNEL(trees, "scalar", 0, run, NULL));
