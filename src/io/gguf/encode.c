/* encode.c - encodes floats in the types GGUF files use. Blocks are bit-identical to ggml's
 * reference. */
#include <math.h>
#include <string.h>

#include "io/gguf/gguf_write.h"
#include "ir/dtype.h"
#include "kernel/ggml_f32/ggml_f32.h"

enum { BLOCK = 32 };

static const char *const names[] = {"F32",  "F16",  "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0",
                                    "Q5_1", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL"};
static const uint32_t numbers[] = {0, 1, 30, 8, 2, 3, 6, 7, 10, 11, 12, 13, 14, 20};

static bool is_name(const char *a, const char *b)
{
    for (; *a != '\0' && *b != '\0'; a++, b++)
        if (*a != *b && !(*a >= 'a' && *a <= 'z' && *a - 32 == *b))
            return false;
    return *a == *b;
}

const takt_gguf_type *takt_gguf_written_type(const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_name(name, names[i]))
            return takt_gguf_type_of(numbers[i]);
    return NULL;
}

static void put_f16(uint8_t *to, float value)
{
    takt_dtype_put_f(TAKT_F16, to, 0, takt_dtype_round(TAKT_F16, (double)value));
}

/* The element of largest magnitude, with its sign. */
static float extreme(const float *x)
{
    float most = 0, found = 0;
    for (size_t i = 0; i < BLOCK; i++)
        if (fabsf(x[i]) > most) {
            most = fabsf(x[i]);
            found = x[i];
        }
    return found;
}

static void ends_of(const float *x, float *low, float *high)
{
    *low = *high = x[0];
    for (size_t i = 1; i < BLOCK; i++) {
        *low = x[i] < *low ? x[i] : *low;
        *high = x[i] > *high ? x[i] : *high;
    }
}

/* The level, 0 to `most`, of a non-negative number. */
static unsigned level(float x, unsigned most)
{
    const float whole = truncf(x);
    return whole > 0 ? (whole < (float)most ? (unsigned)whole : most) : 0; /* NaN: 0 */
}

/* Levels of 4 or 5 bits: the halves of a block share bytes; the fifth bits are in four bytes. */
static void put_levels(const unsigned *levels, uint8_t *fifth, uint8_t *to)
{
    uint32_t high = 0;
    for (size_t i = 0; i < BLOCK / 2; i++)
        to[i] = (uint8_t)((levels[i] & 15) | (levels[i + BLOCK / 2] & 15) << 4);
    for (size_t i = 0; i < BLOCK; i++)
        high |= (uint32_t)(levels[i] >> 4 & 1) << i;
    for (size_t i = 0; fifth != NULL && i < 4; i++)
        fifth[i] = (uint8_t)(high >> (8 * i));
}

/* Around 0: Q4_0 and Q5_0. */
static void centred(const float *x, int bits, uint8_t *to)
{
    const int half = 1 << (bits - 1);
    const float d = extreme(x) / (float)-half, by = d != 0 ? 1 / d : 0;
    unsigned levels[BLOCK];
    put_f16(to, d);
    for (size_t i = 0; i < BLOCK; i++)
        levels[i] = level(x[i] * by + (float)half + 0.5F, (1U << bits) - 1);
    put_levels(levels, bits == 5 ? to + 2 : NULL, to + (bits == 5 ? 6 : 2));
}

/* From the minimum up: Q4_1 and Q5_1. */
static void based(const float *x, int bits, uint8_t *to)
{
    float low, high;
    unsigned levels[BLOCK];
    ends_of(x, &low, &high);
    const float d = (high - low) / (float)((1 << bits) - 1), by = d != 0 ? 1 / d : 0;
    put_f16(to, d);
    put_f16(to + 2, low);
    for (size_t i = 0; i < BLOCK; i++)
        levels[i] = level((x[i] - low) * by + 0.5F, (1U << bits) - 1);
    put_levels(levels, bits == 5 ? to + 4 : NULL, to + (bits == 5 ? 8 : 4));
}

static void block(uint32_t number, const float *x, uint8_t *to)
{
    switch (number) {
    case 8: takt_ggml_round_q8_0(x, 1, to); break;
    case 2: centred(x, 4, to); break;
    case 3: based(x, 4, to); break;
    case 6: centred(x, 5, to); break;
    default: based(x, 5, to); break;
    }
}

static void blocks(const takt_gguf_type *type, const float *row, size_t count,
                   const float *importance, uint8_t *to)
{
    const bool is_super = type->elements > BLOCK, is_nl = type->number == 20;
    if (importance != NULL && !is_super && !is_nl && type->number != 8) {
        takt_gguf_encode_weighted(type, row, count, importance, to);
        return;
    }
    for (size_t i = 0; i < count / type->elements; i++) {
        const float *x = row + i * type->elements;
        const float *weight = importance != NULL ? importance + i * type->elements : NULL;
        if (is_super)
            takt_gguf_encode_k(type->number, x, weight, to + i * type->bytes);
        else if (is_nl)
            takt_gguf_encode_nl(x, weight, to + i * type->bytes);
        else
            block(type->number, x, to + i * type->bytes);
    }
}

void takt_gguf_encode(const takt_gguf_type *type, const float *row, size_t count,
                      const float *importance, uint8_t *to)
{
    if (type->dtype == TAKT_F32) {
        memcpy(to, row, count * sizeof *row);
    } else if (type->dtype != TAKT_DTYPE_COUNT) {
        for (size_t i = 0; i < count; i++)
            takt_dtype_put_f(type->dtype, to, i, takt_dtype_round(type->dtype, (double)row[i]));
    } else {
        blocks(type, row, count, importance, to);
    }
}
