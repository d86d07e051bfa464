/* bits_u64_avx2.c - matrices of bits, four words a vector. */
#define TAKT_UNIT_NAME "avx2"
#define TAKT_UNIT_RANK 20
#define TAKT_UNIT_WORDS 4
#include "kernel/bits_u64/bits_u64_body.inc"
