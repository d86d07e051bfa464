/* state_forms.c - weights that are state: packed when they change, and never in between.
 *
 * An optimiser's update of 4 MB is one step without a copy. Packed forms of a weight are kept with
 * it: the run that changes it packs it, other sessions of the same state find it packed, and what
 * puts another value there makes the next run pack it. A slot whose next value a step reads that
 * may fail has two memories, which change places.
 */
#include "test.h"

#include <string.h>

#include <takt/takt.h>

#include "api/session/session.h"
#include "util/inject.h"

static takt_ctx *ctx;

static takt_session *open(const char *text, const takt_plan_options *o, const takt_session *of)
{
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    const takt_session_options options = {.state_of = (takt_session *)(uintptr_t)of};
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model)) &&
        EXPECT_OK(ctx, takt_plan_create(model, o, &plan)))
        EXPECT_OK(ctx, takt_session_create(plan, &options, &s));
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    return s;
}

static size_t count_of(const takt_tensor_view *v)
{
    size_t count = 1;
    for (int d = 0; d < v->rank; d++)
        count *= (size_t)v->dims[d];
    return count;
}

/* Small numbers; indices are 0 to 2. */
static void fill(takt_session *s, uint32_t seed)
{
    for (size_t i = 0; i < takt_session_input_count(s); i++) {
        const takt_tensor_view *v = takt_session_input(s, i);
        for (size_t k = 0; k < count_of(v); k++) {
            seed = seed * 1664525u + 1013904223u;
            const int small = (int)(seed >> 24 & 31) - 16;
            if (v->dtype == TAKT_F16) /* powers of two */
                ((uint16_t *)v->data)[k] = (uint16_t)((seed >> 24 & 7) << 10 | 0x2000);
            else if (v->dtype == TAKT_F64)
                ((double *)v->data)[k] = small / 16.0;
            else if (v->dtype == TAKT_F32)
                ((float *)v->data)[k] = (float)small / 16;
            else
                ((int64_t *)v->data)[k] = (int64_t)(seed >> 20) % 3;
        }
    }
}

static bool run(takt_session *s, uint32_t seed)
{
    fill(s, seed);
    return EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
}

static bool same_outputs(const takt_session *a, const takt_session *b)
{
    for (size_t i = 0; i < takt_session_output_count(a); i++)
        if (memcmp(a->outputs[i].view.data, b->outputs[i].view.data, a->outputs[i].bytes) != 0)
            return false;
    return true;
}

static bool same_state(const takt_session *a, const takt_session *b)
{
    for (size_t i = 0; i < takt_session_state_count(a); i++)
        if (memcmp(takt_tensor_data(&a->state[i]), takt_tensor_data(&b->state[i]),
                   takt_tensor_bytes(&a->state[i])) != 0)
            return false;
    return true;
}

typedef struct counts {
    size_t maps, copies, packs, prepares;
} counts;

static counts count(const takt_plan *plan)
{
    counts c = {0};
    for (size_t i = 0; i < plan->step_count; i++) {
        const takt_step *s = &plan->steps[i];
        c.maps += s->facts.work == TAKT_WORK_MAP && s->is_commit;
        c.packs += s->packs_state;
        c.copies += s->facts.work == TAKT_WORK_MOVE && !s->packs_state;
        c.prepares += s->prepare != NULL || s->before != NULL;
    }
    return c;
}

/* ---- an update of 4 MB ---- */

#define ADAM                                                                                       \
    "  state m: f32[1024, 1024] = 0\n  state v: f32[1024, 1024] = 0\n"                             \
    "  a = 0.9 * m + 0.1 * g\n  b = 0.999 * v + 0.001 * g * g\n"                                   \
    "  next m = a\n  next v = b\n  next w = w - 0.001 * a / (sqrt(b) + 1e-8)\n"

/* Forward pass, gradient of the weight, its update: the weight is read directly and transposed. */
static const char step_text[] =
    "model step(x: f32[8, 1024]) {\n  state w: f32[1024, 1024] = 0.01\n"
    "  h = op.matmul(x, w)\n  d = op.matmul(h, w, transpose_b=true)\n"
    "  g = op.matmul(x, h, transpose_a=true)\n" ADAM "  return y = h, dx = d\n}\n";
