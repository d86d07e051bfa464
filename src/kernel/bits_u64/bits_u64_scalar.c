/* bits_u64_scalar.c - matrices of bits, the definition: one word at a time. */
#define TAKT_UNIT_NAME "scalar"
#define TAKT_UNIT_RANK 0
#define TAKT_UNIT_WORDS 1
#include "kernel/bits_u64/bits_u64_body.inc"
