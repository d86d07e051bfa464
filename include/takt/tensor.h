/**
 * tensor.h - element types and views of the caller's memory.
 *
 * Threads: any, at any time.
 */
#ifndef TAKT_TENSOR_H
#define TAKT_TENSOR_H

#include <stddef.h>
#include <takt/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** X(NAME, "name", bits, class): F float, I signed, U unsigned, B bool. Order is stable.
 *  From I2 on: storage only (cast, quantise and move; no arithmetic). */
#define TAKT_DTYPE_LIST(X)                                                                         \
    X(F64, "f64", 64, F)                                                                           \
    X(F32, "f32", 32, F)                                                                           \
    X(F16, "f16", 16, F)                                                                           \
    X(BF16, "bf16", 16, F)                                                                         \
    X(I64, "i64", 64, I)                                                                           \
    X(I32, "i32", 32, I)                                                                           \
    X(I16, "i16", 16, I)                                                                           \
    X(I8, "i8", 8, I)                                                                              \
    X(U64, "u64", 64, U)                                                                           \
    X(U32, "u32", 32, U)                                                                           \
    X(U16, "u16", 16, U)                                                                           \
    X(U8, "u8", 8, U)                                                                              \
    X(BOOL, "bool", 8, B)                                                                          \
    X(I2, "i2", 2, I)                                                                              \
    X(U2, "u2", 2, U)                                                                              \
    X(I4, "i4", 4, I)                                                                              \
    X(U4, "u4", 4, U)                                                                              \
    X(F8E4M3FN, "f8e4m3fn", 8, F)                                                                  \
    X(F8E4M3FNUZ, "f8e4m3fnuz", 8, F)                                                              \
    X(F8E5M2, "f8e5m2", 8, F)                                                                      \
    X(F8E5M2FNUZ, "f8e5m2fnuz", 8, F)                                                              \
    X(F4E2M1, "f4e2m1", 4, F)                                                                      \
    X(F8E8M0, "f8e8m0", 8, F)

typedef enum takt_dtype {
#define X(NAME, name, bits, class) TAKT_##NAME,
    TAKT_DTYPE_LIST(X)
#undef X
        TAKT_DTYPE_COUNT
} takt_dtype;

enum { TAKT_MAX_RANK = 16 };

/** A tensor in the caller's memory. Strides are in elements; all zero means dense row-major.
 *  Initialise views with `{0}`, so that fields added later are zero. */
typedef struct takt_tensor_view {
    takt_dtype dtype;
    int rank;
    int64_t dims[TAKT_MAX_RANK];
    int64_t strides[TAKT_MAX_RANK];
    void *data;
    int32_t device; /**< where `data` is: 0 is the host, 1 + N is CUDA device N */
} takt_tensor_view;

/** "f32"; NULL beyond the list. */
TAKT_API const char *takt_dtype_name(takt_dtype dtype);
/** TAKT_DTYPE_COUNT if there is no such type. */
TAKT_API takt_dtype takt_dtype_find(const char *name);
/** Bits of an element; 0 beyond the list. */
TAKT_API int takt_dtype_bits(takt_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