static const char look_text[] = "model look(x: f32[8, 1024]) {\n"
                                "  state w: f32[1024, 1024] = 0.01\n"
                                "  next w = w\n  return y = op.matmul(x, w)\n}\n";

static void adam_of_4_mb(void)
{
    takt_session *s = open(step_text, &(takt_plan_options){.threads = 1}, NULL);
    if (s == NULL)
        return;
    const counts c = count(s->plan);
    EXPECT(c.maps == 1 && c.copies == 0, "%zu maps, %zu copies", c.maps, c.copies);
    EXPECT(c.packs == 2 && c.prepares == 1, "%zu steps pack, %zu pack what they compute", c.packs,
           c.prepares);
    EXPECT(s->plan->arena_bytes <= 3u << 22, "%zu bytes of arena", s->plan->arena_bytes);
    EXPECT(s->plan->state_bytes == 5u << 22, "%zu bytes of state", s->plan->state_bytes);
    takt_session_destroy(s);
}

/* ---- versions ---- */

static float *form_of(const takt_session *s, size_t i)
{
    return (float *)(void *)((char *)takt_storage_data(s->forms[i]->storage) + s->forms[i]->offset);
}

static void packed_once_for_every_value(void)
{
    const takt_plan_options memory = {.threads = 1, .hint = "memory"}, plain = {.threads = 1};
    takt_session *train = open(step_text, &plain, NULL);
    takt_session *look = open(look_text, &plain, train);
    takt_session *want = open(step_text, &memory, NULL); /* packs in every run */
    if (train == NULL || look == NULL || want == NULL)
        return;
    EXPECT_EQ(want->plan->form_count, 0);
    EXPECT_EQ(train->plan->form_count, 2);
    EXPECT(look->forms[0] == train->forms[0] || look->forms[0] == train->forms[1],
           "two sessions keep the same form twice");
    for (uint32_t i = 0; i < 3; i++) {
        if (!run(want, i) || !run(train, i))
            return;
        EXPECT(same_outputs(train, want) && same_state(train, want), "run %d", (int)i);
        run(want, 100 + i); /* its first output is the result of `look` */
        takt_session_destroy(want);
        want = open(step_text, &memory, train);
        run(look, 100 + i);
        const uint64_t version = train->slots[0].shared->version;
        EXPECT(look->forms[0]->version == version, "the step that changed it has not packed it");
        takt_session_destroy(want);
        want = open(step_text, &memory, NULL);
        for (uint32_t k = 0; k <= i; k++)
            run(want, k);
    }
    takt_session_destroy(want);
    takt_session_destroy(look);
    takt_session_destroy(train);
}

/* A reader of a corrupted form reads it unchanged, until the value is set again. */
static void read_as_it_is(void)
{
    static float w[1024 * 1024];
    takt_session *s = open(look_text, &(takt_plan_options){.threads = 2}, NULL);
    takt_tensor_view view = {.dtype = TAKT_F32, .rank = 2, .dims = {1024, 1024}, .data = w};
    float right;
    if (s == NULL || !run(s, 1))
        return;
    const float *y = takt_session_output(s, 0)->data;
    right = y[0];
    form_of(s, 0)[0] += 1024;
    run(s, 1);
    EXPECT(y[0] != right, "a weight that did not change is packed again");
    if (EXPECT_OK(NULL, takt_session_state_get(s, "w", &view)))
        EXPECT_EQ(w[0], 0.01f);
    EXPECT_OK(NULL, takt_session_state_put(s, "w", &view));
    run(s, 1);
    EXPECT(y[0] == right, "put does not make the next run pack");
    form_of(s, 0)[0] += 1024;
    takt_session_reset(s);
    run(s, 1);
    EXPECT(y[0] == right, "reset does not make the next run pack");
    takt_session_destroy(s);
}

/* ---- every kind that packs ---- */

#include "unit/state_forms.inc"

