/* int_table.h - makes the functions of int_body.h into map kernels. */
#ifndef TAKT_KERNEL_MAP_INT_TABLE_H
#define TAKT_KERNEL_MAP_INT_TABLE_H

#define ARGS                                                                                       \
    void *dst, const void *const *src, const unsigned char *is_scalar, size_t n, takt_fault *fault

#define UNARY_OPS(X)                                                                               \
    X(COPY, copy_of)                                                                               \
    X(NEG, neg_of)                                                                                 \
    X(ABS, abs_of) X(SIGN, sign_of) X(SQUARE, square_of) X(RELU, relu_of) X(NOT, not_of)
#define BINARY_OPS(X)                                                                              \
    X(ADD, add_of)                                                                                 \
    X(SUB, sub_of)                                                                                 \
    X(MUL, mul_of)                                                                                 \
    X(MIN, min_of)                                                                                 \
    X(MAX, max_of)                                                                                 \
    X(AND, and_of)                                                                                 \
    X(OR, or_of) X(XOR, xor_of) X(SHL, shl_of) X(SHR, shr_of) X(SHR8, shr8_of) X(SHR16, shr16_of)
#define PREDICATE_OPS(X)                                                                           \
    X(EQ, eq_of) X(NE, ne_of) X(LT, lt_of) X(LE, le_of) X(GT, gt_of) X(GE, ge_of)
#define FAULTING_OPS(X) X(DIV, div_of) X(MOD, mod_of) X(REM, rem_of) X(POW, pow_of)

#define X(name, function)                                                                          \
    static void map_##name(ARGS)                                                                   \
    {                                                                                              \
        (void)fault;                                                                               \
        unary(dst, src[0], is_scalar[0] != 0, n, function);                                        \
    }
UNARY_OPS(X)
#undef X
#define X(name, function)                                                                          \
    static void map_##name(ARGS)                                                                   \
    {                                                                                              \
        (void)fault;                                                                               \
        binary(dst, src, is_scalar, n, function);                                                  \
    }
BINARY_OPS(X)
#undef X
#define X(name, function)                                                                          \
    static void map_##name(ARGS)                                                                   \
    {                                                                                              \
        (void)fault;                                                                               \
        predicate(dst, src, is_scalar, n, function);                                               \
    }
PREDICATE_OPS(X)
#undef X
#define X(name, function)                                                                          \
    static void map_##name(ARGS)                                                                   \
    {                                                                                              \
        faulting(dst, src, is_scalar, n, fault, function);                                         \
    }
FAULTING_OPS(X)
#undef X

static void map_SELECT(ARGS)
{
    (void)fault;
    T *d = dst;
    const uint8_t *m = src[0];
    const T *x = src[1], *y = src[2];
    const size_t step_m = !is_scalar[0], step_x = !is_scalar[1], step_y = !is_scalar[2];
    if (step_m && step_x && step_y) {
        INDEPENDENT
        for (size_t i = 0; i < n; i++)
            d[i] = m[i] ? x[i] : y[i];
        return;
    }
    const T one_x = step_x ? 0 : *x, one_y = step_y ? 0 : *y;
    for (size_t i = 0; i < n; i++)
        d[i] = m[i * step_m] ? (step_x ? x[i] : one_x) : (step_y ? y[i] : one_y);
}

#define X(name, function) [TAKT_MAP_##name] = map_##name,
static const takt_map_table table = {
    {UNARY_OPS(X) BINARY_OPS(X) PREDICATE_OPS(X) FAULTING_OPS(X) X(SELECT, )}};
#undef X

#endif
