/* half.h - narrow floats: exact conversion to double and correctly rounded (half-even) from it.
 * Overflow gives infinity, or the largest finite value in the formats without infinity (e4m3fn
 * gives NaN for infinite input, saturates finite input only when asked to).
 *
 * The f8 formats follow ONNX's Cast: without `saturate` what is too large becomes infinity (e5m2)
 * or NaN (the others); with it, the largest finite value, infinite input included, except that the
 * fnuz formats turn infinity into NaN. e8m0 is unsigned: negative input gives NaN, zero gives the
 * smallest value. f4e2m1 has neither NaN nor infinity: it saturates, and NaN gives 0. */
#ifndef TAKT_BASE_HALF_H
#define TAKT_BASE_HALF_H

#include <stdbool.h>
#include <stdint.h>

double takt_f16_to_f64(uint16_t bits);
uint16_t takt_f16_from_f64(double value);
double takt_bf16_to_f64(uint16_t bits);
uint16_t takt_bf16_from_f64(double value);

typedef enum takt_f8_kind {
    TAKT_E4M3FN,
    TAKT_E4M3FNUZ,
    TAKT_E5M2,
    TAKT_E5M2FNUZ,
    TAKT_E8M0,
} takt_f8_kind;
double takt_f8_to_f64(takt_f8_kind kind, uint8_t bits);
uint8_t takt_f8_from_f64(takt_f8_kind kind, double value, bool saturate);
/* f4e2m1: the low four bits. */
double takt_f4_to_f64(uint8_t bits);
uint8_t takt_f4_from_f64(double value);

#endif
