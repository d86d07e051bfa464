/* check_ggml.c - random panels of ggml's block formats. */
#include "check_ggml.h"

#include <stdlib.h>
#include <string.h>

int check_ggml_next(int format)
{
    while (format < TAKT_GGML_FORMATS && !takt_ggml_has_panels((takt_ggml_format)format))
        format++;
    return format;
}

/* Bytes of a block that are the high ones of f16 numbers. */
static const uint8_t high[TAKT_GGML_FORMATS][2] = {
    [TAKT_GGML_Q4_0] = {1},    [TAKT_GGML_Q4_1] = {1, 3}, [TAKT_GGML_Q5_0] = {1},
    [TAKT_GGML_Q5_1] = {1, 3}, [TAKT_GGML_Q8_0] = {1},    [TAKT_GGML_Q2_K] = {81, 83},
    [TAKT_GGML_Q3_K] = {109},  [TAKT_GGML_Q4_K] = {1, 3}, [TAKT_GGML_Q5_K] = {1, 3},
    [TAKT_GGML_Q6_K] = {209},  [TAKT_GGML_IQ4_NL] = {1},  [TAKT_GGML_IQ4_XS] = {1},
    [TAKT_GGML_Q1_0] = {1},    [TAKT_GGML_Q2_0] = {1},    [TAKT_GGML_TQ1_0] = {53},
    [TAKT_GGML_TQ2_0] = {65},  [TAKT_GGML_IQ1_S] = {1},   [TAKT_GGML_IQ2_XXS] = {1},
    [TAKT_GGML_IQ2_XS] = {1},  [TAKT_GGML_IQ2_S] = {1},   [TAKT_GGML_IQ3_XXS] = {1},
    [TAKT_GGML_IQ3_S] = {1},
};

static void fill(takt_check *c, takt_ggml_format format, uint8_t *rows, size_t blocks, bool usual)
{
    const size_t bytes = takt_ggml_formats[format].bytes;
    check_fill_bytes(c, rows, blocks * bytes);
    for (size_t i = 0; usual && i < blocks; i++)
        for (int k = 0; k < 2 && high[format][k] != 0; k++)
            rows[i * bytes + high[format][k]] = (uint8_t)(0x10 | (rows[i * bytes] & 7));
}

static const void *as_in_file(takt_check *c, takt_ggml_format format, size_t blocks, bool usual)
{
    uint8_t *rows =
        check_place(c, GGML_PANELS, blocks * takt_ggml_formats[format].bytes, CHECK_AT_END);
    fill(c, format, rows, blocks, usual);
    return rows;
}

const void *check_ggml(takt_check *c, takt_ggml_format format, size_t n, size_t blocks, bool usual)
{
    const size_t bytes = takt_ggml_formats[format].bytes, all = n * blocks * bytes;
    if (!takt_ggml_has_panels(format))
        return as_in_file(c, format, n * blocks, usual);
    const size_t packed = takt_ggml_panels(n) * blocks * takt_ggml_panel_block(format);
    uint8_t *rows = malloc(all + 1), back[256];
    uint8_t *panels = check_scratch(c, GGML_PANELS, packed);
    if (rows == NULL)
        return panels;
    fill(c, format, rows, n * blocks, usual);
    takt_ggml_pack(&(takt_ggml_rows){format, n, blocks, rows}, panels);
    for (size_t i = 0; i < n * blocks; i++) {
        const size_t column = i / blocks, panel = column / TAKT_GGML_PANEL;
        takt_ggml_unpack(format,
                         panels + (panel * blocks + i % blocks) * takt_ggml_panel_block(format),
                         column % TAKT_GGML_PANEL, back);
        if (memcmp(back, rows + i * bytes, bytes) != 0)
            check_fail(c, "block %zu of %s does not come back", i, takt_ggml_formats[format].name);
    }
    free(rows);
    return panels;
}
