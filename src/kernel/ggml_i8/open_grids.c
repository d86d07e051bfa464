/* open_grids.c - grids as bytes: entries of grids.def, with numbers of levels replaced by levels.
 */
#include "kernel/ggml_i8/open_grids.h"

/* Bits [at * width, at * width + width) of entry e of a word. */
#define FIELD(word, e, at, width)                                                                  \
    ((word##ULL >> (16 * (e) + (at) * (width))) & ((1U << (width)) - 1))
#define BYTE(level, at) ((uint64_t)(uint8_t)(level) << (8 * (at)))
#define EIGHT(LEVEL, word, e)                                                                      \
    (BYTE(LEVEL(FIELD(word, e, 0, 2)), 0) | BYTE(LEVEL(FIELD(word, e, 1, 2)), 1) |                 \
     BYTE(LEVEL(FIELD(word, e, 2, 2)), 2) | BYTE(LEVEL(FIELD(word, e, 3, 2)), 3) |                 \
     BYTE(LEVEL(FIELD(word, e, 4, 2)), 4) | BYTE(LEVEL(FIELD(word, e, 5, 2)), 5) |                 \
     BYTE(LEVEL(FIELD(word, e, 6, 2)), 6) | BYTE(LEVEL(FIELD(word, e, 7, 2)), 7))
#define FOUR(LEVEL, word, e)                                                                       \
    (uint32_t)(BYTE(LEVEL(FIELD(word, e, 0, 4)), 0) | BYTE(LEVEL(FIELD(word, e, 1, 4)), 1) |       \
               BYTE(LEVEL(FIELD(word, e, 2, 4)), 2) | BYTE(LEVEL(FIELD(word, e, 3, 4)), 3))
#define ENTRIES(MANY, LEVEL, word)                                                                 \
    MANY(LEVEL, word, 0), MANY(LEVEL, word, 1), MANY(LEVEL, word, 2), MANY(LEVEL, word, 3)

/* ---- iq2 ---- */

#define IQ2(level) ((level) == 0 ? 8 : (level) == 1 ? 25 : 43)
#define W(word) ENTRIES(EIGHT, IQ2, word)
const uint64_t takt_ggml_open_iq2_xxs[256] = {
#include "kernel/ggml_f32/grid_iq2_xxs.def"
};
const uint64_t takt_ggml_open_iq2_xs[512] = {
#include "kernel/ggml_f32/grid_iq2_xs.def"
};
const uint64_t takt_ggml_open_iq2_s[1024] = {
#include "kernel/ggml_f32/grid_iq2_s.def"
};
#undef W

/* ---- iq1 ---- */

#define IQ1(level) ((level) == 0 ? 248 : (level) == 1 ? 0 : 8)
#define W(word) ENTRIES(EIGHT, IQ1, word)
const uint64_t takt_ggml_open_iq1[2048] = {
#include "kernel/ggml_f32/grid_iq1.def"
};
#undef W

/* ---- iq3 ---- */

#define IQ3_XXS(level) (((level)&7) * 8 + (((level)&7) == 7 ? 6 : 4))
#define W(word) ENTRIES(FOUR, IQ3_XXS, word)
const uint32_t takt_ggml_open_iq3_xxs[256] = {
#include "kernel/ggml_f32/grid_iq3_xxs.def"
};
#undef W

#define IQ3_S(level) (((level)&7) * 2 + 1)
#define W(word) ENTRIES(FOUR, IQ3_S, word)
const uint32_t takt_ggml_open_iq3_s[512] = {
#include "kernel/ggml_f32/grid_iq3_s.def"
};
#undef W

/* ---- signs ---- */

#define SIGN(bits, at) ((((bits) >> (at)) & 1) != 0 ? UINT64_C(255) << (8 * (at)) : 0)
#define SIGNS(bits)                                                                                \
    (SIGN(bits, 0) | SIGN(bits, 1) | SIGN(bits, 2) | SIGN(bits, 3) | SIGN(bits, 4) |               \
     SIGN(bits, 5) | SIGN(bits, 6) | SIGN(bits, 7))
#define ODD(bits)                                                                                  \
    (((bits) ^ (bits) >> 1 ^ (bits) >> 2 ^ (bits) >> 3 ^ (bits) >> 4 ^ (bits) >> 5 ^               \
      (bits) >> 6) &                                                                               \
     1)
#define EVEN(bits) SIGNS((bits) | ODD(bits) << 7)
#define BY_4(X, first) X(first), X((first) + 1), X((first) + 2), X((first) + 3)
#define BY_16(X, first)                                                                            \
    BY_4(X, first), BY_4(X, (first) + 4), BY_4(X, (first) + 8), BY_4(X, (first) + 12)
#define BY_64(X, first)                                                                            \
    BY_16(X, first), BY_16(X, (first) + 16), BY_16(X, (first) + 32), BY_16(X, (first) + 48)

const uint64_t takt_ggml_open_signs[256] = {BY_64(SIGNS, 0), BY_64(SIGNS, 64), BY_64(SIGNS, 128),
                                            BY_64(SIGNS, 192)};
const uint64_t takt_ggml_open_even[128] = {BY_64(EVEN, 0), BY_64(EVEN, 64)};
