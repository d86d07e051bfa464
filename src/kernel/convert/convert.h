/* convert.h - contract of the conversions between element types, family convert.
 *
 *   float -> float   rounded half-even, once; the 8-bit formats saturate if `saturate`, else
 *                    overflow to infinity or NaN
 *   float -> int     truncates, saturates, NaN gives 0
 *   int -> float     rounded half-even, once
 *   int -> int       wraps
 *   to bool          0 where the value is 0, else 1; a bool byte that is not 0 is read as 1
 *   below 8 bits     element 0 lies in the low bits of its byte; unused bits of the last byte are
 *                    written as 0
 *   NaN              any NaN of the result's type
 *   aliasing         none; alignment none beyond that of the element
 */
#ifndef TAKT_KERNEL_CONVERT_CONVERT_H
#define TAKT_KERNEL_CONVERT_CONVERT_H

#include <stddef.h>

#include <takt/tensor.h>

#include "kernel/kernel.h"

typedef struct takt_convert {
    takt_dtype to, from;
    bool saturate; /* of f8 results */
} takt_convert;

typedef void takt_convert_fn(const takt_convert *c, void *dst, const void *src, size_t n);

TAKT_KERNEL_FAMILY(convert, takt_convert_fn)

/* Every pair of types, element by element: the scalar kernel, and the fallback of the others. */
void takt_convert_any(const takt_convert *c, void *dst, const void *src, size_t n);

#endif
