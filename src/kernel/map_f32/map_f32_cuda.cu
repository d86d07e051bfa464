/* map_f32_cuda.cu - element-wise programs on a device.
 *
 * A program is what the planner fused: instructions over registers, each a group of four elements a
 * thread keeps in shared memory. All threads take the same branch of the switch, so an instruction
 * costs a few cycles more than its arithmetic; memory is the limit up to some ten of them. Programs
 * need no compiler at run time, and the tests run them on the CPU (docs/decisions).
 *
 * There are three kernels: for programs without elementary functions, with the common ones, and
 * with any. The fewer registers a kernel needs, the more loads are on their way at once.
 */
#include "kernel/map_f32/cuda_words.h"

/* The values of four elements; 0 and 1 of predicates are floats as well. */
#define EACH TAKT_CUDA_MAP_EACH
#define NAMED(name) name##_four
#include "kernel/map_f32/cuda_ops.inc"

typedef values_four four;

/* A magnitude as exponent and 24 bits, the highest of them set. */
typedef struct parts {
    int32_t exponent;
    uint32_t bits;
} parts;

DEVICE parts parts_of(uint32_t magnitude)
{
    parts p;
    p.exponent = (int32_t)(magnitude >> 23);
    p.bits = magnitude & 0x7fffff;
    if (p.exponent > 0)
        p.bits |= 0x800000;
    for (p.exponent += p.exponent == 0; p.bits < 0x800000; p.exponent--)
        p.bits <<= 1;
    return p;
}

/* C's fmod, exact, bit by bit: the device's own divides by approximations on the way. */
DEVICE float rem_of(float a, float b)
{
    uint32_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    const uint32_t sign = x & 0x80000000;
    x &= 0x7fffffff;
    y &= 0x7fffffff;
    if (y == 0 || x >= 0x7f800000 || y > 0x7f800000)
        return NAN;
    if (x < y)
        return a;
    parts p = parts_of(x);
    const parts q = parts_of(y);
    for (; p.exponent > q.exponent && p.bits != 0; p.exponent--)
        p.bits = (p.bits >= q.bits ? p.bits - q.bits : p.bits) << 1;
    p.bits = p.bits >= q.bits ? p.bits - q.bits : p.bits;
    for (p.exponent = q.exponent; p.bits != 0 && p.bits < 0x800000 && p.exponent > 1; p.exponent--)
        p.bits <<= 1;
    if (p.bits >= 0x800000 && p.exponent >= 1)
        x = sign | (uint32_t)p.exponent << 23 | (p.bits & 0x7fffff);
    else
        x = sign | p.bits >> (p.exponent < 1 ? 1 - p.exponent : 0);
    memcpy(&a, &x, sizeof a);
    return a;
}

/* Moves the remainder to the side of b; a zero takes b's sign. */
DEVICE float mod_of(float a, float b)
{
    const float r = rem_of(a, b);
    if (r == 0.0f)
        return vf_copysign(0.0f, b);
    return (r < 0.0f) != (b < 0.0f) ? r + b : r;
}

/* The rarer functions, in a quarter of the code. */
#define EACH_IN_TURN(expression)                                                                   \
    ROLL for (int i = 0; i < EACH; i++)                                                            \
    {                                                                                              \
        const float x = a->v[i], y = b->v[i];                                                      \
        (void)y;                                                                                   \
        r->v[i] = expression;                                                                      \
    }                                                                                              \
    break

DEVICE void rare(uint8_t op, four *r, const four *a, const four *b)
{
    switch (op) {
    case TAKT_MAP_EXPM1: EACH_IN_TURN(expm1_f32(x));
    case TAKT_MAP_LOG1P: EACH_IN_TURN(log1p_f32(x));
    case TAKT_MAP_EXP2: EACH_IN_TURN(exp2_f32(x));
    case TAKT_MAP_LOG2: EACH_IN_TURN(log2_f32(x));
    case TAKT_MAP_SIN: EACH_IN_TURN(sin_f32(x));
    case TAKT_MAP_COS: EACH_IN_TURN(cos_f32(x));
    case TAKT_MAP_TAN: EACH_IN_TURN(tan_f32(x));
    case TAKT_MAP_ASIN: EACH_IN_TURN(asin_f32(x));
    case TAKT_MAP_ACOS: EACH_IN_TURN(acos_f32(x));
    case TAKT_MAP_ATAN: EACH_IN_TURN(atan_f32(x));
    case TAKT_MAP_SINH: EACH_IN_TURN(sinh_f32(x));
    case TAKT_MAP_COSH: EACH_IN_TURN(cosh_f32(x));
    case TAKT_MAP_ASINH: EACH_IN_TURN(asinh_f32(x));
    case TAKT_MAP_ACOSH: EACH_IN_TURN(acosh_f32(x));
    case TAKT_MAP_ATANH: EACH_IN_TURN(atanh_f32(x));
    case TAKT_MAP_POW: EACH_IN_TURN(pow_f32(x, y));
    case TAKT_MAP_REM: EACH_IN_TURN(rem_of(x, y));
    default: /* TAKT_MAP_MOD */ EACH_IN_TURN(mod_of(x, y));
    }
}

