/* spread.c - results with channels first, from tiles of positions by channels. */
#include "backend/cpu/conv/spread.h"

#include <stdint.h>

#include "backend/cpu/transpose.h"

void takt_conv_spread(const takt_conv_tile *t, size_t channels, size_t positions, float *y)
{
    const ptrdiff_t width = (ptrdiff_t)(t->columns * sizeof(float));
    for (size_t r = 0, n; r < t->rows; r += n) { /* a tile may hold the ends of samples */
        const size_t sample = (t->row + r) / positions, at = (t->row + r) % positions;
        n = t->rows - r < positions - at ? t->rows - r : positions - at;
        float *to = y + (sample * channels + t->column) * positions + at;
        const takt_matrix_at from = {(char *)(uintptr_t)(t->data + r * t->columns), width};
        const takt_matrix_at planes = {(char *)to, (ptrdiff_t)(positions * sizeof *to)};
        takt_transpose_4(from, planes, t->columns, n);
    }
}

takt_status takt_conv_output(takt_planner *p, takt_id first)
{
    size_t index;
    const takt_id last = p->group->nodes[p->group->count - 1];
    return takt_planner_output(p, first != TAKT_NONE ? first : last, &index);
}
