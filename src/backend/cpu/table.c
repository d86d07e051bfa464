/* table.c - rows of a table in panels: one element of every row of a panel, chunk by chunk. */
#include "backend/cpu/table.h"

#include <stdint.h>

/* `count` elements that lie `step` apart. */
static void collect(const char *from, size_t step, size_t count, size_t bytes, char *to)
{
    const uint16_t *from16 = (const void *)from;
    const uint32_t *from32 = (const void *)from;
    uint16_t *to16 = (void *)to;
    uint32_t *to32 = (void *)to;
    for (size_t i = 0; bytes == sizeof *to16 && i < count; i++)
        to16[i] = from16[i * step];
    for (size_t i = 0; bytes == sizeof *to32 && i < count; i++)
        to32[i] = from32[i * step];
}

void takt_table_row(const takt_table *t, const void *from, size_t at, void *to)
{
    const size_t panel = takt_panels_of(t->panels, t->rows, at);
    const size_t first = takt_panels_column(t->panels, t->rows, panel);
    const size_t step = takt_panels_column(t->panels, t->rows, panel + 1) - first;
    for (size_t k = 0, count; k < t->width; k += count) {
        count = t->width - k < TAKT_GEMM_CHUNK ? t->width - k : TAKT_GEMM_CHUNK;
        const size_t place = takt_packed_at(t->panels, t->width, t->rows, k, at);
        collect((const char *)from + place * t->bytes, step, count, t->bytes,
                (char *)to + k * t->bytes);
    }
}
