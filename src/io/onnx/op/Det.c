/* Det.c - Det: determinants of small matrices, by expansion along the first row. */
#include "io/onnx/adapt.h"

enum { LARGEST = 5 };

static takt_id element(takt_call *c, takt_id x, int row, int column)
{
    x = takt_slice(c->g, x, -2, row, row + 1, 1);
    x = takt_slice(c->g, x, -1, column, column + 1, 1);
    return takt_onnx_squeeze(c, takt_onnx_squeeze(c, x, -1), -1);
}

/* The determinant of the last rows and of the columns in `set`; one for every set, built from the
 * last row up, so that none is computed twice. */
static takt_id expand(takt_call *c, takt_id x, int n)
{
    takt_id minor[1 << LARGEST];
    for (int set = 1; set < 1 << n; set++) {
        const int size = __builtin_popcount((unsigned)set), row = n - size;
        takt_id sum = TAKT_NONE;
        int sign = 0;
        for (int k = 0; k < n; k++) {
            if (!(set >> k & 1))
                continue;
            takt_id part = element(c, x, row, k);
            if (size > 1)
                part = takt_mul(c->g, part, minor[set & ~(1 << k)]);
            sum = sum == TAKT_NONE ? part
                  : sign % 2 == 0  ? takt_add(c->g, sum, part)
                                   : takt_sub(c->g, sum, part);
            sign++;
        }
        minor[set] = sum;
    }
    return minor[(1 << n) - 1];
}

static takt_status adapt(takt_call *c)
{
    const takt_type t = *takt_onnx_type(c, 0);
    if (c->status != TAKT_OK)
        return c->status;
    const takt_dim n = t.rank >= 2 ? t.dim[t.rank - 1] : 0;
    if (n < 1 || n > LARGEST || t.dim[t.rank - 2] != n)
        return takt_onnx_refuse(c, "matrices other than 1x1 to %dx%d", LARGEST, LARGEST);
    return takt_onnx_done(c, expand(c, takt_onnx_in(c, 0), (int)n));
}

const takt_onnx_op takt_onnx_Det = {.names = {"Det"}, .adapt = adapt};