static void same_bits(const char *text, int threads, size_t forms)
{
    takt_session *got = open(text, &(takt_plan_options){.threads = threads}, NULL);
    takt_session *want =
        open(text, &(takt_plan_options){.threads = 1, .memory_limit = 1u << 30}, NULL);
    EXPECT(got->plan->form_count >= forms && want->plan->form_count == 0, "%zu forms: %s",
           got->plan->form_count, text);
    for (uint32_t k = 0; k < 4 && run(got, k) && run(want, k); k++)
        EXPECT(same_outputs(got, want) && same_state(got, want), "run %d of %s", (int)k, text);
    takt_session_destroy(got);
    takt_session_destroy(want);
}

/* Steps that read a state itself, except those that change or pack it. */
static bool packs_in_runs(const takt_plan *plan)
{
    for (size_t i = 0; i < plan->step_count; i++)
        for (size_t k = 0; k < plan->steps[i].in_count; k++)
            if (!plan->steps[i].is_commit &&
                plan->buffers[plan->steps[i].in[k].buffer].place == TAKT_PLACE_STATE)
                return true;
    return false;
}

static void every_kind_has_the_same_bits(void)
{
    for (size_t i = 0; i < KINDS; i++) {
        same_bits(kinds[i], 1, 1);
        same_bits(kinds[i], 2, 1);
        takt_session *s = open(kinds[i], &(takt_plan_options){.threads = 1}, NULL);
        if (i >= FIRST_VIEW && i < KINDS - 1)
            EXPECT(!packs_in_runs(s->plan), "model %zu packs what has not changed", i);
        takt_session_destroy(s);
    }
}

static void values_that_are_read_as_they_are(void)
{
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        for (int threads = 1; threads < 3; threads++)
            same_bits(readers[i], threads, 0);
}

/* ---- any size ---- */

static const char sized_text[] =
    "model m(x: f32[batch, 6, 9, 9]) {\n  state w: f32[7, 6, 5, 5] = 0.125\n"
    "  state d: f16[7, 1, 3, 3] = 0.25\n"
    "  y = op.conv(op.conv(x, w), op.cast(d, dtype=f32), groups=7)\n"
    "  next w = w * 0.5\n  next d = d + 0.25\n  return y = y\n}\n";

/* Sizes of a range in turn, next to plans of each size that share one state. */
static void every_size_reads_the_same_forms(void)
{
    static float x[8 * 6 * 9 * 9];
    static const int64_t batches[] = {8, 3, 1, 5, 3};
    takt_session *wide =
        open(sized_text, &(takt_plan_options){.threads = 1, .sizes = "batch=1..8"}, NULL);
    takt_session *first =
        open(sized_text, &(takt_plan_options){.threads = 1, .hint = "memory"}, NULL);
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        x[i] = (float)(i % 37) / 8 - 2;
    for (size_t i = 0; wide != NULL && i < sizeof batches / sizeof *batches; i++) {
        char sizes[32];
        snprintf(sizes, sizeof sizes, "batch=%d", (int)batches[i]);
        const takt_tensor_view view = {
            .dtype = TAKT_F32, .rank = 4, .dims = {batches[i], 6, 9, 9}, .data = x};
        takt_session *alone =
            open(sized_text, &(takt_plan_options){.threads = 1, .hint = "memory", .sizes = sizes},
                 first);
        EXPECT_OK(ctx, takt_session_bind(wide, "x", &view));
        EXPECT_OK(ctx, takt_session_bind(alone, "x", &view));
        EXPECT_OK(NULL, takt_session_run(wide));
        EXPECT_OK(NULL, takt_session_run(alone));
        const takt_tensor_view *got = takt_session_output(wide, 0);
        const takt_tensor_view *want = takt_session_output(alone, 0);
        EXPECT(count_of(got) == count_of(want) &&
                   memcmp(got->data, want->data, count_of(want) * sizeof(float)) == 0,
               "batch %d", (int)batches[i]);
        takt_session_destroy(alone);
    }
    takt_session_destroy(first);
    takt_session_destroy(wide);
}

/* ---- two memories ---- */

static const char swap_text[] =
    "model m(x: f32[6, 50], k: i64[2]) {\n  state a: f32[6, 50] = 1\n  state n: i64[] = 0\n"
    "  t = op.softmax(a + x)\n  next a = t\n  next n = n + 1\n"
    "  return z = op.gather(t, k, axis=0)\n}\n";
