/* dtype.c - element types: names, rounding, wrapping, conversion, packed memory. */
#include "ir/dtype.h"

#include <math.h>
#include <string.h>

#include "test.h"

static void names(void)
{
    for (int d = 0; d < TAKT_DTYPE_COUNT; d++) {
        const char *name = takt_dtype_name((takt_dtype)d);
        EXPECT(takt_dtype_find(name) == (takt_dtype)d, "%s", name);
        EXPECT(takt_dtype_bits((takt_dtype)d) > 0, "%s", name);
        const int classes = takt_dtype_is_float((takt_dtype)d) + takt_dtype_is_int((takt_dtype)d);
        EXPECT(classes == (d != TAKT_BOOL), "%s is in %d classes", name, classes);
    }
    EXPECT_EQ(takt_dtype_find("float32"), TAKT_DTYPE_COUNT);
    EXPECT_EQ(takt_dtype_find(NULL), TAKT_DTYPE_COUNT);
    EXPECT(takt_dtype_name(TAKT_DTYPE_COUNT) == NULL);
    EXPECT_EQ(takt_dtype_bits(TAKT_DTYPE_COUNT), 0);
}

static void bytes(void)
{
    size_t n = 99;
    EXPECT(takt_dtype_bytes(TAKT_F32, 3, &n) && n == 12, "%zu", n);
    EXPECT(takt_dtype_bytes(TAKT_I4, 3, &n) && n == 2, "%zu", n);
    EXPECT(takt_dtype_bytes(TAKT_U2, 9, &n) && n == 3, "%zu", n);
    EXPECT(takt_dtype_bytes(TAKT_BOOL, 0, &n) && n == 0, "%zu", n);
    const size_t most = TAKT_TENSOR_MOST;
    EXPECT(takt_dtype_bytes(TAKT_I2, 4 * most - 3, &n) && n == most, "%zu", n);
    EXPECT(takt_dtype_bytes(TAKT_I8, most, &n) && n == most, "%zu", n);
    n = 99;
    EXPECT(!takt_dtype_bytes(TAKT_F64, SIZE_MAX / 4, &n));
    /* Rounded up to an alignment it would be 0. */
    EXPECT(!takt_dtype_bytes(TAKT_F32, SIZE_MAX / 4, &n));
    EXPECT(!takt_dtype_bytes(TAKT_I8, most + 1, &n) && n == 99, "%zu", n);
    EXPECT(!takt_dtype_bytes(TAKT_I2, SIZE_MAX, &n) && n == 99, "%zu", n);
}

static void rounding(void)
{
    EXPECT_EQ(takt_dtype_round(TAKT_F64, 0.1), 0.1);
    EXPECT_EQ(takt_dtype_round(TAKT_F32, 0.1), (double)0.1f);
    EXPECT(takt_dtype_round(TAKT_F16, 2049) == 2048, "half to even");
    EXPECT_EQ(takt_dtype_round(TAKT_F16, 2051), 2052);
    EXPECT(isinf(takt_dtype_round(TAKT_F16, 70000)));
    EXPECT_EQ(takt_dtype_round(TAKT_BF16, 257), 256);
    EXPECT(takt_dtype_round(TAKT_F8E4M3FN, 1000) == 448, "finite values saturate");
    EXPECT(isnan(takt_dtype_round(TAKT_F8E4M3FN, INFINITY)));
    EXPECT(isinf(takt_dtype_round(TAKT_F8E5M2, INFINITY)), "a cast decided that before");
    EXPECT_EQ(takt_dtype_round(TAKT_F4E2M1, 100), 6);
    EXPECT_EQ(takt_dtype_round(TAKT_F8E8M0, 5), 4);
    EXPECT_EQ(takt_dtype_round(TAKT_F8E8M0, 0), 0x1p-127);
    EXPECT(isnan(takt_dtype_round(TAKT_F8E8M0, -1)));
    for (int d = 0; d < TAKT_DTYPE_COUNT; d++) {
        const takt_dtype dtype = (takt_dtype)d;
        for (double x = -9; takt_dtype_is_float(dtype) && x < 9; x += 0.37) {
            const double y = takt_dtype_round(dtype, x);
            EXPECT(isnan(y) || takt_dtype_round(dtype, y) == y, "%s: %g", takt_dtype_name(dtype),
                   x);
        }
    }
}

