/* cuda_ops.h - element-wise operations on EACH values of a thread: a template. NAMED gives names.
 */

typedef struct NAMED(values) {
    float v[EACH];
} NAMED(values);

DEVICE void NAMED(light)(uint8_t op, NAMED(values) * r, const NAMED(values) * a,
                         const NAMED(values) * b, const NAMED(values) * c)
{
    switch (op) {
    case TAKT_MAP_COPY: ALL(x);
    case TAKT_MAP_NEG: ALL(vf_neg(x));
    case TAKT_MAP_ABS: ALL(vf_abs(x));
    case TAKT_MAP_SIGN: ALL(sign_of(x));
    case TAKT_MAP_SQUARE: ALL(x * x);
    case TAKT_MAP_SQRT: ALL(sqrtf(x));
    case TAKT_MAP_RSQRT: ALL(1.0f / sqrtf(x));
    case TAKT_MAP_RECIPROCAL: ALL(1.0f / x);
    case TAKT_MAP_FLOOR: ALL(floorf(x));
    case TAKT_MAP_CEIL: ALL(ceilf(x));
    case TAKT_MAP_ROUND: ALL(rintf(x));
    case TAKT_MAP_TRUNC: ALL(truncf(x));
    case TAKT_MAP_RELU: ALL(vf_relu(x));
    case TAKT_MAP_NOT: ALL(x == 0.0f ? 1.0f : 0.0f);
    case TAKT_MAP_IS_NAN: ALL(x != x ? 1.0f : 0.0f);
    case TAKT_MAP_IS_INF: ALL(vf_abs(x) == INFINITY ? 1.0f : 0.0f);
    case TAKT_MAP_ADD: ALL(x + y);
    case TAKT_MAP_SUB: ALL(x - y);
    case TAKT_MAP_MUL: ALL(x * y);
    case TAKT_MAP_DIV: ALL(x / y);
    case TAKT_MAP_MIN: ALL(vf_min(x, y));
    case TAKT_MAP_MAX: ALL(vf_max(x, y));
    case TAKT_MAP_AND: ALL(x * y);
    case TAKT_MAP_OR: ALL(x == 0.0f ? y : x);
    case TAKT_MAP_XOR:
    case TAKT_MAP_NE: ALL(x != y ? 1.0f : 0.0f);
    case TAKT_MAP_EQ: ALL(x == y ? 1.0f : 0.0f);
    case TAKT_MAP_LT: ALL(x < y ? 1.0f : 0.0f);
    case TAKT_MAP_LE: ALL(x <= y ? 1.0f : 0.0f);
    case TAKT_MAP_GT: ALL(x > y ? 1.0f : 0.0f);
    case TAKT_MAP_GE: ALL(x >= y ? 1.0f : 0.0f);
    default: /* TAKT_MAP_SELECT */ ALL(x != 0.0f ? y : c->v[i]);
    }
}

DEVICE void NAMED(common)(uint8_t op, NAMED(values) * r, const NAMED(values) * a,
                          const NAMED(values) * b)
{
    switch (op) {
    case TAKT_MAP_SIGMOID: ALL(sigmoid_f32(x));
    case TAKT_MAP_TANH: ALL(tanh_f32(x));
    case TAKT_MAP_ERF: ALL(erf_f32(x));
    case TAKT_MAP_GELU: ALL(gelu_f32(x));
    case TAKT_MAP_GELU_TANH: ALL(gelu_tanh_f32(x));
    case TAKT_MAP_HARD_SWISH: ALL(hard_swish_f32(x));
    case TAKT_MAP_EXP: ALL(exp_f32(x));
    default: /* TAKT_MAP_LOG */ ALL(log_f32(x));
    }
}