static const char read_text[] =
    "model r(x: f32[6, 50]) {\n  state a: f32[6, 50] = 1\n  next a = a\n"
    "  return y = a * x\n}\n";

static void memories_change_places(void)
{
    takt_session *s = open(swap_text, &(takt_plan_options){.threads = 1}, NULL);
    takt_session *reader = open(read_text, &(takt_plan_options){.threads = 1}, s);
    takt_session *want = open(swap_text, &(takt_plan_options){.backend = "ref"}, NULL);
    if (s == NULL || reader == NULL || want == NULL)
        return;
    float before[300], after[300];
    takt_tensor_view view = {.dtype = TAKT_F32, .rank = 2, .dims = {6, 50}, .data = before};
    EXPECT(s->plan->slots[0].is_swapped && s->plan->slots[1].is_swapped);
    EXPECT(count(s->plan).copies == 0, "%zu copies", count(s->plan).copies);
    EXPECT(s->plan->state_bytes == 2 * (1216 + 64), "%zu bytes", s->plan->state_bytes);
    for (uint32_t i = 0; i < 3; i++) {
        const void *place = takt_tensor_data(&s->state[0]);
        run(s, i);
        EXPECT(takt_tensor_data(&s->state[0]) != place, "the value is where it was");
        run(want, i);
        EXPECT_OK(ctx, takt_session_state_get(reader, "a", &view));
        EXPECT_EQ(memcmp(before, takt_tensor_data(&s->state[0]), sizeof before), 0);
        run(reader, 7);
        const float *x = takt_session_input(reader, 0)->data;
        const float *y = takt_session_output(reader, 0)->data;
        for (size_t k = 0; k < 300; k++)
            EXPECT(y[k] == before[k] * x[k], "run %d, element %zu", (int)i, k);
        for (size_t k = 0; k < 300; k++)
            EXPECT_IS(before[k] - ((const float *)takt_tensor_data(&want->state[0]))[k], <, 1e-6f);
    }
    fill(s, 3);
    ((int64_t *)takt_session_input(s, 1)->data)[1] = 6;
    EXPECT_STATUS(NULL, takt_session_run(s), TAKT_ERR_RANGE);
    view.data = after;
    EXPECT_OK(NULL, takt_session_state_get(s, "a", &view));
    EXPECT(memcmp(before, after, sizeof after) == 0, "a run that failed has changed the state");
    EXPECT_EQ(*(const int64_t *)takt_tensor_data(&s->state[1]), 3);
    takt_session_destroy(want);
    takt_session_destroy(s); /* the state survives */
    run(reader, 7);
    takt_session_destroy(reader);
}

/* ---- memory that cannot be had ---- */

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *own;
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    takt_session *a = NULL, *b = NULL;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    const char *text = user;
    if (status == TAKT_OK)
        status = takt_model_load_memory(own, "m", text, strlen(text), NULL, &model);
    if (status == TAKT_OK)
        status = takt_plan_create(model, &(takt_plan_options){.threads = 1}, &plan);
    if (status == TAKT_OK)
        status = takt_session_create(plan, NULL, &a);
    if (status == TAKT_OK)
        status = takt_session_create(plan, &(takt_session_options){.state_of = a}, &b);
    takt_session_destroy(a);
    takt_session_destroy(b);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    takt_ctx_destroy(own);
    return status;
}

static void every_allocation_may_fail(void)
{
    const char *const texts[] = {kinds[KINDS - 1], readers[1]};
    for (size_t i = 0; i < 2; i++) {
        const takt_sweep_report r =
            takt_sweep(scenario, (void *)(uintptr_t)texts[i], TAKT_INJECT_MEMORY);
        EXPECT(r.is_good, "%s", r.message);
    }
}

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, adam_of_4_mb, packed_once_for_every_value, read_as_it_is,
          every_kind_has_the_same_bits, values_that_are_read_as_they_are,
          every_size_reads_the_same_forms, memories_change_places, every_allocation_may_fail, end)
