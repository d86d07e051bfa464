/* trees_neon.c - descents through trees, eight at a time. */
#define TREES_NAME "neon"
#define TREES_RANK 20
#include "kernel/trees/trees_body.inc"
