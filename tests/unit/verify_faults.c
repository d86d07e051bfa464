/* verify_faults.c - bounds with a fault planted in them are caught by the points of verify_bounds.
 *
 * Each row changes one fact of an op's record, or an attribute that the bound sees, as a slip in a
 * new op would.
 */
#include <string.h>

#include "op/ops.h"
#include "op/util/bound.h"
#include "test.h"
#include "util/box.h"

typedef void change_fn(takt_op *op);

/* A tiny width: with none at all, a product's spread shows nothing about overflow, and its bounds
 * are unknown instead of wrong. */
static double no_roundings(const takt_graph *g, const takt_node *n)
{
    (void)g, (void)n;
    return 0x1p-10;
}

static void lose_ulps(takt_op *op)
{
    op->error.ulps = 0;
}

static void lose_roundings(takt_op *op)
{
    op->error.roundings = no_roundings;
}

static void turn(takt_op *op)
{
    op->falls ^= 1;
}

static void turn_second(takt_op *op)
{
    op->falls ^= 2;
}

static void rise(takt_op *op)
{
    op->bound = takt_bound_monotone;
}

static void move(takt_op *op)
{
    op->bound = takt_bound_exact;
}

static void add_up(takt_op *op)
{
    op->bound = takt_bound_sum;
    op->error.roundings = no_roundings;
}

static void lose_lower(takt_bounding *b)
{
    takt_bound_monotone(b);
    b->out[0].lo = b->out[0].hi;
}

static void one_end(takt_op *op)
{
    op->bound = lose_lower;
}

static void slip(takt_bounding *b)
{
    takt_bound_monotone(b);
    b->out[0].hi = takt_mul_scalar(b->g, b->out[0].hi, 1 - 1e-6);
    b->out[0].lo = takt_mul_scalar(b->g, b->out[0].lo, 1 + 1e-6);
}

static void off_by_a_little(takt_op *op)
{
    op->bound = slip;
}

static const int64_t no_pad[] = {0, 0, 0, 0}, other_step[] = {1, 1};
static const takt_attr padding = {.i64s = no_pad, .count = 4, .is_set = true};
static const takt_attr stride = {.i64s = other_step, .count = 2, .is_set = true};

typedef struct fault {
    const char *what, *op, *sample;
    change_fn *change;
    const char *attr_name;
    const takt_attr *attr;
} fault;

static const fault faults[] = {
    {"a square root without its rounding", "sqrt", NULL, lose_ulps, NULL, NULL},
    {"a product of matrices without its rounding", "matmul", NULL, lose_roundings, NULL, NULL},
    {"a convolution without its rounding", "conv", NULL, lose_roundings, NULL, NULL},
    {"a reduction without its rounding", "reduce_sum", "reduce_sum(f32[2, 300], axes=[1])",
     lose_roundings, NULL, NULL},
    {"an exponential without its error", "exp", NULL, lose_ulps, NULL, NULL},
    {"a difference that rises", "sub", NULL, turn_second, NULL, NULL},
    {"a negation that rises", "neg", NULL, turn, NULL, NULL},
    {"a sigmoid that falls", "sigmoid", NULL, turn, NULL, NULL},
    {"a magnitude at the ends", "abs", NULL, rise, NULL, NULL},
    {"a product at two corners", "mul", NULL, rise, NULL, NULL},
    {"a sine at the ends", "sin", NULL, rise, NULL, NULL},
    {"a hyperbola at the ends", "div", NULL, rise, NULL, NULL},
    {"a valley at the ends", "gelu", NULL, rise, NULL, NULL},
    {"a product of matrices at the ends", "matmul", NULL, add_up, NULL, NULL},
    {"one end for both", "tanh", NULL, one_end, NULL, NULL},
    {"bounds a millionth too narrow", "log", NULL, off_by_a_little, NULL, NULL},
    {"a comparison that is moved", "lt", NULL, move, NULL, NULL},
    {"padding that is lost", "avg_pool",
     "avg_pool(f32[1, 1, 7, 6], kernel=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1])", NULL, "pad",
     &padding},
    {"another step of the window", "max_pool",
     "max_pool(f32[2, 3, 6, 7], kernel=[2, 2], stride=[2, 2])", NULL, "stride", &stride},
};

/* Whether some point is outside the faulty bounds, or they cannot be computed at all. */
static bool is_caught(takt_ctx *ctx, const fault *f, const takt_op *op, const char *text)
{
    takt_op bad = *op;
    if (f->change != NULL)
        f->change(&bad);
    takt_box_trial t = {.ctx = ctx, .op = op, .text = text, .as = &bad, .points = 24};
    if (f->attr != NULL) {
        t.attr = f->attr;
        t.attr_index = (size_t)takt_op_attr_index(op, f->attr_name);
    }
    takt_box_try(&t);
    return t.violations > 0;
}

static void planted(void)
{
    takt_ctx *ctx;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const fault *f = &faults[i];
        const takt_op *op = takt_op_find(f->op, strlen(f->op));
        bool caught = false;
        if (f->sample != NULL)
            caught = is_caught(ctx, f, op, f->sample);
        for (size_t s = 0; f->sample == NULL && s < 10 && op->samples[s] != NULL && !caught; s++)
            caught = is_caught(ctx, f, op, op->samples[s]);
        EXPECT(caught, "%s: not noticed", f->what);
    }
    takt_ctx_destroy(ctx);
}

TEST_MAIN(planted)
