/* ggml_panels.h - weights in ggml's block formats, sixteen columns side by side.
 *
 * Columns, which are rows of the file, are cut into panels of sixteen. For each block of k a panel
 * has what the sixteen blocks of its columns have, in as many bytes:
 *
 *     words   [count][16]   four bytes each: levels, and planes of their high bits
 *     halves  [count][16]   f16: the scale, and that of the minima
 *     bytes   [count][16]   scales and minima of parts
 *
 * Lane c of a vector of words is column c. Four bytes of a word are levels of four neighbours in k,
 * which is what instructions for dot products of bytes take. The fifth bits of q5_0 and q5_1 are
 * put in another order: bit 8 * i + g of their word belongs to weight 4 * g + i. One layout serves
 * every instruction set.
 */
#ifndef TAKT_KERNEL_GGML_PANELS_H
#define TAKT_KERNEL_GGML_PANELS_H

#include <stdbool.h>

#include "kernel/ggml_f32/ggml_f32.h"

enum { TAKT_GGML_PANEL = 16 };

/* False for formats that are decoded to floats block by block. */
bool takt_ggml_has_panels(takt_ggml_format format);

/* Rows [n][blocks] of a file as panels, the last one filled up by zeros. */
typedef struct takt_ggml_rows {
    takt_ggml_format format;
    size_t n, blocks;
    const uint8_t *src;
} takt_ggml_rows;

static inline size_t takt_ggml_panels(size_t n)
{
    return (n + TAKT_GGML_PANEL - 1) / TAKT_GGML_PANEL;
}

/* Bytes of one block of a panel. */
static inline size_t takt_ggml_panel_block(takt_ggml_format format)
{
    return (size_t)TAKT_GGML_PANEL * takt_ggml_formats[format].bytes;
}

void takt_ggml_pack(const takt_ggml_rows *rows, void *panels);
/* One block of column `column` of a panel, in the file's format; `block` is the beginning of the
 * panel's block. */
void takt_ggml_unpack(takt_ggml_format format, const uint8_t *block, size_t column, uint8_t *to);

#endif
