/* strided.h - copying from a pattern of strides to dense memory, for elements of any size. */
#ifndef TAKT_BACKEND_CPU_STRIDED_H
#define TAKT_BACKEND_CPU_STRIDED_H

#include "backend/cpu/cpu.h"

/* Loops, outermost first, with strides in elements; neighbours are merged where they can be. */
typedef struct takt_strided {
    int rank;
    int64_t dim[TAKT_MAX_RANK], stride[TAKT_MAX_RANK];
    size_t bytes; /* of an element: 1, 2, 4 or 8 */
    size_t count;
} takt_strided;

takt_strided takt_strided_of(const int64_t *dim, const int64_t *stride, int rank, size_t bytes);
/* Elements [first, end) in loop order, from the pattern at `from` to dense `to`. */
void takt_strided_copy(const takt_strided *w, const void *from, void *to, size_t first, size_t end);
/* Part `index` of `parts`, split where it costs least; `to` is the position of the first.
 */
void takt_strided_part(const takt_strided *w, const void *from, void *to, size_t index,
                       size_t parts);

/* How transpose, slice, broadcast, and operands that broadcast to the result of `n`, read `x`: the
 * stride of each axis of the result; returns the index of the first element read. */
int64_t takt_strided_source(const takt_node *n, const takt_view *x, int64_t *stride);

#endif