DEVICE float load_one(const takt_cuda_operand *o, int64_t at)
{
    return o->is_byte ? (float)((const uint8_t *)o->data)[at] : ((const float *)o->data)[at];
}

/* The position of element `i` of the result in a broadcast operand. */
DEVICE int64_t place_of(const takt_cuda_map *m, const takt_cuda_operand *o, uint32_t i)
{
    int64_t at = 0;
    for (uint32_t d = m->dims; d-- > 1;) {
        at += (int64_t)(i % m->dim[d]) * o->stride[d];
        i /= m->dim[d];
    }
    return at + (int64_t)i * o->stride[0];
}

DEVICE void load(const takt_cuda_map *m, const takt_cuda_operand *o, uint64_t first, uint32_t count,
                 four *r)
{
    if (o->form == TAKT_CUDA_FULL && count == EACH && !o->is_byte && is_aligned(o->data)) {
        const quad q = *(const quad *)((const float *)o->data + first);
        r->v[0] = q.x;
        r->v[1] = q.y;
        r->v[2] = q.z;
        r->v[3] = q.w;
        return;
    }
    for (uint32_t i = 0; i < EACH; i++) {
        const uint64_t e = first + (i < count ? i : 0);
        r->v[i] = load_one(o, o->form == TAKT_CUDA_FULL  ? (int64_t)e
                              : o->form == TAKT_CUDA_ONE ? 0
                                                         : place_of(m, o, (uint32_t)e));
    }
}

DEVICE void store(const takt_cuda_instruction *c, void *out, uint64_t first, uint32_t count,
                  const four *r)
{
    if (!c->is_byte && count == EACH && is_aligned(out)) {
        quad q;
        q.x = r->v[0];
        q.y = r->v[1];
        q.z = r->v[2];
        q.w = r->v[3];
        *(quad *)((float *)out + first) = q;
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        if (c->is_byte)
            ((uint8_t *)out)[first + i] = r->v[i] != 0.0f;
        else
            ((float *)out)[first + i] = r->v[i];
}

DEVICE void source(const takt_cuda_map *m, uint8_t from, const four *registers, uint64_t first,
                   uint32_t count, four *r)
{
    if (from < TAKT_CUDA_MAP_CODE)
        *r = registers[from * TAKT_CUDA_MAP_THREADS];
    else
        load(m, &m->in[from - TAKT_CUDA_MAP_CODE], first, count, r);
}

DEVICE void carry_out(const takt_cuda_map *m, takt_cuda_map_kind kind,
                      four *registers SELF_PARAMETER)
{
    const uint64_t first = INDEX * EACH;
    if (first >= m->count)
        return;
    const uint32_t count = m->count - first < EACH ? (uint32_t)(m->count - first) : EACH;
    for (uint32_t k = 0; k < m->code_count; k++) {
        const takt_cuda_instruction *c = &m->code[k];
        four r, a, b, last;
        source(m, c->from[0], registers, first, count, &a);
        if (c->from[1] != c->from[0])
            source(m, c->from[1], registers, first, count, &b);
        else
            b = a;
        if (kind == TAKT_CUDA_MAP_LIGHT || takt_cuda_map_kind_of(c->op) == TAKT_CUDA_MAP_LIGHT) {
            if (c->op == TAKT_MAP_SELECT)
                source(m, c->from[2], registers, first, count, &last);
            light_four(c->op, &r, &a, &b, &last);
        } else if (kind == TAKT_CUDA_MAP_COMMON ||
                   takt_cuda_map_kind_of(c->op) == TAKT_CUDA_MAP_COMMON) {
            common_four(c->op, &r, &a, &b);
        } else {
            rare(c->op, &r, &a, &b);
        }
        if (k + 1 < m->code_count) /* nothing reads the last one */
            registers[c->to * TAKT_CUDA_MAP_THREADS] = r;
        if (c->is_output)
            store(c, m->out[k], first, count, &r);
    }
}

KERNEL(takt_cuda_map_f32_light, takt_cuda_map, TAKT_CUDA_MAP_THREADS, 12)
{
    DYNAMIC(four, shared);
    carry_out(&ARG, TAKT_CUDA_MAP_LIGHT, shared + LANE SELF);
}

KERNEL(takt_cuda_map_f32, takt_cuda_map, TAKT_CUDA_MAP_THREADS, 10)
{
    DYNAMIC(four, shared);
    carry_out(&ARG, TAKT_CUDA_MAP_COMMON, shared + LANE SELF);
}

KERNEL(takt_cuda_map_f32_any, takt_cuda_map, TAKT_CUDA_MAP_THREADS)
{
    DYNAMIC(four, shared);
    carry_out(&ARG, TAKT_CUDA_MAP_RARE, shared + LANE SELF);
}
