/* bits_u64_neon.c - matrices of bits, two words a vector. */
#define TAKT_UNIT_NAME "neon"
#define TAKT_UNIT_RANK 20
#define TAKT_UNIT_WORDS 2
#include "kernel/bits_u64/bits_u64_body.inc"
