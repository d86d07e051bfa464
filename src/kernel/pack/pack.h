/* pack.h - contract of packing: a matrix B[k,n] to panels of columns, as products read it.
 *
 *     dst[panel][p][j] = src[p * row + (panel * width + j) * col]      0 <= p < k, j < width
 *
 *   width   takt_pack_width(bytes): 16 columns, or 8 of 8 bytes. Columns past n are zero.
 *   size    dst holds ceil(n / width) * k * width elements
 *   bits    elements are moved, never converted
 *   reads   exactly the k * n elements; no alignment beyond the element's
 *
 * (row, col) = (ld, 1) is a row-major matrix; (1, ld) its transpose, such as weights [n,k];
 * anything else works, slowly. A caller may cut n at multiples of the width: panels are
 * independent.
 */
#ifndef TAKT_KERNEL_PACK_H
#define TAKT_KERNEL_PACK_H

#include <stddef.h>

#include "kernel/kernel.h"

typedef struct takt_pack {
    size_t k, n;
    const void *src;
    size_t row, col; /* elements between rows and between columns */
    void *dst;
    size_t bytes; /* of an element: 2, 4 or 8 */
} takt_pack;

typedef void takt_pack_fn(const takt_pack *p);

TAKT_KERNEL_FAMILY(pack, takt_pack_fn)

/* Columns of a panel. */
size_t takt_pack_width(size_t bytes);
/* The way back: here src is packed, and (row, col) are the strides of dst. */
void takt_unpack(const takt_pack *p);

#endif
