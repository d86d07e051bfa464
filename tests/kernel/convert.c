/* convert.c - checks the conversions between all pairs of element types. */
#include "kernel/convert/convert.h"

#include <string.h>

#include "check.h"
#include "kernel/simd/half.h"

enum { ROUNDS = 2, TAILS = 70, WANT = 7 };

check_fn check_convert;

static const struct {
    const char *name;
    size_t bits;
} types[TAKT_DTYPE_COUNT] = {
#define X(NAME, name, bits, class) {name, bits},
    TAKT_DTYPE_LIST(X)
#undef X
};

static size_t bytes_of(takt_dtype type, size_t n)
{
    return (n * types[type].bits + 7) / 8;
}

/* Random bits cover all values of the narrow types; wide floats are drawn so that they hit the
 * range of the others.
 */
static void fill(takt_check *c, takt_dtype type, void *p, size_t n)
{
    const int values = (int)check_below(c, CHECK_VALUES);
    if (type == TAKT_F32)
        check_fill_f32(c, p, n, values);
    else if (type == TAKT_F64)
        check_fill_f64(c, p, n, values);
    else
        check_fill_bytes(c, p, bytes_of(type, n));
    for (size_t i = 0; i < n && values == CHECK_PLAIN; i++) {
        if (type == TAKT_F32)
            ((float *)p)[i] *= 0x1p6f;
        if (type == TAKT_F64)
            ((double *)p)[i] *= 0x1p30;
    }
}

/* Half formats are compared as floats, where all NaN are equal. */
static void compare_halves(takt_check *c, takt_dtype type, const void *got, const void *want,
                           size_t n)
{
    float a[TAILS + 1], b[TAILS + 1];
    for (size_t i = 0; i < n; i++) {
        uint16_t x, y;
        memcpy(&x, (const char *)got + 2 * i, sizeof x);
        memcpy(&y, (const char *)want + 2 * i, sizeof y);
        a[i] = type == TAKT_F16 ? half_from_f16(x) : half_from_bf16(x);
        b[i] = type == TAKT_F16 ? half_from_f16(y) : half_from_bf16(y);
    }
    check_same_f32(c, a, b, n);
}

static void check_once(takt_check *c, const takt_kernel *reference, const takt_convert *k, size_t n)
{
    const int where = (int)check_below(c, CHECK_PLACES);
    void *x = check_place(c, 1, bytes_of(k->from, n), where);
    fill(c, k->from, x, n);
    check_case(c, "%s from %s, n=%zu", types[k->to].name, types[k->from].name, n);
    const size_t bytes = bytes_of(k->to, n);
    void *want = check_place(c, WANT, bytes, CHECK_AT_END), *got = check_place(c, 0, bytes, where);
    memset(got, 0x5a, bytes);
    takt_kernel_as_convert(reference)(k, want, x, n);
    CHECK_CALL(c, takt_kernel_as_convert(c->kernel)(k, got, x, n));
    if (k->to == TAKT_F32)
        check_same_f32(c, got, want, n);
    else if (k->to == TAKT_F64)
        check_same_f64(c, got, want, n);
    else if (k->to == TAKT_F16 || k->to == TAKT_BF16)
        compare_halves(c, k->to, got, want, n);
    else
        check_same_bytes(c, got, want, bytes);
    check_intact(c, 0);
    check_intact(c, 1);
}

static void bench(takt_check *c, const takt_convert *k)
{
    const size_t n = 16384;
    void *x = check_place(c, 1, bytes_of(k->from, n), CHECK_AT_START);
    void *dst = check_place(c, 0, bytes_of(k->to, n), CHECK_AT_START);
    fill(c, k->from, x, n);
    check_case(c, "%s from %s", types[k->to].name, types[k->from].name);
    const double bytes = (double)(bytes_of(k->from, n) + bytes_of(k->to, n));
    CHECK_BENCH(c, c->label, bytes, 0, takt_kernel_as_convert(c->kernel)(k, dst, x, n));
}

void check_convert(takt_check *c, const takt_kernel *reference)
{
    for (int to = 0; to < TAKT_DTYPE_COUNT; to++)
        for (int from = 0; from < TAKT_DTYPE_COUNT; from++)
            for (int round = 0; round < ROUNDS; round++)
                for (size_t n = 0; n <= TAILS; n++) {
                    const takt_convert k = {(takt_dtype)to, (takt_dtype)from, round == 0};
                    check_once(c, reference, &k, n);
                }
    static const takt_convert common[] = {{TAKT_F32, TAKT_F16, true},  {TAKT_F16, TAKT_F32, true},
                                          {TAKT_F32, TAKT_BF16, true}, {TAKT_BF16, TAKT_F32, true},
                                          {TAKT_F32, TAKT_I8, true},   {TAKT_I8, TAKT_F32, true},
                                          {TAKT_F32, TAKT_I32, true},  {TAKT_I32, TAKT_F32, true}};
    const size_t all = sizeof common / sizeof *common, count = check_timed(c, all, all);
    for (size_t i = 0; i < count; i++)
        bench(c, &common[i]);
}
