/* Fourier.c - RFFT2D as products with constant matrices, and COMPLEX_ABS, REAL and IMAG.
 *
 * Complex numbers are pairs on a last axis of two.
 */
#include <math.h>

#include "io/tflite/adapt.h"

enum { MOST = 1 << 12 };

/* cos or -sin of 2 pi r k / n, for r from `first` to `end` and k below `columns`. */
static takt_id part_of(takt_tfl_call *c, int64_t n, int64_t first, int64_t end, int64_t columns,
                       bool is_sine)
{
    const int64_t dims[] = {end - first, columns}, count = dims[0] * columns;
    double *v = takt_tfl_get(c, (size_t)count, sizeof *v);
    for (int64_t i = 0; v != NULL && i < count; i++) {
        const int64_t turn = (first + i / columns) * (i % columns) % n;
        const double angle = 2 * 3.14159265358979323846 * (double)turn / (double)n;
        v[i] = is_sine ? -sin(angle) : cos(angle);
    }
    return v == NULL ? TAKT_NONE : takt_tfl_make_f(c, TAKT_F32, v, dims, 2);
}

static bool basis(takt_tfl_call *c, int64_t n, takt_id out[2])
{
    out[0] = part_of(c, n, 0, n, n, false);
    out[1] = part_of(c, n, 0, n, n, true);
    return takt_tfl_good(c);
}

/* The first half of the frequencies of each row: of an even count n from 4 on, x[i] and x[n - i]
 * have the same cosine, and the opposite sine, so that their sums and differences are multiplied.
 */
static void half_spectrum(takt_tfl_call *c, takt_id x, int64_t n, takt_id out[2])
{
    takt_graph *g = c->g;
    const int64_t half = n / 2, some = half + 1;
    if (n % 2 != 0 || n < 4) {
        out[0] = takt_matmul(g, x, part_of(c, n, 0, n, some, false), false, false);
        out[1] = takt_matmul(g, x, part_of(c, n, 0, n, some, true), false, false);
        return;
    }
    const takt_named_attr axis = {"axis", takt_attr_i64(-1)};
    const takt_id up = takt_slice(g, x, -1, 1, half, 1),
                  down = takt_slice(g, x, -1, n - 1, half, -1);
    const takt_id ends[] = {takt_slice(g, x, -1, 0, 1, 1), takt_add(g, up, down),
                            takt_slice(g, x, -1, half, half + 1, 1)};
    const takt_id even = takt_graph_call(g, &takt_op_concat, 3, ends, 1, &axis);
    out[0] = takt_matmul(g, even, part_of(c, n, 0, some, some, false), false, false);
    out[1] =
        takt_matmul(g, takt_sub(g, up, down), part_of(c, n, 1, half, some, true), false, false);
}

/* Truncates or zero-pads the last two axes to the lengths of the transform. */
static takt_id fitted(takt_tfl_call *c, takt_id x, const int64_t length[2])
{
    const takt_type t = *takt_type_of(c->g, x);
    int64_t before[TAKT_MAX_RANK] = {0}, after[TAKT_MAX_RANK] = {0};
    for (int k = 0; k < 2; k++) {
        const int d = t.rank - 2 + k;
        if (t.dim[d] > length[k])
            x = takt_slice(c->g, x, d, 0, length[k], 1);
        else
            after[d] = length[k] - t.dim[d];
    }
    return takt_tfl_pad(c, x, before, after, 0);
}

static takt_id swapped(takt_tfl_call *c, takt_id x)
{
    int64_t perm[TAKT_MAX_RANK];
    if (x == TAKT_NONE)
        return x;
    const int rank = takt_type_of(c->g, x)->rank;
    for (int d = 0; d < rank; d++)
        perm[d] = d == rank - 2 ? rank - 1 : d == rank - 1 ? rank - 2 : d;
    return takt_transpose(c->g, x, perm, (size_t)rank);
}

static takt_id transform(takt_tfl_call *c)
{
    takt_graph *g = c->g;
    const takt_tfl_ints length = takt_tfl_known(c, 1);
    takt_id x = takt_tfl_need(c, 0), half[2], column[2];
    const takt_type t = *takt_type_of(g, x);
    if (!takt_tfl_good(c) || t.rank < 2 || t.rank >= TAKT_MAX_RANK || length.count != 2 ||
        length.at[0] < 1 || length.at[1] < 1 || length.at[0] > MOST || length.at[1] > MOST) {
        (void)takt_tfl_refuse(c, "an input that is not an image, or a length that is too large");
        return TAKT_NONE;
    }
    x = fitted(c, x, length.at);
    if (x == TAKT_NONE)
        return TAKT_NONE;
    half_spectrum(c, x, length.at[1], half);
    if (!takt_tfl_good(c) || half[0] == TAKT_NONE || half[1] == TAKT_NONE)
        return TAKT_NONE;
    takt_id re = half[0], im = half[1];
    if (length.at[0] > 1) {
        if (!basis(c, length.at[0], column))
            return TAKT_NONE;
        const takt_id a = swapped(c, re), b = swapped(c, im);
        re = swapped(c, takt_sub(g, takt_matmul(g, a, column[0], false, false),
                                 takt_matmul(g, b, column[1], false, false)));
        im = swapped(c, takt_add(g, takt_matmul(g, a, column[1], false, false),
                                 takt_matmul(g, b, column[0], false, false)));
    }
    const takt_named_attr axis = {"axis", takt_attr_i64(-1)};
    return re == TAKT_NONE || im == TAKT_NONE
               ? TAKT_NONE
               : takt_graph_call(g, &takt_op_stack, 2, (takt_id[]){re, im}, 1, &axis);
}

static takt_status adapt(takt_tfl_call *c)
{
    if (takt_tfl_is(c, "RFFT2D"))
        return takt_tfl_done(c, transform(c));
    const takt_id x = takt_tfl_need(c, 0);
    if (!takt_tfl_good(c))
        return c->status;
    if (takt_tfl_tensor_in(c, 0)->type != TAKT_TFL_COMPLEX64)
        return takt_tfl_refuse(c, "numbers that are not complex");
    const takt_id re = takt_tfl_squeeze(c, takt_slice(c->g, x, -1, 0, 1, 1), -1),
                  im = takt_tfl_squeeze(c, takt_slice(c->g, x, -1, 1, 2, 1), -1);
    if (takt_tfl_is(c, "REAL") || takt_tfl_is(c, "IMAG"))
        return takt_tfl_done(c, takt_tfl_is(c, "REAL") ? re : im);
    const takt_id square = takt_add(c->g, takt_unary(c->g, &takt_op_square, re),
                                    takt_unary(c->g, &takt_op_square, im));
    return takt_tfl_done(c, takt_unary(c->g, &takt_op_sqrt, square));
}

const takt_tflite_op takt_tflite_Fourier = {.names = {"RFFT2D", "COMPLEX_ABS", "REAL", "IMAG"},
                                            .adapt = adapt};
