/* dim.c - dimensions: normal form, unification, substitution, limits. */
#include "ir/dim.h"

#include <string.h>

#include "test.h"

static takt_ctx *ctx;
static takt_dims *dims;

static takt_dim name(const char *text)
{
    takt_dim d = 0;
    EXPECT_OK(ctx, takt_dim_name(dims, takt_span_of(text), &d));
    return d;
}

static takt_dim op(takt_dim_op which, takt_dim a, takt_dim b)
{
    takt_dim d = 0;
    EXPECT_OK(ctx, takt_dim_make(dims, which, a, b, &d));
    return d;
}

static takt_dim add(takt_dim a, takt_dim b)
{
    return op(TAKT_DIM_ADD, a, b);
}
static takt_dim sub(takt_dim a, takt_dim b)
{
    return op(TAKT_DIM_SUB, a, b);
}
static takt_dim mul(takt_dim a, takt_dim b)
{
    return op(TAKT_DIM_MUL, a, b);
}
static takt_dim divide(takt_dim a, takt_dim b)
{
    return op(TAKT_DIM_FLOORDIV, a, b);
}

static void prints(takt_dim d, const char *want)
{
    takt_text text;
    takt_text_init(&text, ctx);
    takt_dim_print(dims, d, &text);
    EXPECT(strcmp(takt_text_get(&text), want) == 0, "got %s, want %s", takt_text_get(&text), want);
    takt_text_deinit(&text);
}

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_dims_create(ctx, &dims));
}

static void end(void)
{
    takt_dims_release(dims);
    takt_ctx_destroy(ctx);
}

static void normal_form(void)
{
    begin();
    const takt_dim n = name("n"), m = name("m");
    EXPECT_EQ(n, name("n"));
    EXPECT_IS(n, !=, m);
    EXPECT_EQ(sub(add(n, 1), 1), n);
    EXPECT_EQ(add(n, m), add(m, n));
    EXPECT_EQ(mul(add(n, 1), add(n, 1)), add(add(mul(n, n), mul(2, n)), 1));
    EXPECT_EQ(sub(mul(2, n), mul(n, 2)), 0);
    EXPECT_EQ(mul(n, 0), 0);
    EXPECT_EQ(add(3, 4), 7);
    EXPECT_EQ(mul(3, 4), 12);
    EXPECT_EQ(sub(9, 4), 5);
    prints(add(mul(2, n), 1), "2*n + 1");
    prints(sub(3, n), "3 - n");
    prints(sub(sub(0, n), 1), "0 - n - 1");
    prints(mul(mul(n, m), 3), "3*m*n");
    prints(name("odd name"), "`odd name`");
    end();
}

static void division(void)
{
    begin();
    const takt_dim n = name("n"), m = name("m");
    EXPECT_EQ(divide(mul(4, n), 2), mul(2, n));
    EXPECT_EQ(divide(add(mul(2, n), 1), 2), n);
    EXPECT_EQ(divide(add(n, 2), 2), add(divide(n, 2), 1));
    EXPECT_EQ(divide(mul(n, m), m), n);
    EXPECT_EQ(divide(add(n, m), add(m, n)), 1);
    EXPECT_EQ(divide(n, 1), n);
    EXPECT_EQ(divide(7, 2), 3);
    EXPECT_EQ(op(TAKT_DIM_CEILDIV, 7, 2), 4);
    EXPECT_EQ(op(TAKT_DIM_CEILDIV, 8, 2), 4);
    EXPECT_EQ(op(TAKT_DIM_CEILDIV, mul(6, n), 3), mul(2, n));
    EXPECT_EQ(op(TAKT_DIM_CEILDIV, n, 2), divide(add(n, 1), 2));
    EXPECT_EQ(op(TAKT_DIM_CEILDIV, mul(n, m), n), m);
    EXPECT_EQ(op(TAKT_DIM_MOD, mul(6, n), 3), 0);
    EXPECT_EQ(op(TAKT_DIM_MOD, 7, 3), 1);
    EXPECT_EQ(op(TAKT_DIM_MOD, add(mul(6, n), 4), 3), 1);
    EXPECT_EQ(op(TAKT_DIM_MOD, add(mul(4, n), 4), 3), op(TAKT_DIM_MOD, add(n, 1), 3));
    EXPECT_EQ(op(TAKT_DIM_MOD, mul(n, m), m), 0);
    prints(divide(sub(n, 3), 2), "floordiv(n + 1, 2) - 2");
    takt_dim d;
    EXPECT_STATUS(ctx, takt_dim_make(dims, TAKT_DIM_FLOORDIV, n, 0, &d), TAKT_ERR_SHAPE);
    EXPECT_STATUS(ctx, takt_dim_make(dims, TAKT_DIM_MOD, 5, 0, &d), TAKT_ERR_SHAPE);
    EXPECT_STATUS(ctx, takt_dim_make(dims, TAKT_DIM_CEILDIV, n, 0, &d), TAKT_ERR_SHAPE);
    end();
}

