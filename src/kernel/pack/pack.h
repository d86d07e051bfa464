/* pack.h - contract of packing: a matrix B[k,n] as products read it (panels.h).
 *
 *     dst[takt_packed_at(panels, k, n, p, j)] = src[p * row + j * col]      0 <= p < k, 0 <= j < n
 *
 *   size    dst holds takt_panels_columns(panels, n) * k elements; columns past n are zero
 *   bits    elements are moved, never converted
 *   reads   exactly the k * n elements; no alignment beyond the element's
 *
 * (row, col) = (ld, 1) is a row-major matrix; (1, ld) its transpose, such as weights [n,k];
 * anything else works, slowly.
 */
#ifndef TAKT_KERNEL_PACK_H
#define TAKT_KERNEL_PACK_H

#include "kernel/kernel.h"
#include "kernel/pack/panels.h"

typedef struct takt_pack {
    size_t k, n;
    const void *src;
    size_t row, col; /* elements between rows and between columns */
    void *dst;
    size_t bytes; /* of an element: 2, 4 or 8 */
    takt_panels panels;
} takt_pack;

typedef void takt_pack_fn(const takt_pack *p);

TAKT_KERNEL_FAMILY(pack, takt_pack_fn)

/* The way back: here src is packed, and (row, col) are the strides of dst. */
void takt_unpack(const takt_pack *p);

#endif
