/* magnitude.c - bounds of constants match those of all elements, checked one by one. */
#include "pass/magnitude.h"

#include <math.h>
#include <string.h>

#include "base/ctx.h"
#include "test.h"

static takt_ctx *ctx;

static takt_magnitude plain(const float *x, size_t count)
{
    takt_magnitude m = {.low = INFINITY, .least = INFINITY, .is_known = true};
    for (size_t i = 0; i < count; i++) {
        const double v = (double)x[i], size = isnan(v) ? INFINITY : fabs(v);
        m.low = v < m.low ? v : m.low;
        m.least = size > 0 && size < m.least ? size : m.least;
        m.most = size > m.most ? size : m.most;
    }
    return m;
}

static void check(const float *x, size_t count, const char *what)
{
    takt_type type = {.dtype = TAKT_F32, .rank = 1, .dim = {(takt_dim)count}};
    takt_tensor t = {0};
    takt_graph *g = NULL;
    if (!EXPECT_OK(ctx, takt_graph_create(ctx, NULL, &g)))
        return;
    if (EXPECT_OK(ctx, takt_tensor_create(ctx, &type, &t))) {
        memcpy(takt_tensor_data(&t), x, count * sizeof *x);
        const takt_id id = takt_graph_constant(g, &t);
        if (EXPECT_IS(id, !=, TAKT_NONE)) {
            const takt_magnitude got = takt_magnitude_of(g, id), want = plain(x, count);
            EXPECT(got.low == want.low && got.least == want.least && got.most == want.most &&
                       got.is_known,
                   "%s, %zu: %g %g %g, not %g %g %g", what, count, got.low, got.least, got.most,
                   want.low, want.least, want.most);
        }
        takt_tensor_release(&t);
    }
    takt_graph_destroy(g);
}

int main(void)
{
    static const float rare[] = {0.0f,      -0.0f,    INFINITY, -INFINITY, NAN,
                                 0x1p-149f, -3.4e38f, 1e-40f,   -1e-40f};
    float x[70];
    uint32_t state = 5;
    if (EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        for (size_t count = 1; count <= 70; count += count < 36 ? 1 : 17) {
            for (size_t i = 0; i < count; i++) {
                state = state * 1664525u + 1013904223u;
                x[i] = ldexpf((float)(int32_t)state, (int)(state >> 27) - 40);
            }
            check(x, count, "random");
            for (size_t k = 0; k < sizeof rare / sizeof *rare; k++) {
                const float old = x[state % count];
                x[state % count] = rare[k];
                check(x, count, "rare");
                x[state % count] = old;
            }
            memset(x, 0, sizeof x);
            check(x, count, "zeros");
            for (size_t i = 0; i < count; i++)
                x[i] = -(float)(i + 2);
            check(x, count, "negative");
        }
    takt_ctx_destroy(ctx);
    return test_done();
}
