/* plan_options.c - every option of a plan is part of its key and of its copy.
 *
 * The test iterates over TAKT_PLAN_OPTIONS, so a new option is tested automatically.
 */
#include "test.h"

#include <string.h>

#include <takt/takt.h>

#include "api/plan_options.h"

static takt_ctx *ctx;
static takt_model *model;

static const char text[] = "model m(x: f32[n, 4]) -> (y: f32[n, 4]) {\n  return y = relu(x)\n}\n";
static float fixed_values[8];
static const takt_known_input fixed[] = {
    {"x", {.dtype = TAKT_F32, .rank = 2, .dims = {2, 4}, .data = fixed_values}},
    {"x", {.dtype = TAKT_F32, .rank = 2, .dims = {1, 8}, .data = fixed_values}},
};

/* Another value than zero in one field. */
static void change(takt_plan_options *o, const takt_option *p)
{
    void *at = (char *)o + p->offset;
    switch (p->kind) {
    case TAKT_OPTION_SIZE: *(size_t *)at = 3; break;
    case TAKT_OPTION_INT: *(int *)at = -1; break;
    case TAKT_OPTION_U64: *(uint64_t *)at = (uint64_t)1 << 40; break;
    case TAKT_OPTION_BOOL:
    case TAKT_OPTION_ASIDE: *(bool *)at = true; break;
    case TAKT_OPTION_TEXT: *(const char **)at = "word"; break;
    case TAKT_OPTION_SIZES: *(const char **)at = "n=2"; break;
    case TAKT_OPTION_CAPS: ((uint8_t *)at)[15] = 1; break;
    case TAKT_OPTION_FIXED:
        o->fixed = fixed;
        o->fixed_count = 1;
        break;
    case TAKT_OPTION_CACHE: EXPECT(false, "%s", p->name);
    }
}

static char *key_of(const takt_plan_options *o)
{
    takt_text key;
    takt_text_init(&key, ctx);
    EXPECT_OK(ctx, takt_plan_options_key(model, o, &key));
    const size_t bytes = strlen(takt_text_get(&key)) + 1;
    char *copy = malloc(bytes);
    if (copy == NULL)
        exit(1);
    memcpy(copy, takt_text_get(&key), bytes);
    takt_text_deinit(&key);
    return copy;
}

static void a_field_changes_the_key(void)
{
    const takt_plan_options plain = {0};
    char *seen[64] = {key_of(&plain)};
    size_t count = 1;
    const takt_option *p;
    for (size_t i = 0; (p = takt_option_at(i)) != NULL; i++) {
        takt_plan_options o = {0};
        change(&o, p);
        char *key = key_of(&o);
        if (p->kind == TAKT_OPTION_ASIDE) {
            EXPECT(strcmp(key, seen[0]) == 0, "%s changes no plan, but its key", p->name);
            free(key);
            continue;
        }
        for (size_t k = 0; k < count; k++)
            EXPECT(strcmp(key, seen[k]) != 0, "%s does not change the key", p->name);
        EXPECT_IS(count, <, sizeof seen / sizeof *seen);
        seen[count++] = key;
    }
    EXPECT(count > 25, "%zu", count);
    for (size_t k = 0; k < count; k++)
        free(seen[k]);
}

/* Words do not run into each other. */
static void keys_are_not_confused(void)
{
    char *a = key_of(&(takt_plan_options){.backend = "x 2:y"});
    char *b = key_of(&(takt_plan_options){.backend = "x", .blas = "y"});
    char *c = key_of(&(takt_plan_options){.backend = ""});
    char *d = key_of(&(takt_plan_options){0});
    char *e = key_of(&(takt_plan_options){.fixed = fixed, .fixed_count = 1});
    char *f = key_of(&(takt_plan_options){.fixed = fixed + 1, .fixed_count = 1});
    EXPECT(strcmp(a, b) != 0 && strcmp(c, d) != 0, "%s | %s | %s | %s", a, b, c, d);
    EXPECT(strcmp(e, f) != 0, "shapes of static inputs: %s", e);
    char *all[] = {a, b, c, d, e, f};
    for (size_t i = 0; i < 6; i++)
        free(all[i]);
}