static void wrapping(void)
{
    EXPECT_EQ(takt_dtype_wrap(TAKT_I8, 128), -128);
    EXPECT_EQ(takt_dtype_wrap(TAKT_I8, -129), 127);
    EXPECT_EQ(takt_dtype_wrap(TAKT_U8, -1), 255);
    EXPECT_EQ(takt_dtype_wrap(TAKT_I4, 8), -8);
    EXPECT_EQ(takt_dtype_wrap(TAKT_U2, 7), 3);
    EXPECT_EQ(takt_dtype_wrap(TAKT_I32, INT64_C(1) << 31), INT32_MIN);
    EXPECT_EQ(takt_dtype_wrap(TAKT_I64, INT64_MIN), INT64_MIN);
    EXPECT(takt_dtype_wrap(TAKT_U64, -1) == -1, "u64 is its bits");
    EXPECT_EQ(takt_dtype_wrap(TAKT_BOOL, 4), 1);
}

static void conversion(void)
{
    EXPECT_EQ(takt_dtype_from_double(TAKT_I8, 200), 127);
    EXPECT_EQ(takt_dtype_from_double(TAKT_I8, -200), -128);
    EXPECT(takt_dtype_from_double(TAKT_I32, -2.9) == -2, "truncates");
    EXPECT_EQ(takt_dtype_from_double(TAKT_U8, -3), 0);
    EXPECT_EQ(takt_dtype_from_double(TAKT_I64, 1e30), INT64_MAX);
    EXPECT_EQ(takt_dtype_from_double(TAKT_I64, -1e30), INT64_MIN);
    EXPECT(takt_dtype_from_double(TAKT_U64, 1e30) == -1, "all bits");
    EXPECT_EQ(takt_dtype_from_double(TAKT_U64, 0x1p63), INT64_MIN);
    EXPECT_EQ(takt_dtype_from_double(TAKT_I16, NAN), 0);
    EXPECT(takt_dtype_from_double(TAKT_BOOL, NAN) == 1, "NaN is not zero");
    EXPECT_EQ(takt_dtype_to_double(TAKT_U64, -1), 0x1p64);
    EXPECT_EQ(takt_dtype_to_double(TAKT_I64, -1), -1);
}

/* Writing an element must not change its neighbours, and every value must be read back. */
static void packed(void)
{
    for (int d = 0; d < TAKT_DTYPE_COUNT; d++) {
        const takt_dtype dtype = (takt_dtype)d;
        unsigned char memory[8 * 16 + 1];
        const int passes = 2;
        memset(memory, 0xA5, sizeof memory);
        unsigned char *at = memory + 1; /* unaligned */
        for (int pass = 0; pass < passes; pass++)
            for (size_t i = 0; i < 16; i++) {
                const size_t k = pass == 0 ? 15 - i : i;
                if (takt_dtype_is_float(dtype))
                    takt_dtype_put_f(dtype, at, k, (double)k * 0.5);
                else
                    takt_dtype_put_i(dtype, at, k, (int64_t)k - 8);
            }
        for (size_t i = 0; i < 16; i++) {
            if (takt_dtype_is_float(dtype))
                EXPECT(takt_dtype_get_f(dtype, at, i) == takt_dtype_round(dtype, (double)i * 0.5),
                       "%s %zu", takt_dtype_name(dtype), i);
            else
                EXPECT(takt_dtype_get_i(dtype, at, i) == takt_dtype_wrap(dtype, (int64_t)i - 8),
                       "%s %zu", takt_dtype_name(dtype), i);
        }
    }
}

TEST_MAIN(names, bytes, rounding, wrapping, conversion, packed)
