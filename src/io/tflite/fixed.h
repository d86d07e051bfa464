/* fixed.h - the fixed-point arithmetic of TensorFlow Lite on single numbers, for tables and
 * constants made during import.
 *
 * A number of `bits` bits (16 or 32) with i integer bits stands for raw * 2^(i + 1 - bits).
 */
#ifndef TAKT_IO_TFLITE_FIXED_H
#define TAKT_IO_TFLITE_FIXED_H

#include <stdbool.h>
#include <stdint.h>

/* value = multiplier * 2^(shift - 31) */
typedef struct takt_tfl_fixed {
    int32_t multiplier, shift;
} takt_tfl_fixed;

/* The nearest to `value`, which is finite and not negative; less than 2^-31 becomes 0. */
takt_tfl_fixed takt_tfl_fixed_of(double value);
/* x * f, rounded twice, as the op `rescale` does it. */
int32_t takt_tfl_fixed_scale(int32_t x, takt_tfl_fixed f);

/* High half of 2 * a * b, rounded; and x / 2^by, halves away from zero. */
int64_t takt_fx_mul(int64_t a, int64_t b, int bits);
int64_t takt_fx_divide(int64_t x, int by);
/* e^a of a <= 0 with `integer` integer bits, as a number with none. */
int64_t takt_fx_exp(int64_t a, int integer, int bits);
/* 1 / (1 + a) of a number from 0 to 1. */
int64_t takt_fx_reciprocal(int64_t a, int bits);
/* 1 / sqrt(x) of a positive number. */
takt_tfl_fixed takt_fx_inverse_root(int32_t x);
int64_t takt_fx_logistic(int64_t a, int integer, int bits);
int64_t takt_fx_tanh(int64_t a, int integer, int bits);
/* Half away from zero, as the C library's round. */
double takt_fx_round(double x);

#endif
