/* ranges_twins.c - layers that repeat: a step that is copied from an earlier one at a new size is
 * what it would be if it had been compiled; and so is one that is left alone, because it depends on
 * other sizes than those that change. */
#include <string.h>

#include <takt/takt.h>

#include "plan/resizer.h"
#include "test.h"

typedef struct model_case {
    const char *name, *text, *sizes;
    int64_t low, high; /* of each size; the plan has the high ones */
    size_t names;      /* how many sizes; one of them changes at a time */
    size_t least;      /* steps that are copied, with one thread and with four */
} model_case;

static const model_case cases[] = {
    {"encoder",
     "model m(x: f32[1, n, 24]) seed=3 {\n"
     "  a = transformer_block(x, heads=2, hidden=48)\n"
     "  b = transformer_block(a, heads=2, hidden=48)\n"
     "  c = transformer_block(b, heads=2, hidden=48)\n"
     "  return y = transformer_block(c, heads=2, hidden=64)\n}\n",
     "n=1..96", 1, 96, 1, 15},
    {"convolutions",
     "model m(x: f32[1, 8, n, 9]) seed=3 {\n"
     "  a = conv(x, 8, kernel=3, pad=1, act=relu)\n"
     "  b = conv(a, 8, kernel=3, pad=1, act=relu)\n"
     "  c = conv(b, 8, kernel=3, pad=1, act=relu)\n"
     "  d = conv(c, 8, kernel=3, pad=2, dilation=2, act=relu)\n"
     "  return y = max_pool(d, kernel=2)\n}\n",
     "n=3..64", 3, 64, 1, 1},
    {"products of two names",
     "model m(x: f32[n, 40]) seed=3 {\n"
     "  a = dense(x, 40, act=relu)\n"
     "  b = dense(a, 40, act=relu) + a\n"
     "  c = dense(b, 40, act=relu) + b\n"
     "  d = dense(c, 40, act=tanh) + c\n"
     "  e = softmax(op.matmul(d, d, transpose_b=true))\n"
     "  f = softmax(op.matmul(c, c, transpose_b=true))\n"
     "  return y = op.matmul(e, f)\n}\n",
     "n=1..300", 1, 300, 1, 1},
    {"a part of each name",
     "model m(x: f32[1, n, 24], z: f32[1, k, 24]) seed=3 {\n"
     "  a = dense(x, 24, act=relu)\n"
     "  b = dense(a, 24, act=relu)\n"
     "  p = dense(z, 24, act=tanh)\n"
     "  q = dense(p, 24, act=tanh)\n"
     "  both = concat(b, q, axis=1)\n"
     "  r = transpose(b, perm=[0, 2, 1])\n"
     "  wide = concat(r, transpose(q, perm=[0, 2, 1]), axis=2)\n"
     "  return u = softmax(both), w = tanh(wide), t = dense(q, 8)\n}\n",
     "n=1..150,k=1..150", 1, 150, 2, 0},
    {"the last row",
     "model m(x: f32[1, n, 24], z: f32[1, k, 24]) seed=3 {\n"
     "  a = dense(x, 24, act=relu)\n"
     "  last = slice(x, axes=[1], start=[-1], stop=[9999])\n"
     "  return u = tanh(a), v = dense(last, 8), w = op.matmul(z, last, transpose_b=true)\n"
     "}\n",
     "n=1..150,k=1..150", 1, 150, 2, 0},
};

static takt_ctx *ctx;

/* A bool and the padding after it, which is never set. */
static bool are_bools(uint64_t one, uint64_t other)
{
    return (one & 255) <= 1 && (one & 255) == (other & 255);
}

/* Words of two blocks are the same, or addresses. */
static bool same_words(const void *a, const void *b, size_t bytes)
{
    const unsigned char *x = a, *y = b;
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        uint64_t one, other;
        memcpy(&one, x + i, sizeof one);
        memcpy(&other, y + i, sizeof other);
        const bool are_addresses = one > 1 << 20 && other > 1 << 20 && one >> 48 == 0 &&
                                   other >> 48 == 0 && one % 4 == 0 && other % 4 == 0;
        if (one != other && !are_addresses && !are_bools(one, other))
            return false;
    }
    return memcmp(x + bytes / 8 * 8, y + bytes / 8 * 8, bytes % 8) == 0;
}

