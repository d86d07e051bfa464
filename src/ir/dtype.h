/* dtype.h - facts about element types. */
#ifndef TAKT_IR_DTYPE_H
#define TAKT_IR_DTYPE_H

#include <stdbool.h>

#include <takt/tensor.h>

/* Sets of element types, for op records. */
typedef uint32_t takt_dtype_set;
#define TAKT_IN(dtype) (UINT32_C(1) << (dtype))
#define TAKT_FLOATS (TAKT_IN(TAKT_F64) | TAKT_IN(TAKT_F32) | TAKT_IN(TAKT_F16) | TAKT_IN(TAKT_BF16))
#define TAKT_SIGNED (TAKT_IN(TAKT_I64) | TAKT_IN(TAKT_I32) | TAKT_IN(TAKT_I16) | TAKT_IN(TAKT_I8))
#define TAKT_UNSIGNED (TAKT_IN(TAKT_U64) | TAKT_IN(TAKT_U32) | TAKT_IN(TAKT_U16) | TAKT_IN(TAKT_U8))
#define TAKT_INTS (TAKT_SIGNED | TAKT_UNSIGNED)
#define TAKT_NUMBERS (TAKT_FLOATS | TAKT_INTS)
#define TAKT_BOOLS TAKT_IN(TAKT_BOOL)
#define TAKT_COMPUTE (TAKT_NUMBERS | TAKT_BOOLS)
#define TAKT_ANY ((UINT32_C(1) << TAKT_DTYPE_COUNT) - 1)

bool takt_dtype_is_float(takt_dtype dtype);
bool takt_dtype_is_signed(takt_dtype dtype);   /* signed integers */
bool takt_dtype_is_unsigned(takt_dtype dtype); /* unsigned integers */
bool takt_dtype_is_int(takt_dtype dtype);      /* either */
/* The most bytes of a tensor, 256 TiB: more than a process can have, and so little that its size
 * rounded up, or scratch memory of many times its size, does not wrap. */
#define TAKT_TENSOR_MOST ((size_t)PTRDIFF_MAX >> 15)
/* Bytes of `count` elements, sub-byte types packed; false above that. */
bool takt_dtype_bytes(takt_dtype dtype, size_t count, size_t *bytes);

/* The value rounded to the type (floats), or wrapped to it (integers; bool: not zero). */
double takt_dtype_round(takt_dtype dtype, double value);
int64_t takt_dtype_wrap(takt_dtype dtype, int64_t value);
/* float -> int: truncates, saturates, NaN gives 0. A u64 is returned as its bits. */
int64_t takt_dtype_from_double(takt_dtype dtype, double value);
/* int -> double; `value` of a u64 is its bits. */
double takt_dtype_to_double(takt_dtype dtype, int64_t value);

/* Element `index` of packed memory, widened: floats by _get_f, the rest by _get_i. */
double takt_dtype_get_f(takt_dtype dtype, const void *data, size_t index);
int64_t takt_dtype_get_i(takt_dtype dtype, const void *data, size_t index);
void takt_dtype_put_f(takt_dtype dtype, void *data, size_t index, double value);
void takt_dtype_put_i(takt_dtype dtype, void *data, size_t index, int64_t value);

#endif
