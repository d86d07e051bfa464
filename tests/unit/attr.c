/* attr.c - attributes: equality, hashing, copies, text. */
#include "ir/attr.h"

#include <math.h>
#include <string.h>

#include "test.h"

static const char *const modes[] = {"zero", "one", NULL};
static const int64_t numbers[] = {1, -2, 3}, others[] = {1, -2, 4};
static const double reals[] = {0.5, -0.25}, unreal[] = {0.5, 0.25};
static const char *const words[] = {"a", "b\"\\\n\x01"}, *const phrases[] = {"a", "c"};

typedef struct example {
    takt_attr_def def;
    takt_attr value, other;
    const char *text;
} example;

static void all(takt_graph *g, const takt_tensor *small, const takt_tensor *small_too)
{
    static const takt_type t = {.dtype = TAKT_F32, .rank = 1, .dim = {3}}, u = {.dtype = TAKT_I8};
    const example list[] = {
        {{.type = TAKT_ATTR_I64}, takt_attr_i64(-5), takt_attr_i64(5), "-5"},
        {{.type = TAKT_ATTR_F64}, takt_attr_f64(0.1), takt_attr_f64(0.2), "0.1"},
        {{.type = TAKT_ATTR_F64}, takt_attr_f64(0.0), takt_attr_f64(-0.0), "0"},
        {{.type = TAKT_ATTR_F64}, takt_attr_f64(NAN), takt_attr_f64(1), "nan"},
        {{.type = TAKT_ATTR_BOOL}, takt_attr_bool(true), takt_attr_bool(false), "true"},
        {{.type = TAKT_ATTR_STRING}, takt_attr_string("x y"), takt_attr_string("x"), "\"x y\""},
        {{.type = TAKT_ATTR_ENUM, .names = modes}, takt_attr_i64(1), takt_attr_i64(0), "one"},
        {{.type = TAKT_ATTR_DTYPE}, takt_attr_dtype(TAKT_BF16), takt_attr_dtype(TAKT_F16), "bf16"},
        {{.type = TAKT_ATTR_I64S},
         takt_attr_i64s(numbers, 3),
         takt_attr_i64s(others, 3),
         "[1, -2, 3]"},
        {{.type = TAKT_ATTR_I64S}, takt_attr_i64s(NULL, 0), takt_attr_i64s(numbers, 1), "[]"},
        {{.type = TAKT_ATTR_F64S},
         takt_attr_f64s(reals, 2),
         takt_attr_f64s(unreal, 2),
         "[0.5, -0.25]"},
        {{.type = TAKT_ATTR_STRINGS},
         {.strings = words, .count = 2},
         {.strings = phrases, .count = 2},
         "[\"a\", \"b\\\"\\\\\\n\\u{1}\"]"},
        {{.type = TAKT_ATTR_SHAPE},
         takt_attr_shape(numbers, 1),
         takt_attr_shape(others + 2, 1),
         "[1]"},
        {{.type = TAKT_ATTR_TYPE}, takt_attr_type_of(&t), takt_attr_type_of(&u), "f32[3]"},
        {{.type = TAKT_ATTR_TENSOR}, {.tensor = small}, {.tensor = small_too}, ""},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        const example *e = &list[i];
        takt_attr copy;
        takt_text text;
        EXPECT_OK(g->ctx, takt_attr_copy(g, &e->def, &e->value, &copy));
        EXPECT(takt_attr_same(&e->def, &e->value, &copy), "%zu", i);
        EXPECT(!takt_attr_same(&e->def, &e->value, &e->other), "%zu", i);
        const uint64_t hash = takt_attr_hash(&e->def, &e->value, 1);
        EXPECT(hash == takt_attr_hash(&e->def, &copy, 1), "%zu", i);
        EXPECT(hash != takt_attr_hash(&e->def, &e->other, 1), "%zu", i);
        EXPECT(hash != takt_attr_hash(&e->def, &e->value, 2), "%zu", i);
        takt_text_init(&text, g->ctx);
        takt_attr_print(g->dims, &e->def, &copy, &text);
        EXPECT(strcmp(takt_text_get(&text), e->text) == 0, "%s, not %s", takt_text_get(&text),
               e->text);
        takt_text_deinit(&text);
    }
}

static takt_tensor filled(takt_ctx *ctx, int64_t count, float value)
{
    const takt_type type = {.dtype = TAKT_F32, .rank = 1, .dim = {count}};
    takt_tensor t;
    EXPECT_OK(ctx, takt_tensor_create(ctx, &type, &t));
    for (int64_t i = 0; i < count; i++)
        ((float *)takt_tensor_data(&t))[i] = value;
    return t;
}

static void values(void)
{
    takt_ctx *ctx;
    takt_graph *g;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_graph_create(ctx, NULL, &g));
    takt_tensor a = filled(ctx, 3, 1), b = filled(ctx, 3, 2);
    all(g, &a, &b);
    takt_tensor_release(&a); /* the graph holds what it copied */
    takt_tensor_release(&b);
    takt_graph_destroy(g);
    takt_ctx_destroy(ctx);
}

/* Small constants are compared by content, large ones by storage. */
static void tensors(void)
{
    takt_ctx *ctx;
    const takt_attr_def def = {.type = TAKT_ATTR_TENSOR};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    takt_tensor a = filled(ctx, 16, 1), b = filled(ctx, 16, 1);
    takt_tensor c = filled(ctx, 17, 1), d = filled(ctx, 17, 1);
    const takt_attr x = {.tensor = &a}, y = {.tensor = &b}, v = {.tensor = &c}, w = {.tensor = &d};
    EXPECT(takt_attr_same(&def, &x, &y));
    EXPECT_EQ(takt_attr_hash(&def, &x, 0), takt_attr_hash(&def, &y, 0));
    EXPECT(!takt_attr_same(&def, &v, &w) && takt_attr_same(&def, &v, &v));
    takt_tensor_release(&a);
    takt_tensor_release(&b);
    takt_tensor_release(&c);
    takt_tensor_release(&d);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(values, tensors)
