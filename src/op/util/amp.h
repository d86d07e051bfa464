/* amp.h - how mixed precision treats an op: bits of `traits` in its record.
 *
 * Without a bit, an op follows its inputs: if one of them is in 16 bits it is computed in f32, as
 * its gradient is, and its result is rounded to 16 bits.
 */
#ifndef TAKT_OP_UTIL_AMP_H
#define TAKT_OP_UTIL_AMP_H

enum {
    /* Reads and writes 16 bits and sums in f32: products and convolutions. */
    TAKT_AMP_FACTORS = 1 << 16,
    /* Each element of the result is an element of an input, so that rounding may come before or
     * after. Implied for views. */
    TAKT_AMP_CHOOSES = 1 << 17,
    /* In f32, including its result: losses, and ops that leave the range of f16. Implied for
     * reductions. */
    TAKT_AMP_WIDE = 1 << 18,
    /* A reduction whose result is an activation: it reads 16 bits if its input is in them, sums in
     * f32 and rounds once. */
    TAKT_AMP_FOLLOWS = 1 << 19,
    /* Element-wise: if all inputs are in 16 bits it is applied to them directly, with the same
     * result, and its gradient reads 16 bits, too. */
    TAKT_AMP_SIMPLE = 1 << 21,
    /* Rows of a parameter become activations: these are rounded, the parameter is not. */
    TAKT_AMP_TABLE = 1 << 20,
};

#endif
