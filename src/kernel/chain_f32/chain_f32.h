/* chain_f32.h - contract of several element-wise operations in one pass.
 *
 *     v = x[i]
 *     v = op(v, with[i]), or op(with[i], v) where at is 1      for each link in turn
 *     to[i] = v                                                after each link that has `to`
 *
 *   operations  those of takt_chain_has, as map_f32 computes them, each rounded by itself
 *   select      mask[i] ? v : with[i] where at is 1, mask[i] ? with[i] : v where it is 2
 *   predicates  only as the last link; `to` gets bytes 0 or 1
 *   scalars     x, or `with`, is one value, used for every i
 *   bits        equal in every variant, and to the operations one by one, NaN payloads apart
 *   aliasing    `to` may be exactly x, or exactly `with` of any link; a later link reads there what
 *               was written. No other overlap.
 *   reads       exactly n elements of each operand; no alignment
 */
#ifndef TAKT_KERNEL_CHAIN_F32_H
#define TAKT_KERNEL_CHAIN_F32_H

#include <stddef.h>

#include "kernel/kernel.h"
#include "kernel/map/map.h"

enum { TAKT_CHAIN_MOST = 12 };
/* The code of a link besides operations of map: x rounded to f16, as f32. */
enum { TAKT_CHAIN_F16 = TAKT_MAP_OP_COUNT };

typedef struct takt_chain_link {
    takt_map_op op;
    unsigned char at;    /* which operand of `op` is the value so far; 1 or 2 for select */
    bool is_scalar;      /* of `with` */
    const float *with;   /* the other operand, if there is one */
    const uint8_t *mask; /* of select */
    void *to;            /* or NULL */
} takt_chain_link;

typedef struct takt_chain_f32 {
    size_t n, count; /* count <= TAKT_CHAIN_MOST */
    const float *x;
    bool is_scalar; /* of x */
    takt_chain_link link[TAKT_CHAIN_MOST];
} takt_chain_f32;

typedef void takt_chain_f32_fn(const takt_chain_f32 *c);

/* Whether a link can compute the operation. */
static inline bool takt_chain_has(takt_map_op op)
{
    switch ((int)op) {
    case TAKT_MAP_COPY:
    case TAKT_MAP_NEG:
    case TAKT_MAP_ABS:
    case TAKT_MAP_SQUARE:
    case TAKT_MAP_SQRT:
    case TAKT_MAP_RELU:
    case TAKT_MAP_ADD:
    case TAKT_MAP_SUB:
    case TAKT_MAP_MUL:
    case TAKT_MAP_DIV:
    case TAKT_MAP_MIN:
    case TAKT_MAP_MAX:
    case TAKT_MAP_EQ:
    case TAKT_MAP_NE:
    case TAKT_MAP_LT:
    case TAKT_MAP_LE:
    case TAKT_MAP_GT:
    case TAKT_MAP_GE:
    case TAKT_MAP_SELECT:
    case TAKT_CHAIN_F16: return true;
    default: return false;
    }
}

TAKT_KERNEL_FAMILY(chain_f32, takt_chain_f32_fn)

#endif