static void min_max(void)
{
    begin();
    const takt_dim n = name("n"), m = name("m");
    EXPECT_EQ(op(TAKT_DIM_MIN, n, n), n);
    EXPECT_EQ(op(TAKT_DIM_MAX, n, n), n);
    EXPECT_EQ(op(TAKT_DIM_MIN, n, m), op(TAKT_DIM_MIN, m, n));
    EXPECT_EQ(op(TAKT_DIM_MIN, n, add(n, 2)), n);
    EXPECT_EQ(op(TAKT_DIM_MAX, n, add(n, 2)), add(n, 2));
    EXPECT_EQ(op(TAKT_DIM_MIN, 3, 5), 3);
    EXPECT_EQ(op(TAKT_DIM_MAX, 3, 5), 5);
    prints(op(TAKT_DIM_MAX, 1, n), "max(n, 1)");
    end();
}

static void unification(void)
{
    begin();
    const takt_dim batch = name("batch"), n = name("n"), k = name("k"), j = name("j");
    takt_dim d;
    EXPECT_OK(ctx, takt_dim_unify(dims, batch, n));
    EXPECT(takt_dim_same(dims, batch, n));
    EXPECT_OK(ctx, takt_dim_resolve(dims, n, &d));
    EXPECT(d == batch, "the older word stays");
    EXPECT_OK(ctx, takt_dim_unify(dims, mul(2, k), 6));
    EXPECT(takt_dim_same(dims, k, 3));
    EXPECT_OK(ctx, takt_dim_unify(dims, add(mul(2, j), 2), mul(2, n)));
    EXPECT(takt_dim_same(dims, add(j, 1), batch));
    EXPECT(!takt_dim_same(dims, j, batch));
    EXPECT_STATUS(ctx, takt_dim_unify(dims, k, 4), TAKT_ERR_SHAPE);
    EXPECT(strstr(takt_last_error(ctx), "k (3)") != NULL, "%s", takt_last_error(ctx));
    EXPECT_STATUS(ctx, takt_dim_unify(dims, 3, 4), TAKT_ERR_SHAPE);
    EXPECT_STATUS(ctx, takt_dim_unify(dims, batch, add(batch, 1)), TAKT_ERR_SHAPE);
    EXPECT_STATUS(ctx, takt_dim_unify(dims, add(batch, 5), 2), TAKT_ERR_SHAPE);
    EXPECT_STATUS(ctx, takt_dim_unify(dims, mul(2, batch), 7), TAKT_ERR_SHAPE);
    EXPECT_STATUS(ctx, takt_dim_unify(dims, mul(3, batch), mul(7, batch)), TAKT_ERR_SHAPE);
    EXPECT(!takt_dim_same(dims, batch, 0), "no size is made 0 to make both sides equal");
    const takt_dim half = divide(batch, 2);
    EXPECT_OK(ctx, takt_dim_unify(dims, batch, 8));
    EXPECT(takt_dim_same(dims, half, 4) && takt_dim_same(dims, j, 7));
    end();
}

/* A condition that only some sizes meet is recorded once, and binds nothing. */
static void assumptions(void)
{
    begin();
    const takt_dim h = name("h"), w = name("w"), half = divide(h, 2);
    EXPECT_STATUS(ctx, takt_dim_unify(dims, h, mul(2, h)), TAKT_ERR_SHAPE);
    EXPECT_STATUS(ctx, takt_dim_unify(dims, mul(2, half), 5), TAKT_ERR_SHAPE);
    EXPECT_EQ(takt_dims_assumed(dims), 0);
    EXPECT_OK(ctx, takt_dim_unify(dims, h, mul(2, half)));
    EXPECT_OK(ctx, takt_dim_unify(dims, mul(2, half), h));
    EXPECT(takt_dims_assumed(dims) == 1 && !takt_dim_same(dims, h, mul(2, half)));
    EXPECT_OK(ctx, takt_dim_unify(dims, half, 3));
    EXPECT_EQ(takt_dims_assumed(dims), 2);
    EXPECT_EQ(takt_dims_assumption(dims, 1).right, 3);
    const size_t held = takt_dims_hold(dims);
    EXPECT_OK(ctx, takt_dim_unify(dims, w, 4));
    EXPECT(takt_dims_assumed(dims) == 3 && !takt_dim_same(dims, w, 4), "w is held");
    const takt_dim inner = name("inner");
    EXPECT_OK(ctx, takt_dim_unify(dims, inner, w));
    EXPECT(takt_dim_same(dims, inner, w), "names that are new are bound");
    takt_dims_let_go(dims, held);
    EXPECT_OK(ctx, takt_dim_unify(dims, w, 4));
    EXPECT(takt_dim_same(dims, w, 4));
    end();
}

