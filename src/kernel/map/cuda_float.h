/* cuda_float.h - element-wise operations of one float type for device code.
 *
 * Included after T (the type), BITS (its unsigned form), FRACTION (bits of a fraction), VEC(name)
 * and MATH(name), which are functions of the type, and OF(name), which names what is defined here.
 */

/* C's fmod, exact, bit by bit: the device's own divides by approximations on the way. */
DEVICE T OF(rem)(T a, T b)
{
    const BITS one = (BITS)1 << FRACTION, top = (BITS)1 << (8 * sizeof(T) - 1);
    const BITS infinity = (top - 1) & ~(one - 1);
    BITS x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    const BITS sign = x & top;
    x &= top - 1;
    y &= top - 1;
    if (y == 0 || x >= infinity || y > infinity)
        return (T)NAN;
    if (x < y)
        return a;
    int32_t p = (int32_t)(x >> FRACTION), q = (int32_t)(y >> FRACTION);
    BITS u = (x & (one - 1)) | (p > 0 ? one : 0), v = (y & (one - 1)) | (q > 0 ? one : 0);
    for (p += p == 0; u < one; p--)
        u <<= 1;
    for (q += q == 0; v < one; q--)
        v <<= 1;
    for (; p > q && u != 0; p--)
        u = (u >= v ? u - v : u) << 1;
    u = u >= v ? u - v : u;
    for (p = q; u != 0 && u < one && p > 1; p--)
        u <<= 1;
    x = u >= one && p >= 1 ? sign | (BITS)p << FRACTION | (u & (one - 1))
                           : sign | u >> (p < 1 ? 1 - p : 0);
    memcpy(&a, &x, sizeof a);
    return a;
}

/* Moves the remainder to the side of b; a zero takes b's sign. */
DEVICE T OF(mod)(T a, T b)
{
    const T r = OF(rem)(a, b);
    if (r == 0)
        return VEC(copysign)((T)0, b);
    return (r < 0) != (b < 0) ? r + b : r;
}

DEVICE T OF(plain)(uint8_t op, T x, T y)
{
    switch (op) {
    case TAKT_MAP_NEG: return VEC(neg)(x);
    case TAKT_MAP_ABS: return VEC(abs)(x);
    case TAKT_MAP_SIGN: return x > 0 ? (T)1 : x < 0 ? (T)-1 : x;
    case TAKT_MAP_SQUARE: return x * x;
    case TAKT_MAP_SQRT: return VEC(sqrt)(x);
    case TAKT_MAP_RSQRT: return (T)1 / VEC(sqrt)(x);
    case TAKT_MAP_RECIPROCAL: return (T)1 / x;
    case TAKT_MAP_FLOOR: return VEC(floor)(x);
    case TAKT_MAP_CEIL: return VEC(ceil)(x);
    case TAKT_MAP_ROUND: return VEC(round)(x);
    case TAKT_MAP_TRUNC: return VEC(trunc)(x);
    case TAKT_MAP_RELU: return VEC(relu)(x);
    case TAKT_MAP_ADD: return x + y;
    case TAKT_MAP_SUB: return x - y;
    case TAKT_MAP_MUL: return x * y;
    case TAKT_MAP_DIV: return x / y;
    case TAKT_MAP_MIN: return VEC(min)(x, y);
    case TAKT_MAP_MAX: return VEC(max)(x, y);
    default: /* TAKT_MAP_COPY */ return x;
    }
}

DEVICE T OF(function)(uint8_t op, T x, T y)
{
    switch (op) {
    case TAKT_MAP_SIGMOID: return MATH(sigmoid)(x);
    case TAKT_MAP_TANH: return MATH(tanh)(x);
    case TAKT_MAP_ERF: return MATH(erf)(x);
    case TAKT_MAP_GELU: return MATH(gelu)(x);
    case TAKT_MAP_GELU_TANH: return MATH(gelu_tanh)(x);
    case TAKT_MAP_HARD_SWISH: return MATH(hard_swish)(x);
    case TAKT_MAP_EXP: return MATH(exp)(x);
    case TAKT_MAP_EXP2: return MATH(exp2)(x);
    case TAKT_MAP_EXPM1: return MATH(expm1)(x);
    case TAKT_MAP_LOG: return MATH(log)(x);
    case TAKT_MAP_LOG2: return MATH(log2)(x);
    case TAKT_MAP_LOG1P: return MATH(log1p)(x);
    case TAKT_MAP_SIN: return MATH(sin)(x);
    case TAKT_MAP_COS: return MATH(cos)(x);
    case TAKT_MAP_TAN: return MATH(tan)(x);
    case TAKT_MAP_ASIN: return MATH(asin)(x);
    case TAKT_MAP_ACOS: return MATH(acos)(x);
    case TAKT_MAP_ATAN: return MATH(atan)(x);
    case TAKT_MAP_SINH: return MATH(sinh)(x);
    case TAKT_MAP_COSH: return MATH(cosh)(x);
    case TAKT_MAP_ASINH: return MATH(asinh)(x);
    case TAKT_MAP_ACOSH: return MATH(acosh)(x);
    case TAKT_MAP_ATANH: return MATH(atanh)(x);
    case TAKT_MAP_POW: return MATH(pow)(x, y);
    case TAKT_MAP_REM: return OF(rem)(x, y);
    case TAKT_MAP_MOD: return OF(mod)(x, y);
    default: return OF(plain)(op, x, y);
    }
}

DEVICE bool OF(holds)(uint8_t op, T x, T y)
{
    switch (op) {
    case TAKT_MAP_IS_NAN: return x != x;
    case TAKT_MAP_IS_INF: return VEC(abs)(x) == (T)INFINITY; COMPARISONS
    }
}

#undef T
#undef BITS
#undef FRACTION
#undef VEC
#undef MATH
#undef OF
