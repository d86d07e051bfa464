/* ggml_panels.c - blocks of a file to panels of sixteen columns, and back. */
#include "kernel/ggml_panels/ggml_panels.h"

#include <string.h>

/* Neighbouring fields of a block that are of one size. */
typedef struct piece {
    uint8_t unit, count; /* bytes of a field */
    uint8_t from;        /* in the file's block */
} piece;

enum { PIECES = 4 };

/* In the order of the panel: words, halves, bytes. */
static const piece pieces[TAKT_GGML_FORMATS][PIECES] = {
    [TAKT_GGML_Q4_0] = {{4, 4, 2}, {2, 1, 0}},
    [TAKT_GGML_Q4_1] = {{4, 4, 4}, {2, 2, 0}},
    [TAKT_GGML_Q5_0] = {{4, 4, 6}, {4, 1, 2}, {2, 1, 0}},
    [TAKT_GGML_Q5_1] = {{4, 4, 8}, {4, 1, 4}, {2, 2, 0}},
    [TAKT_GGML_Q8_0] = {{4, 8, 2}, {2, 1, 0}},
    [TAKT_GGML_Q2_K] = {{4, 16, 16}, {2, 2, 80}, {1, 16, 0}},
    [TAKT_GGML_Q3_K] = {{4, 16, 32}, {4, 8, 0}, {2, 1, 108}, {1, 12, 96}},
    [TAKT_GGML_Q4_K] = {{4, 32, 16}, {2, 2, 0}, {1, 12, 4}},
    [TAKT_GGML_Q5_K] = {{4, 32, 48}, {4, 8, 16}, {2, 2, 0}, {1, 12, 4}},
    [TAKT_GGML_Q6_K] = {{4, 32, 0}, {4, 16, 128}, {2, 1, 208}, {1, 16, 192}},
    [TAKT_GGML_IQ4_NL] = {{4, 4, 2}, {2, 1, 0}},
    [TAKT_GGML_IQ4_XS] = {{4, 32, 8}, {2, 1, 0}, {1, 6, 2}},
    [TAKT_GGML_MXFP4] = {{4, 4, 1}, {1, 1, 0}},
};

bool takt_ggml_has_panels(takt_ggml_format format)
{
    return pieces[format][0].unit != 0;
}

/* ---- the fifth bits of q5_0 and q5_1 ---- */

static bool has_fifth(takt_ggml_format format)
{
    return format == TAKT_GGML_Q5_0 || format == TAKT_GGML_Q5_1;
}

static void reorder(uint8_t *word, bool is_back)
{
    uint8_t to[4] = {0};
    for (unsigned k = 0; k < 32; k++) {
        const unsigned place = 8 * (k % 4) + k / 4;
        const unsigned from = is_back ? place : k, at = is_back ? k : place;
        to[at / 8] = (uint8_t)(to[at / 8] | (word[from / 8] >> from % 8 & 1U) << at % 8);
    }
    memcpy(word, to, sizeof to);
}

/* ---- blocks ---- */

static void put_column(takt_ggml_format format, const uint8_t *from, size_t column, uint8_t *to)
{
    for (const piece *p = pieces[format]; p < pieces[format] + PIECES; p++)
        for (size_t i = 0; i < p->count; i++, to += TAKT_GGML_PANEL * p->unit)
            memcpy(to + column * p->unit, from + p->from + i * p->unit, p->unit);
}

/* Where the fifth bits are in a block of the file. */
static size_t fifth_at(takt_ggml_format format)
{
    return pieces[format][1].from;
}

/* Block number `at` of the file as column `column` of the panel's block at `to`. */
static void put_block(const takt_ggml_rows *rows, size_t at, size_t column, uint8_t *to)
{
    enum { LONGEST = 24 }; /* of the formats with fifth bits */
    const size_t bytes = takt_ggml_formats[rows->format].bytes;
    const uint8_t *from = rows->src + at * bytes;
    uint8_t block[LONGEST];
    if (has_fifth(rows->format)) {
        memcpy(block, from, bytes);
        reorder(block + fifth_at(rows->format), false);
        from = block;
    }
    put_column(rows->format, from, column, to);
}

void takt_ggml_pack(const takt_ggml_rows *rows, void *panels)
{
    const size_t all = takt_ggml_panel_block(rows->format);
    uint8_t *to = panels;
    for (size_t first = 0; first < rows->n; first += TAKT_GGML_PANEL)
        for (size_t b = 0; b < rows->blocks; b++, to += all) {
            const size_t left = rows->n - first;
            if (left < TAKT_GGML_PANEL)
                memset(to, 0, all);
            for (size_t c = 0; c < left && c < TAKT_GGML_PANEL; c++)
                put_block(rows, (first + c) * rows->blocks + b, c, to);
        }
}

void takt_ggml_unpack(takt_ggml_format format, const uint8_t *block, size_t column, uint8_t *to)
{
    for (const piece *p = pieces[format]; p < pieces[format] + PIECES; p++)
        for (size_t i = 0; i < p->count; i++, block += TAKT_GGML_PANEL * p->unit)
            memcpy(to + p->from + i * p->unit, block + column * p->unit, p->unit);
    if (has_fifth(format))
        reorder(to + fifth_at(format), true);
}
