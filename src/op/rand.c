/* rand.c - random numbers that depend on seed, step, stream and position only.
 *
 * Element i of the result is word number base + i of Philox4x32-10 (base/philox.h). A stream is
 * unique in its graph, so two dropouts never see the same numbers and never merge; `base` is the
 * global position of the first element, so that a shard draws the same numbers as the whole.
 * uniform has 24 bits, also as f64; f16 and bf16 keep the leading 11 and 8, truncated, so that the
 * result is never 1.
 */
#include <math.h>

#include "base/philox.h"
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/make.h"
#include "op/util/stops.h"

enum { STREAM, DIST, DTYPE, SHAPE };
enum { UNIFORM, NORMAL, BITS };

static const char *const dists[] = {"uniform", "normal", "bits", NULL};

static takt_status infer(takt_infer *in)
{
    for (size_t i = 0; i < 3; i++)
        TAKT_TRY(takt_infer_rank(in, i, 0, 0));
    TAKT_TRY(takt_check_range(in, STREAM, 0, UINT32_MAX));
    TAKT_TRY(takt_check_set_shape(in, SHAPE, &in->out[0]));
    const takt_dtype dtype = in->attr[DTYPE].dtype;
    const bool is_bits = in->attr[DIST].i64 == BITS;
    if ((TAKT_IN(dtype) & (is_bits ? TAKT_IN(TAKT_U32) : TAKT_FLOATS)) == 0) {
        takt_fail(in->ctx, TAKT_E_DTYPE, "rand: %s does not give %s", dists[in->attr[DIST].i64],
                  takt_dtype_name(dtype));
        return takt_fail_hint(in->ctx, "uniform and normal give floats, bits gives u32");
    }
    in->out[0].dtype = dtype;
    return TAKT_OK;
}

static double uniform(takt_dtype dtype, uint32_t word)
{
    const double value = takt_philox_uniform(word);
    const int keep = dtype == TAKT_F16 ? 11 : dtype == TAKT_BF16 ? 8 : 24;
    return floor(ldexp(value, keep)) * ldexp(1, -keep);
}

static takt_status eval(takt_eval *e)
{
    const takt_philox_at at = {.seed = (uint64_t)e->in[0].i[0],
                               .step = (uint32_t)e->in[1].i[0],
                               .stream = (uint32_t)e->attr[STREAM].i64};
    const uint64_t base = (uint64_t)e->in[2].i[0];
    takt_array *out = &e->out[0];
    for (size_t i = 0; i < out->count && !takt_eval_stops(e, 1); i++) {
        if (e->attr[DIST].i64 == NORMAL)
            out->f[i] = takt_philox_normal(&at, base + i);
        else if (e->attr[DIST].i64 == UNIFORM)
            out->f[i] = uniform(out->dtype, takt_philox_word(&at, base + i));
        else
            out->i[i] = takt_philox_word(&at, base + i);
    }
    return TAKT_OK;
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    const double count = takt_make_count(&n->type[0]);
    cost->flops = 25 * count; /* ten rounds of two products for four words, then the conversion */
    cost->bytes = takt_make_bytes(g, n);
}

/* A normal number is sqrt(-2 log u) cos(v) with u of 32 bits at least 2^-33: below 6.8. */
static void bound(takt_bounding *b)
{
    takt_bound_any(b);
    const int64_t dist = b->node->attr[DIST].i64;
    if (dist == BITS)
        return;
    const takt_type *type = &b->node->type[0];
    const takt_id lo = takt_bound_number(b, dist == NORMAL ? -7 : 0);
    const takt_id hi = takt_bound_number(b, dist == NORMAL ? 7 : 1);
    takt_bound_keep(b, 0, takt_broadcast(b->g, lo, type->dim, (size_t)type->rank),
                    takt_broadcast(b->g, hi, type->dim, (size_t)type->rank));
}

const takt_op takt_op_rand = {
    .name = "rand",
    .summary = "random numbers that depend on seed, step, stream and position only",
    .in_min = 3,
    .in_max = 3,
    .in_names = {"seed", "step", "base"},
    .attrs = {[STREAM] = {.name = "stream",
                          .type = TAKT_ATTR_I64,
                          .is_required = true,
                          .summary = "unique in the graph"},
              [DIST] = {.name = "dist",
                        .type = TAKT_ATTR_ENUM,
                        .names = dists,
                        .summary = "uniform in [0, 1), normal with mean 0 and variance 1, or bits"},
              [DTYPE] = {.name = "dtype",
                         .type = TAKT_ATTR_DTYPE,
                         .fallback.dtype = TAKT_F32,
                         .summary = "element type of the result"},
              [SHAPE] = {.name = "shape",
                         .type = TAKT_ATTR_SHAPE,
                         .is_required = true,
                         .summary = "dimensions of the result"}},
    .traits = TAKT_PRIMITIVE,
    .dtypes = TAKT_IN(TAKT_U64),
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .no_gradient = "it has no float input",
    .bound = bound,
    .samples = {"rand(u64[], u64[], u64[], stream=1, shape=[3, 5])",
                "rand(u64[], u64[], u64[], stream=2, dist=normal, dtype=f64, shape=[7])",
                "rand(u64[], u64[], u64[], stream=3, dist=bits, dtype=u32, shape=[9])",
                "rand(u64[], u64[], u64[], stream=4, dtype=bf16, shape=[2, 2])"},
};