static bool same_views(const takt_view *a, const takt_view *b, size_t count)
{
    bool is_same = true;
    for (size_t i = 0; i < count && is_same; i++) {
        const size_t bytes = (size_t)a[i].rank * sizeof *a[i].dim;
        is_same = a[i].rank == b[i].rank && a[i].dtype == b[i].dtype &&
                  a[i].buffer == b[i].buffer && a[i].offset == b[i].offset &&
                  memcmp(a[i].dim, b[i].dim, bytes) == 0 &&
                  memcmp(a[i].stride, b[i].stride, bytes) == 0;
    }
    return is_same;
}

static bool same_step(const takt_step *a, const takt_step *b)
{
    return a->run == b->run && a->before == b->before && a->prepare == b->prepare &&
           a->after == b->after && a->prepare_count == b->prepare_count &&
           a->reads_view == b->reads_view && a->task_count == b->task_count &&
           a->scratch_bytes == b->scratch_bytes && a->scratch_each == b->scratch_each &&
           a->scratch_offset == b->scratch_offset && strcmp(a->name, b->name) == 0 &&
           strcmp(a->kernel, b->kernel) == 0 && a->in_count == b->in_count &&
           a->out_count == b->out_count && same_views(a->in, b->in, a->in_count) &&
           same_views(a->out, b->out, a->out_count);
}

static void same_plans(const takt_resizer *a, const takt_resizer *b, const char *what, int64_t size)
{
    for (size_t i = 0; i < a->plan->step_count; i++)
        EXPECT(same_step(&a->plan->steps[i], &b->plan->steps[i]), "%s, %lld: step %s", what,
               (long long)size, a->plan->steps[i].name);
    EXPECT_EQ(a->plan->is_parallel, b->plan->is_parallel);
    for (size_t i = 0; i < a->plan->buffer_count; i++)
        EXPECT_EQ(a->plan->buffers[i].bytes, b->plan->buffers[i].bytes);
    EXPECT_EQ(a->answers.count, b->answers.count);
    for (size_t i = 0; i < a->answers.count; i++) {
        const takt_answer *one = &a->answers.list[i], *other = &b->answers.list[i];
        EXPECT(one->what != TAKT_ASKED_BLOCK || same_words(one->at, other->at, one->bytes),
               "%s, %lld: block %zu", what, (long long)size, i);
    }
}

static void walk(const model_case *c, const takt_plan *top, size_t *copied)
{
    takt_resizer *walker = NULL;
    uint32_t random = 5;
    bool done = false;
    int64_t sizes[2] = {c->high, c->high};
    EXPECT_OK(ctx, takt_resizer_create(top, &walker));
    for (int i = 0; walker != NULL && i < 24; i++) {
        random = random * 1664525u + 1013904223u;
        const int64_t size = c->low + (int64_t)(random >> 8) % (c->high - c->low + 1);
        sizes[(random >> 5) % c->names] = size;
        if (i % 3 == 1) /* a size that comes back is restored, not compiled */
            sizes[0] = sizes[1] = c->low + 4;
        takt_resizer *alone = NULL; /* its first size is compiled */
        EXPECT_OK(ctx, takt_resizer_create(top, &alone));
        EXPECT(takt_resizer_set(walker, sizes, &done) == TAKT_OK && done);
        EXPECT(takt_resizer_set(alone, sizes, &done) == TAKT_OK && done);
        same_plans(walker, alone, c->name, size);
        takt_resizer_destroy(alone);
    }
    EXPECT(walker != NULL && walker->visits.list != NULL, "%s: every step is visited", c->name);
    *copied = walker != NULL ? takt_twins_count(walker->twins) : 0;
    takt_resizer_destroy(walker);
}

static void copies_are_what_they_would_be(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int threads = 1; threads <= 4; threads += 3) {
            const model_case *c = &cases[i];
            takt_model *m = NULL;
            takt_plan *top = NULL;
            size_t copied = 0;
            const takt_plan_options o = {.threads = threads, .sizes = c->sizes};
            EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", c->text, strlen(c->text), NULL, &m));
            if (EXPECT_OK(ctx, takt_plan_create(m, &o, &top)))
                walk(c, top, &copied);
            EXPECT(copied >= c->least, "%s: %zu steps are copied", c->name, copied);
            takt_plan_destroy(top);
            takt_model_destroy(m);
        }
}

int main(void)
{
    if (EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        copies_are_what_they_would_be();
    takt_ctx_destroy(ctx);
    return test_done();
}
