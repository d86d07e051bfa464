/* trees_avx2.c - descents through trees, eight at a time. */
#define TREES_NAME "avx2"
#define TREES_RANK 20
#include "kernel/trees/trees_body.inc"
