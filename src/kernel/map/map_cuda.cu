/* map_cuda.cu - element-wise programs of any element types, which map_f32_cuda.cu does not take.
 *
 * A thread computes an element. Registers hold words of a compute type; every result is rounded or
 * wrapped to its own type, as on the cpu, so fusing changes no bit.
 */
#include "kernel/cuda/args.h"
#include "kernel/cuda/lang.h"
#include "kernel/cuda/math.inc"

#include "kernel/cuda/element.inc"
#include "kernel/map/map.h"

/* Cases of a switch over operations; the last is TAKT_MAP_GE. */
#define COMPARISONS                                                                                \
    case TAKT_MAP_EQ: return x == y;                                                               \
    case TAKT_MAP_NE: return x != y;                                                               \
    case TAKT_MAP_LT: return x < y;                                                                \
    case TAKT_MAP_LE: return x <= y;                                                               \
    case TAKT_MAP_GT: return x > y;                                                                \
    default: return x >= y;

#define T float
#define BITS uint32_t
#define FRACTION 23
#define VEC(name) vf_##name
#define MATH(name) name##_f32
#define OF(name) name##_of_f32
#include "kernel/map/cuda_float.inc"

#define T double
#define BITS uint64_t
#define FRACTION 52
#define VEC(name) vd_##name
#define MATH(name) name##_f64
#define OF(name) name##_of_f64
#include "kernel/map/cuda_float.inc"

#define T int32_t
#define U uint32_t
#define WIDTH 32
#define IS_SIGNED 1
#define OF(name) name##_of_i32
#include "kernel/map/cuda_int.inc"

#define T uint32_t
#define U uint32_t
#define WIDTH 32
#define IS_SIGNED 0
#define OF(name) name##_of_u32
#include "kernel/map/cuda_int.inc"

#define T int64_t
#define U uint64_t
#define WIDTH 64
#define IS_SIGNED 1
#define OF(name) name##_of_i64
#include "kernel/map/cuda_int.inc"

#define T uint64_t
#define U uint64_t
#define WIDTH 64
#define IS_SIGNED 0
#define OF(name) name##_of_u64
#include "kernel/map/cuda_int.inc"

DEVICE bool is_predicate(uint8_t op)
{
    return op == TAKT_MAP_IS_NAN || op == TAKT_MAP_IS_INF ||
           (op >= TAKT_MAP_EQ && op <= TAKT_MAP_GE);
}

DEVICE word predicate(const takt_cuda_instruction *c, word a, word b)
{
    switch (c->as) {
    case TAKT_F64: return holds_of_f64(c->op, f64_of(a), f64_of(b));
    case TAKT_F32: return holds_of_f32(c->op, f32_of(a), f32_of(b));
    case TAKT_I64: return holds_of_i64(c->op, (int64_t)a, (int64_t)b);
    case TAKT_I32: return holds_of_i32(c->op, (int32_t)(uint32_t)a, (int32_t)(uint32_t)b);
    default: return holds_of_u64(c->op, a, b);
    }
}

/* A word of the compute type that the operation reads. */
DEVICE word computed(const takt_cuda_instruction *c, word a, word b, bool *bad)
{
    switch (c->as) {
    case TAKT_F64: return word_of_f64(function_of_f64(c->op, f64_of(a), f64_of(b)));
    case TAKT_F32: return word_of_f32(function_of_f32(c->op, f32_of(a), f32_of(b)));
    case TAKT_I64: return (word)computed_of_i64(c->op, (int64_t)a, (int64_t)b, bad);
    case TAKT_U64: return computed_of_u64(c->op, a, b, bad);
    case TAKT_I32:
        return (uint32_t)computed_of_i32(c->op, (int32_t)(uint32_t)a, (int32_t)(uint32_t)b, bad);
    case TAKT_U32: return computed_of_u32(c->op, (uint32_t)a, (uint32_t)b, bad);
    default: /* bool */
        return c->op == TAKT_MAP_NOT ? a == 0 : computed_of_u32(c->op, (uint32_t)a, (uint32_t)b, bad);
    }
}

/* The result as bits of its own type. */
DEVICE word result_of(const takt_cuda_instruction *c, word a, word b, word last, bool *bad)
{
    if (c->cast != TAKT_CUDA_NO_CAST)
        return narrowed(c->dtype, c->as, c->cast == TAKT_CUDA_CAST_SATURATING, a);
    if (is_predicate(c->op))
        return predicate(c, a, b);
    if (c->op == TAKT_MAP_SELECT)
        return narrowed(c->dtype, c->as, false, a != 0 ? b : last);
    return narrowed(c->dtype, c->as, false, computed(c, a, b, bad));
}

/* The position of element `i` of the result in an operand. */
DEVICE int64_t place_of(const takt_cuda_map *m, const takt_cuda_operand *o, uint32_t i)
{
    int64_t at = 0;
    if (o->form == TAKT_CUDA_FULL)
        return i;
    if (o->form == TAKT_CUDA_ONE)
        return 0;
    for (uint32_t d = m->dims; d-- > 1;) {
        at += (int64_t)(i % m->dim[d]) * o->stride[d];
        i /= m->dim[d];
    }
    return at + (int64_t)i * o->stride[0];
}

DEVICE word source(const takt_cuda_map *m, uint8_t from, const word *registers, uint32_t i)
{
    if (from < TAKT_CUDA_MAP_CODE)
        return registers[from * TAKT_CUDA_MAP_THREADS];
    const takt_cuda_operand *o = &m->in[from - TAKT_CUDA_MAP_CODE];
    return loaded(o->dtype, o->data, place_of(m, o, i));
}

KERNEL(takt_cuda_map_mixed, takt_cuda_map, TAKT_CUDA_MAP_THREADS)
{
    DYNAMIC(word, shared);
    word *const registers = shared + LANE;
    const uint64_t index = INDEX;
    const uint32_t i = (uint32_t)index;
    if (index >= ARG.count)
        return;
    for (uint32_t k = 0; k < ARG.code_count; k++) {
        const takt_cuda_instruction *c = &ARG.code[k];
        bool bad = false;
        const word a = source(&ARG, c->from[0], registers, i);
        const word b = source(&ARG, c->from[1], registers, i);
        const word last = c->op == TAKT_MAP_SELECT ? source(&ARG, c->from[2], registers, i) : 0;
        const word bits = result_of(c, a, b, last, &bad);
        if (bad && ARG.fault != NULL)
            least(ARG.fault, index);
        registers[c->to * TAKT_CUDA_MAP_THREADS] = widened(c->dtype, bits);
        if (c->is_output)
            stored(c->dtype, ARG.out[k], (int64_t)index, bits);
    }
}
