/* join.h - combines the values of the leaves that rows reach, in the order of the trees. */
#ifndef TAKT_BACKEND_CPU_TREES_JOIN_H
#define TAKT_BACKEND_CPU_TREES_JOIN_H

#include "backend/cpu/trees/pack.h"

/* Partial results of a block of rows. */
typedef struct takt_trees_sums {
    const takt_trees_form *form;
    const takt_trees_packed *packed;
    int aggregate;
    size_t targets, rows;
    double *sum; /* [rows][targets] */
    bool *has;   /* [rows][targets]; not used if every leaf has all targets */
} takt_trees_sums;

/* leaf[tree * stride + row]. */
typedef struct takt_trees_found {
    const uint32_t *leaf;
    size_t stride, trees;
} takt_trees_found;

void takt_trees_open(const takt_trees_sums *s);
/* The next trees. */
void takt_trees_add(const takt_trees_sums *s, const takt_trees_found *found, bool is_first);
/* The results, from element `first` of y on; `none` where no leaf gave a value. */
void takt_trees_close(const takt_trees_sums *s, double none, takt_dtype dtype, void *y,
                      size_t first);

#endif
