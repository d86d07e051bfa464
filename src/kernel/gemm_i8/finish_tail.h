/* finish_tail.h - the last bytes of a row, fewer than eight, out of a register. */
#ifndef TAKT_KERNEL_GEMM_I8_FINISH_TAIL_H
#define TAKT_KERNEL_GEMM_I8_FINISH_TAIL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bits 0 to 2 of n say how many bytes of `left` are written, the lowest first. */
static inline __attribute__((always_inline)) void finish_tail(uint8_t *to, uint64_t left, size_t n)
{
    if (n & 4) {
        memcpy(to, &left, 4);
        left >>= 32;
        to += 4;
    }
    if (n & 2) {
        memcpy(to, &left, 2);
        left >>= 16;
        to += 2;
    }
    if (n & 1)
        *to = (uint8_t)left;
}

#endif
