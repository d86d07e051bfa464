/* quant.h - arithmetic on quantised tensors, as in LiteRT's reference kernels. */
#ifndef TAKT_IO_TFLITE_QUANT_H
#define TAKT_IO_TFLITE_QUANT_H

#include "io/tflite/adapt.h"
#include "io/tflite/fixed.h"

/* A tensor's scale and zero point, the same for all of its elements. */
typedef struct takt_tfl_quant {
    float scale;
    int32_t zero;
} takt_tfl_quant;

/* int8, uint8 or int16 with a scale. */
bool takt_tfl_is_quantised(const takt_tfl_tensor *t);
/* Refuses the operator if the tensor has none, or an impossible one. */
takt_tfl_quant takt_tfl_quant_of(takt_tfl_call *c, const takt_tfl_tensor *t);
/* A real number as in a tensor, within 32 bits. */
int32_t takt_tfl_level(takt_tfl_quant q, float value);
/* Scale of entry `i` along the quantised axis; refuses impossible ones. */
float takt_tfl_scale_at(takt_tfl_call *c, const takt_tfl_tensor *t, size_t i);
/* The least and greatest number of a type, clipped by an activation. */
typedef struct takt_tfl_range {
    int32_t low, high;
} takt_tfl_range;
takt_tfl_range takt_tfl_range_of(takt_dtype dtype);
/* Types whose functions fit a table of 256 entries; bools have eight bits, but are excluded. */
static inline bool takt_tfl_is_byte(takt_dtype dtype)
{
    return dtype == TAKT_I8 || dtype == TAKT_U8;
}
takt_tfl_range takt_tfl_activation(takt_tfl_call *c, const takt_tfl_tensor *t, int activation);

/* x in i32 minus its zero point. */
takt_id takt_tfl_centred(takt_tfl_call *c, takt_id x, int32_t zero);
/* x * f of i32, or of i64 with 16 bits of f: the op `rescale`. */
takt_id takt_tfl_rescale(takt_tfl_call *c, takt_id x, takt_tfl_fixed f);
/* x + zero, clamped, in the type. */
takt_id takt_tfl_saturate(takt_tfl_call *c, takt_id x, int32_t zero, takt_tfl_range range,
                          takt_dtype dtype);
/* Same bounds for a value that already has the type; does nothing if they are the type's. */
takt_id takt_tfl_bound(takt_tfl_call *c, takt_id x, takt_tfl_range range);
/* Quantises x to the type of tensor `t`, halves away from zero. */
takt_id takt_tfl_quantise(takt_tfl_call *c, takt_id x, const takt_tfl_tensor *t);
typedef struct takt_tfl_grid {
    takt_dtype dtype; /* of 8 or 16 bits */
    int32_t zero;     /* a value of that type */
    takt_tfl_range range;
} takt_tfl_grid;
/* With one scalar scale; rounds halves away from zero. */
takt_id takt_tfl_quantise_away(takt_tfl_call *c, takt_id x, takt_id scale, bool is_product,
                               takt_tfl_grid to);
takt_id takt_tfl_dequantise(takt_tfl_call *c, takt_id x, const takt_tfl_tensor *t);
/* x of 8 bits, less its zero point, times 2^bits and `f`, as a table of i32. */
takt_id takt_tfl_raised(takt_tfl_call *c, takt_id x, int32_t zero, int bits, takt_tfl_fixed f);
/* x minus `zero`, times `f`, requantised as tensor `to`: bytes by a table. */
takt_id takt_tfl_moved(takt_tfl_call *c, takt_id x, int32_t zero, takt_tfl_fixed f,
                       const takt_tfl_tensor *to, takt_tfl_range range);
/* Requantises x from one tensor's scale to another's, in fixed point. */
takt_id takt_tfl_requantise(takt_tfl_call *c, takt_id x, const takt_tfl_tensor *from,
                            const takt_tfl_tensor *to);
/* Floats rounded, halves away from zero. */
takt_id takt_tfl_round_away(takt_tfl_call *c, takt_id x);

/* A table for every value of the 8-bit input: round(f(real) / scale) + zero. */
typedef double takt_tfl_function(double x, const void *user);
takt_id takt_tfl_table(takt_tfl_call *c, takt_tfl_function *f, const void *user);
/* A table from numbers: 256 or 65536 of them, by the bits of x. */
takt_id takt_tfl_look_up(takt_tfl_call *c, takt_id x, takt_dtype dtype, const int64_t *table);
/* Memory for a table of 65536 entries, the same for all: they are copied when they are complete,
 * and count with the bytes of the copy. */
int64_t *takt_tfl_scratch_table(takt_tfl_call *c);
/* The logistic function and tanh of 16 bits with 3 integer bits, as in recurrent layers; tanh of
 * others too. */
takt_id takt_tfl_gate(takt_tfl_call *c, takt_id x, bool is_tanh, int integer);

/* Same for 16-bit operators with any scale, interpolated in a coarser table. */
takt_id takt_tfl_wide_table(takt_tfl_call *c, bool is_tanh);
/* 513 points of a function of 16 bits, and the number at `x` between two of them. */
typedef struct takt_tfl_points {
    int32_t at[513];
} takt_tfl_points;
void takt_tfl_set_points(takt_tfl_points *p, takt_tfl_quant in, float out_scale,
                         takt_tfl_function *f, const void *user);
int32_t takt_tfl_between(const takt_tfl_points *p, int32_t x);
/* The same for all of x, and for an operator that is such a function of its input. */
takt_id takt_tfl_all_between(takt_tfl_call *c, takt_id x, const takt_tfl_points *p);
takt_id takt_tfl_points_table(takt_tfl_call *c, takt_tfl_function *f, const void *user);

/* ---- products (product.c) ---- */

/* From the sums of a fully connected layer or convolution to its result: multipliers per channel,
 * zero point and activation. */
typedef struct takt_tfl_product {
    takt_id x, w, bias; /* w: [out, ...], bytes; bias: TAKT_NONE if absent */
    const takt_tfl_tensor *tx, *tw, *ty;
    size_t columns;
    int activation;
    bool is_rounded; /* the product of both scales is rounded to a float */
    bool is_wide;    /* sums are scaled in doubles: fully connected layers */
    const takt_op *op;
    size_t attr_count;
    const takt_named_attr *attrs;
} takt_tfl_product;
takt_id takt_tfl_integer_product(takt_tfl_call *c, const takt_tfl_product *p);
/* DIV of bytes (quotient.c). */
takt_id takt_tfl_quotient(takt_tfl_call *c, int activation);
/* SQRT or RSQRT of bytes (root.c). */
takt_id takt_tfl_root(takt_tfl_call *c, bool is_inverse);
/* Weights of 2 or 4 bits as bytes; others unchanged. */
takt_id takt_tfl_as_bytes(takt_tfl_call *c, takt_id w);
/* Bytes of float activations: per row (all axes but the last), or per sample. */
typedef struct takt_tfl_dynamic {
    takt_id q, scale, zero; /* i8; f32 [rows..., 1]; i32 of that shape, or TAKT_NONE */
} takt_tfl_dynamic;
takt_tfl_dynamic takt_tfl_dynamic_of(takt_tfl_call *c, takt_id x, bool is_asymmetric,
                                     bool is_sample);

#endif
