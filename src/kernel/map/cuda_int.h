/* cuda_int.h - element-wise operations of one integer type for device code.
 *
 * Included after T (the type), U (its unsigned form), WIDTH (its bits), IS_SIGNED, and OF(name),
 * which names what is defined here. Integers wrap; a zero divisor sets *bad.
 */

DEVICE T OF(quotient)(T a, T b, bool *bad)
{
    if (b == 0) {
        *bad = true;
        return 0;
    }
    return IS_SIGNED && b == (T)-1 ? (T)((U)0 - (U)a) : (T)(a / b);
}

DEVICE T OF(rem)(T a, T b, bool *bad)
{
    if (b == 0) {
        *bad = true;
        return 0;
    }
    return IS_SIGNED && b == (T)-1 ? 0 : (T)(a % b);
}

/* By squaring, modulo 2^WIDTH. */
DEVICE T OF(pow)(T a, T b, bool *bad)
{
    if (IS_SIGNED && b < 1 && b != 0) {
        *bad |= a == 0;
        return a == 1 ? 1 : a == (T)-1 ? ((b & 1) ? (T)-1 : 1) : 0;
    }
    U base = (U)a, result = 1;
    for (U e = (U)b; e != 0; e >>= 1, base *= base)
        result *= (e & 1) ? base : 1;
    return (T)result;
}

DEVICE T OF(computed)(uint8_t op, T a, T b, bool *bad)
{
    T r;
    switch (op) {
    case TAKT_MAP_NEG: return (T)((U)0 - (U)a);
    case TAKT_MAP_ABS: return IS_SIGNED && a < 1 ? (T)((U)0 - (U)a) : a;
    case TAKT_MAP_SIGN: return (T)((a > 0) - (IS_SIGNED && a < 1 && a != 0));
    case TAKT_MAP_SQUARE: return (T)((U)a * (U)a);
    case TAKT_MAP_RELU: return IS_SIGNED && a < 1 ? 0 : a;
    case TAKT_MAP_NOT: return (T) ~(U)a;
    case TAKT_MAP_ADD: return (T)((U)a + (U)b);
    case TAKT_MAP_SUB: return (T)((U)a - (U)b);
    case TAKT_MAP_MUL: return (T)((U)a * (U)b);
    case TAKT_MAP_DIV: return OF(quotient)(a, b, bad);
    case TAKT_MAP_REM: return OF(rem)(a, b, bad);
    case TAKT_MAP_MOD:
        r = OF(rem)(a, b, bad);
        return IS_SIGNED && r != 0 && (r > 0) != (b > 0) ? (T)(r + b) : r;
    case TAKT_MAP_POW: return OF(pow)(a, b, bad);
    case TAKT_MAP_MIN: return a < b ? a : b;
    case TAKT_MAP_MAX: return a > b ? a : b;
    case TAKT_MAP_AND: return a & b;
    case TAKT_MAP_OR: return a | b;
    case TAKT_MAP_XOR: return a ^ b;
    case TAKT_MAP_SHL: return (U)b < WIDTH ? (T)((U)a << (U)b) : (T)0;
    case TAKT_MAP_SHR: return (U)b < WIDTH ? (T)(a >> b) : (T)0;
    case TAKT_MAP_SHR8: return (U)b < 8 ? (T)(a >> b) : (T)0;
    case TAKT_MAP_SHR16: return (U)b < 16 ? (T)(a >> b) : (T)0;
    default: /* TAKT_MAP_COPY */ return a;
    }
}

DEVICE bool OF(holds)(uint8_t op, T x, T y)
{
    switch (op) {
        COMPARISONS
    }
}

#undef T
#undef U
#undef WIDTH
#undef IS_SIGNED
#undef OF
