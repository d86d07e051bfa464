/* stream.h - contract of the kernels that show how fast memory can be read and written.
 *
 *   read   the sum of a[0, count), in any order
 *   copy   c[i] = a[i]
 *   triad  c[i] = fma(3, b[i], a[i])
 *
 *   streams    1, 4 or 6: the arrays are read at that many places, equally far apart, at once, as
 *              one sequential stream leaves bandwidth unused on many processors
 *   ahead      prefetch distance in bytes; 0: no prefetch
 *   count      a multiple of TAKT_STREAM_COUNT
 *   alignment  64 bytes
 *   aliasing   c overlaps neither a nor b
 */
#ifndef TAKT_KERNEL_STREAM_H
#define TAKT_KERNEL_STREAM_H

#include <stddef.h>

#include "kernel/kernel.h"

enum { TAKT_STREAM_COUNT = 256 }; /* elements */

typedef enum takt_stream_kind {
    TAKT_STREAM_READ,
    TAKT_STREAM_COPY,
    TAKT_STREAM_TRIAD,
} takt_stream_kind;

typedef struct takt_stream {
    takt_stream_kind kind;
    int streams;
    size_t ahead; /* bytes */
    size_t count; /* elements */
    const float *a, *b;
    float *c;
} takt_stream;

/* Returns the sum of a read, else 0. */
typedef double takt_stream_fn(const takt_stream *s);

TAKT_KERNEL_FAMILY(stream, takt_stream_fn)

#endif