/* Factors that dividend and divisor share cancel. */
static void quotients(void)
{
    begin();
    const takt_dim b = name("b"), n = name("n");
    const takt_dim frames = sub(n, 6);
    EXPECT_EQ(divide(mul(512, mul(b, frames)), mul(b, frames)), 512);
    EXPECT_EQ(divide(mul(b, add(n, 1)), mul(2, b)), divide(add(n, 1), 2));
    EXPECT_IS(divide(add(mul(b, n), 1), b), !=, n);
    end();
}

/* A chain of bindings longer than any stack would like. */
static void long_chain(void)
{
    enum { LENGTH = 20000 };
    begin();
    takt_dim first = name("x0"), last = first, d;
    for (int i = 1; i < LENGTH; i++) {
        char text[16];
        snprintf(text, sizeof text, "x%d", i);
        const takt_dim next = name(text);
        EXPECT_OK(ctx, takt_dim_unify(dims, last, sub(next, 1)));
        last = next;
    }
    EXPECT_OK(ctx, takt_dim_resolve(dims, last, &d));
    EXPECT_EQ(d, add(first, LENGTH - 1));
    end();
}

static void substitution(void)
{
    begin();
    const takt_dim n = name("n"), m = name("m");
    const takt_dim out = add(divide(sub(n, 3), 2), 1);
    takt_dim d;
    const int64_t nine[] = {9, -1}, one[] = {1, -1}, both[] = {4, 5};
    EXPECT_OK(ctx, takt_dim_substitute(dims, out, nine, 2, &d));
    EXPECT(d == 4, "%lld", (long long)d);
    EXPECT_OK(ctx, takt_dim_substitute(dims, out, one, 2, &d));
    EXPECT(d == 0, "negative on the way: %lld", (long long)d);
    EXPECT_OK(ctx, takt_dim_substitute(dims, mul(n, m), nine, 2, &d));
    EXPECT_EQ(d, mul(9, m));
    EXPECT_OK(ctx, takt_dim_substitute(dims, op(TAKT_DIM_MAX, sub(n, 5), m), one, 2, &d));
    EXPECT_OK(ctx, takt_dim_substitute(dims, d, both, 2, &d));
    EXPECT(d == 5, "max(-4, 5): %lld", (long long)d);
    EXPECT_STATUS(ctx, takt_dim_substitute(dims, sub(n, 3), one, 2, &d), TAKT_ERR_SHAPE);
    EXPECT_EQ(takt_dims_name_count(dims), 2);
    EXPECT_TEXT(takt_dims_name(dims, 1), "m");
    EXPECT(takt_dims_name(dims, 2) == NULL);
    end();
}

static void limits(void)
{
    begin();
    takt_dim d = 0, sum = name("a0");
    EXPECT_STATUS(ctx, takt_dim_make(dims, TAKT_DIM_SUB, 3, 4, &d), TAKT_ERR_SHAPE);
    EXPECT_STATUS(ctx, takt_dim_make(dims, TAKT_DIM_MUL, INT64_MAX, 2, &d), TAKT_ERR_SHAPE);
    EXPECT_STATUS(ctx, takt_dim_make(dims, TAKT_DIM_ADD, -1000, 2, &d), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_dim_name(dims, takt_span_of(""), &d), TAKT_ERR_SHAPE);
    const takt_dim least = sub(0, mul(name("a0"), INT64_MAX)); /* one less has no opposite */
    EXPECT_STATUS(ctx, takt_dim_make(dims, TAKT_DIM_SUB, least, name("a0"), &d), TAKT_ERR_SHAPE);
    takt_status status = TAKT_OK;
    int terms = 1;
    for (; terms < 1000 && status == TAKT_OK; terms++) {
        char text[16];
        snprintf(text, sizeof text, "a%d", terms);
        status = takt_dim_make(dims, TAKT_DIM_ADD, sum, name(text), &d);
        sum = status == TAKT_OK ? d : sum;
    }
    EXPECT(status == TAKT_ERR_SHAPE && terms == 97, "%d terms", terms);
    takt_dim power = name("p");
    for (int i = 0; i < 6; i++)
        power = mul(power, name("p"));
    EXPECT_STATUS(ctx, takt_dim_make(dims, TAKT_DIM_MUL, power, power, &d), TAKT_ERR_SHAPE);
    takt_dim deep = name("p");
    for (int i = 0; i < 1000 && status != TAKT_OK; i++) {
        char text[16];
        snprintf(text, sizeof text, "q%d", i);
        status = takt_dim_make(dims, TAKT_DIM_MIN, deep, name(text), &d);
        if (status != TAKT_OK)
            break;
        deep = d;
        status = TAKT_ERR_SHAPE; /* continue until it is refused */
    }
    if (EXPECT_STATUS(NULL, status, TAKT_ERR_SHAPE))
        EXPECT(strstr(takt_last_error(ctx), "characters") != NULL);
    end();
}

TEST_MAIN(normal_form, division, min_max, unification, assumptions, quotients, long_chain,
          substitution, limits)
