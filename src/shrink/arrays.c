/* arrays.c - quantisation and factorisation of single arrays: rounded to few levels, and as two
 * thin factors. */
#include <math.h>

#include <takt/shrink.h>

#include "base/error.h"
#include "shrink/svd.h"

/* A dense matrix or vector of f32 in the caller's memory. */
static takt_status check(takt_ctx *ctx, const char *what, const takt_tensor_view *v, int rank)
{
    int64_t stride = 1;
    bool good = v != NULL && v->data != NULL && v->dtype == TAKT_F32 &&
                (rank == 0 || v->rank == rank) && v->rank >= 0 && v->rank <= TAKT_MAX_RANK;
    for (int d = good ? v->rank - 1 : -1; d >= 0; d--) {
        good = good && v->dims[d] > 0 && (v->strides[d] == 0 || v->strides[d] == stride);
        stride *= v->dims[d] > 0 ? v->dims[d] : 1;
    }
    return good ? TAKT_OK
                : takt_fail(ctx, TAKT_E_ARGUMENT, "%s: a dense array of f32 is wanted", what);
}

static size_t count_of(const takt_tensor_view *v)
{
    size_t count = 1;
    for (int d = 0; d < v->rank; d++)
        count *= (size_t)v->dims[d];
    return count;
}

takt_status takt_fake_quantize(takt_ctx *ctx, const takt_tensor_view *w, int bits, bool symmetric,
                               const takt_tensor_view *out)
{
    if (ctx == NULL)
        return TAKT_ERR_ARGUMENT;
    TAKT_TRY(check(ctx, "takt_fake_quantize", w, 0));
    TAKT_TRY(check(ctx, "takt_fake_quantize", out, w->rank));
    const size_t count = count_of(w);
    if (bits < 2 || bits > 16 || count_of(out) != count)
        return takt_fail(ctx, TAKT_E_ARGUMENT,
                         "takt_fake_quantize: 2 to 16 bits, and a result of the same shape");
    const float *x = w->data;
    float *y = out->data;
    double lo = 0, hi = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(x[i]))
            return takt_fail(ctx, TAKT_E_SHRINK_DATA, "takt_fake_quantize: element %zu is %g", i,
                             (double)x[i]);
        lo = fmin(lo, (double)x[i]);
        hi = fmax(hi, (double)x[i]);
    }
    const double most = (double)((1 << (bits - 1)) - 1), least = symmetric ? -most : -most - 1;
    const double span = symmetric ? 2 * fmax(-lo, hi) : hi - lo;
    const float scale = span > 0 ? (float)(span / (most - least)) : 1;
    const double zero =
        symmetric ? 0 : fmin(most, fmax(least, nearbyint(least - lo / (double)scale)));
    for (size_t i = 0; i < count; i++) {
        const double q = nearbyint((double)(x[i] / scale)) + zero;
        y[i] = (float)(fmin(most, fmax(least, q)) - zero) * scale;
    }
    return TAKT_OK;
}

static takt_status factor(takt_arena *arena, const takt_tensor_view *w, const takt_tensor_view *u,
                          const takt_tensor_view *v, double *error)
{
    const int64_t rows = w->dims[0], columns = w->dims[1], rank = u->dims[1];
    takt_svd svd;
    double *a = takt_arena_array(arena, count_of(w), sizeof *a);
    if (a == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count_of(w); i++) {
        a[i] = (double)((const float *)w->data)[i];
        if (!isfinite(a[i]))
            return takt_fail(arena->ctx, TAKT_E_SHRINK_RANK, "takt_low_rank: element %zu is %g", i,
                             a[i]);
    }
    TAKT_TRY(takt_svd_make(arena, a, rows, columns, NULL, &svd));
    for (int64_t r = 0; r < rank; r++) {
        const double root = sqrt(svd.s[r]);
        for (int64_t i = 0; i < rows; i++)
            ((float *)u->data)[i * rank + r] = (float)(root * svd.u[i * svd.count + r]);
        for (int64_t i = 0; i < columns; i++)
            ((float *)v->data)[r * columns + i] = (float)(root * svd.v[i * svd.count + r]);
    }
    if (error != NULL)
        *error = takt_svd_error(&svd, rank);
    return TAKT_OK;
}

takt_status takt_low_rank(takt_ctx *ctx, const takt_tensor_view *w, const takt_tensor_view *u,
                          const takt_tensor_view *v, double *error)
{
    takt_arena arena;
    if (ctx == NULL)
        return TAKT_ERR_ARGUMENT;
    TAKT_TRY(check(ctx, "takt_low_rank", w, 2));
    TAKT_TRY(check(ctx, "takt_low_rank", u, 2));
    TAKT_TRY(check(ctx, "takt_low_rank", v, 2));
    const int64_t least = w->dims[0] < w->dims[1] ? w->dims[0] : w->dims[1];
    if (u->dims[0] != w->dims[0] || v->dims[1] != w->dims[1] || u->dims[1] != v->dims[0] ||
        u->dims[1] > least)
        return takt_fail(ctx, TAKT_E_SHRINK_RANK,
                         "takt_low_rank: [m, n] is u [m, rank] times v [rank, n], with a rank of "
                         "at most %lld",
                         (long long)least);
    takt_arena_init(&arena, ctx);
    const takt_status status = factor(&arena, w, u, v, error);
    takt_arena_deinit(&arena);
    return status;
}
