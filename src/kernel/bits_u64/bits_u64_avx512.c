/* bits_u64_avx512.c - matrices of bits, eight words a vector. */
#define TAKT_UNIT_NAME "avx512"
#define TAKT_UNIT_RANK 40
#define TAKT_UNIT_WORDS 8
#include "kernel/bits_u64/bits_u64_body.inc"