static size_t size_of(const takt_option *p)
{
    switch (p->kind) {
    case TAKT_OPTION_SIZE: return sizeof(size_t);
    case TAKT_OPTION_INT: return sizeof(int);
    case TAKT_OPTION_U64: return sizeof(uint64_t);
    case TAKT_OPTION_BOOL:
    case TAKT_OPTION_ASIDE: return sizeof(bool);
    case TAKT_OPTION_CAPS: return 16;
    case TAKT_OPTION_FIXED: return sizeof(void *) + sizeof(size_t);
    default: return sizeof(void *);
    }
}

/* Every field of the struct has a row in the table. */
static void rows_cover_the_struct(void)
{
    const takt_option *p;
    size_t end = sizeof(size_t); /* .size */
    for (size_t i = 0; (p = takt_option_at(i)) != NULL; i++) {
        const size_t size = size_of(p), align = size < sizeof(void *) ? size : sizeof(void *);
        const size_t begin = p->kind == TAKT_OPTION_CAPS ? end : (end + align - 1) / align * align;
        EXPECT(p->offset == begin, "a gap before %s: %zu, %zu", p->name, begin, p->offset);
        end = p->offset + size;
    }
    EXPECT_EQ((end + sizeof(void *) - 1) / sizeof(void *) * sizeof(void *),
              sizeof(takt_plan_options));
}

static void a_copy_owns_what_it_points_to(void)
{
    takt_arena arena;
    takt_arena_init(&arena, ctx);
    takt_plan_options o = {0};
    const takt_plan_options *kept;
    const takt_option *p;
    for (size_t i = 0; (p = takt_option_at(i)) != NULL; i++)
        change(&o, p);
    if (EXPECT_OK(ctx, takt_plan_options_keep(&arena, &o, &kept)))
        for (size_t i = 0; (p = takt_option_at(i)) != NULL; i++) {
            const void *a = (const char *)&o + p->offset, *b = (const char *)kept + p->offset;
            if (p->kind == TAKT_OPTION_TEXT || p->kind == TAKT_OPTION_SIZES)
                EXPECT(*(const char *const *)a != *(const char *const *)b &&
                           strcmp(*(const char *const *)a, *(const char *const *)b) == 0,
                       "%s", p->name);
            else if (p->kind != TAKT_OPTION_FIXED)
                EXPECT(memcmp(a, b, size_of(p)) == 0, "%s", p->name);
        }
    EXPECT(kept->fixed != fixed);
    EXPECT(kept->fixed[0].view.data != (void *)fixed_values);
    takt_arena_deinit(&arena);
}

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model));
}

/* Four inputs of 2^62 bytes: their sum is 0 modulo 2^64, which every limit would allow. */
static void a_sum_of_sizes_does_not_wrap(void)
{
    static const char wide[] =
        "model m(a: i8[n, 2147483648], b: i8[n, 2147483648], c: i8[n, 2147483648],\n"
        "        d: i8[n, 2147483648]) -> (y: i8[1, 4]) {\n"
        "  p = slice(a, start=[0, 0], stop=[1, 1])\n"
        "  q = slice(b, start=[0, 0], stop=[1, 1])\n"
        "  r = slice(c, start=[0, 0], stop=[1, 1])\n"
        "  s = slice(d, start=[0, 0], stop=[1, 1])\n"
        "  return y = concat(p, q, r, s, axis=1)\n}\n";
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", wide, sizeof wide - 1, NULL, &m));
    const takt_plan_options o = {.sizes = "n=2147483648", .memory_limit = 1 << 20};
    EXPECT(takt_plan_create(m, &o, &plan) != TAKT_OK && plan == NULL);
    EXPECT(takt_last_error_info(ctx)->id == TAKT_E_OVERFLOW, "%s", takt_last_error(ctx));
    takt_plan_destroy(plan);
    takt_model_destroy(m);
}

static void end(void)
{
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, a_field_changes_the_key, keys_are_not_confused, rows_cover_the_struct,
          a_copy_owns_what_it_points_to, a_sum_of_sizes_does_not_wrap, end)
