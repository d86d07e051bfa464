/* late.c - plans in two memories: cpu and a backend with its own space and thread give cpu's bits,
 * whatever it refuses, and whichever of its calls fails. */
#include "util/late.h"

#include "api/backends.h"
#include "backend/agree.h"
#include "backend/late_fixture.h"
#include "backend/list.h"
#include "util/graphgen.h"
#include "util/sample.h"

#include <takt/takt.h>

/* ---- the same bits ---- */

static size_t mixed, away;

/* First cpu, each step checked against the interpreter; then plans that late runs in part or
 * completely. */
static void compare(const agree_subject *a)
{
    static const char unlicensed[] = "-fold-weights,-quantized,-reduce-strength,-winograd";
    const struct {
        unsigned refuses;
        takt_plan_options options;
    } plans[] = {
        {0, {.threads = 1, .passes = unlicensed}},
        {2, {.threads = 2, .passes = unlicensed}},
        {3, {.threads = 1, .level = -1}},
        {5, {.threads = 1, .hint = "memory", .passes = unlicensed}},
    };
    const takt_plan_options plain = {.threads = 1, .level = -1, .backend = "cpu"};
    agree_result first, other;
    if (!agree_try(a, &plain, false, &first))
        return;
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        takt_plan_options options = plans[i].options;
        char how[64];
        options.backend = "late";
        takt_late.refuses = plans[i].refuses;
        const uint64_t steps = takt_late.steps, refused = takt_late.refused;
        snprintf(how, sizeof how, "late refuses %u", plans[i].refuses);
        if (agree_try(a, &options, i == 2, &other))
            agree_same(a, how, &first, &other);
        agree_release(a, &other);
        away += takt_late.steps > steps;
        mixed += takt_late.steps > steps && takt_late.refused > refused;
    }
    agree_release(a, &first);
}

static void conforms(void)
{
    size_t count = 0;
    takt_late_begin();
    for (size_t i = 0; i < takt_op_count; i++) {
        takt_ctx *ctx;
        takt_sample s;
        const char *text = takt_ops[i]->samples[0];
        EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
        EXPECT_OK(ctx, takt_backend_add(ctx, &takt_backend_late));
        if (text != NULL && takt_sample_init(ctx, takt_ops[i], text, false, &s) == TAKT_OK) {
            agree_subject a = {.what = text, .ctx = ctx, .in = s.in, .may_fall_back = true};
            a.model = (takt_model){.ctx = ctx, .graph = s.graph};
            compare(&a);
            takt_sample_deinit(&s);
            count++;
        }
        takt_ctx_destroy(ctx);
    }
    const char *wrong = takt_late_end();
    EXPECT(wrong == NULL, "%s", wrong);
    EXPECT(count > 100 && away > 200, "%zu samples, %zu plans", count, away);
}

/* Many nodes, state, views of values, results that several read. */
static void graphs(void)
{
    enum { GRAPHS = 60, WHOLE = 8 };
    static takt_gen gen;
    static takt_gen_values values;
    takt_late_begin();
    mixed = 0;
    for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
        takt_ctx *ctx;
        takt_tensor slots[TAKT_GEN_SLOTS] = {0};
        char what[32];
        snprintf(what, sizeof what, "graph %d", (int)seed);
        EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
        EXPECT_OK(ctx, takt_backend_add(ctx, &takt_backend_late));
        EXPECT_OK(ctx, takt_gen_graph(ctx, seed, NULL, &gen));
        EXPECT_OK(ctx, takt_gen_values_init(&gen, seed, &values));
        agree_subject a = {.what = what, .ctx = ctx, .in = values.in, .may_fall_back = true};
        a.model = (takt_model){.ctx = ctx, .graph = gen.graph, .slots = slots};
        for (size_t i = 0; i < gen.graph->slot_count; i++)
            EXPECT_OK(ctx, takt_array_to_tensor(ctx, &values.slot[i], &slots[i]));
        compare(&a);
        a.backend = "late";
        takt_late.refuses = 4;
        if (seed <= WHOLE) /* threads, sharing of memory, donated and strided inputs */
            agree_all(&a);
        for (size_t i = 0; i < gen.graph->slot_count; i++)
            takt_tensor_release(&slots[i]);
        takt_gen_values_deinit(&gen, &values);
        takt_gen_deinit(&gen);
        takt_ctx_destroy(ctx);
    }
    const char *wrong = takt_late_end();
    EXPECT(wrong == NULL, "%s", wrong);
    EXPECT(mixed > GRAPHS, "%zu plans are mixed", mixed);
}

/* ---- a model with all that can be in one ---- */

/* Constants, packed weights, state, an index that may be wrong, something for cpu in between. */
static const char text[] =
    "model m(x: f32[4, 8], k: i64[4]) -> (y: f32[4, 3], z: f32[4, 8]) seed=3 {\n"
    "  state sum: f32[4, 8] = 0\n"
    "  state peak: f32[4, 8] = 0\n"
    "  h = gelu(dense(x, 8))\n"
    "  more = sum + h\n"
    "  next sum = more\n"
    "  next peak = op.max(peak, h * 2.0)\n"
    "  g = op.gather(more, k, axis=0)\n"
    "  return y = softmax(dense(g, 3)), z = g * h\n"
    "}\n";

static takt_status run(const fixture *f, int64_t index, float *results)
{
    float *x = takt_session_input(f->session, 0)->data;
    int64_t *k = takt_session_input(f->session, 1)->data;
    for (int i = 0; i < 32; i++)
        x[i] = (float)(i % 7) / 4 - 1;
    for (int i = 0; i < 4; i++)
        k[i] = i == 2 ? index : i;
    TAKT_TRY(takt_session_run(f->session));
    memcpy(results, takt_session_output(f->session, 0)->data, 12 * sizeof *results);
    memcpy(results + 12, takt_session_output(f->session, 1)->data, 32 * sizeof *results);
    return TAKT_OK;
}

static takt_status get_state(const fixture *f, float *state)
{
    static const char *const names[] = {"sum", "peak"};
    for (size_t i = 0; i < 2; i++) {
        takt_tensor_view view = {.data = NULL};
        TAKT_TRY(takt_session_state_get(f->session, names[i], &view));
        view.data = state + 32 * i;
        TAKT_TRY(takt_session_state_get(f->session, names[i], &view));
    }
    return TAKT_OK;
}

static void read_state(const fixture *f, float *state)
{
    EXPECT(get_state(f, state) == TAKT_OK, "%s", takt_session_error(f->session)->message);
}

static size_t lost;                      /* runs after which the state was unknown */
static float wanted[2][44], sums[3][64]; /* results of two runs, state before and after */

static void learn(unsigned refuses)
{
    fixture f = {0};
    takt_late_begin();
    takt_late.refuses = refuses;
    if (EXPECT_OK(f.ctx, start(&f, NULL, text)))
        for (int i = 0; i < 2; i++) {
            read_state(&f, sums[i]);
            EXPECT_OK(NULL, run(&f, 1, wanted[i]));
            read_state(&f, sums[i + 1]);
        }
    stop(&f);
    EXPECT(takt_late_end() == NULL);
}

/* ---- faults ---- */

/* The session after a failure: old or new state, and usable if the device is. */
static void go_on(const fixture *f, uint64_t call, int done)
{
    float state[64], results[44];
    const int id = takt_session_error(f->session)->id;
    EXPECT(id == TAKT_E_DEVICE_FAILED || id == TAKT_E_STATE_LOST, "call %d: id %d", (int)call, id);
    if (takt_late.is_for_ever) {
        EXPECT_STATUS(NULL, run(f, 1, results), TAKT_ERR_DEVICE);
        return;
    }
    if (id == TAKT_E_STATE_LOST) { /* in the commit phase: this memory is visible to nobody */
        lost++;
        EXPECT_STATUS(NULL, get_state(f, state), TAKT_ERR_DEVICE);
        EXPECT_STATUS(NULL, run(f, 1, results), TAKT_ERR_DEVICE);
        EXPECT_EQ(takt_session_error(f->session)->id, TAKT_E_STATE_LOST);
        takt_session_reset(f->session);
        done = 0;
    }
    read_state(f, state);
    EXPECT(memcmp(state, sums[done], sizeof state) == 0, "call %d: state is torn", (int)call);
    EXPECT(run(f, 1, results) == TAKT_OK, "call %d: %s", (int)call,
           takt_session_error(f->session)->message);
    EXPECT(memcmp(results, wanted[done], sizeof results) == 0, "call %d: other bits", (int)call);
}

/* Call number `call` fails; false: there were fewer. */
static bool fail(uint64_t call, bool is_for_ever, unsigned refuses)
{
    fixture f = {0};
    float results[44];
    takt_late_begin();
    takt_late.fail_at = call;
    takt_late.is_for_ever = is_for_ever;
    takt_late.refuses = refuses;
    takt_status status = start(&f, NULL, text);
    if (status != TAKT_OK) {
        const int id = takt_last_error_info(f.ctx)->id;
        EXPECT(id == TAKT_E_DEVICE_FAILED || id == TAKT_E_DEVICE_MEMORY, "call %d: id %d, %s",
               (int)call, id, takt_last_error(f.ctx));
        EXPECT_SAME(f.session, NULL);
    }
    for (int i = 0; i < 2 && status == TAKT_OK; i++) {
        status = run(&f, 1, results);
        if (status == TAKT_OK)
            EXPECT(memcmp(results, wanted[i], sizeof results) == 0, "call %d", (int)call);
        else
            go_on(&f, call, i);
    }
    const bool was_hit = takt_late.hits > 0;
    EXPECT(was_hit == (status != TAKT_OK), "call %d: status %d", (int)call, (int)status);
    stop(&f);
    const char *wrong = takt_late_end();
    EXPECT(wrong == NULL, "call %d: %s", (int)call, wrong);
    return was_hit;
}

static void faults(void)
{
    static const unsigned refuses[] = {0, 2, 3, 5};
    for (size_t i = 0; i < sizeof refuses / sizeof *refuses; i++) {
        uint64_t call = 1;
        learn(refuses[i]);
        EXPECT(i == 0 || takt_late.refused > 0);
        while (fail(call, call % 2 == 0, refuses[i]))
            call++;
        EXPECT(call > 20, "%d calls", (int)call);
    }
    EXPECT(lost > 0, "no call of a commit phase failed");
}

/* A step's fault is reported as by cpu, and leaves the state unchanged. */
static void indices(void)
{
    fixture f = {0};
    float results[44], state[64];
    learn(3);
    for (unsigned refuses = 0; refuses < 4; refuses++) {
        takt_late_begin();
        takt_late.refuses = refuses;
        takt_late.delay_us = 200;
        if (EXPECT_OK(f.ctx, start(&f, NULL, text))) {
            EXPECT_OK(NULL, run(&f, 1, results));
            EXPECT_STATUS(NULL, run(&f, 17, results), TAKT_ERR_RANGE);
            const takt_error *e = takt_session_error(f.session);
            EXPECT(e->id == TAKT_E_INDEX && strstr(e->message, "index 17 (element 2)") != NULL,
                   "%d: %s", e->id, e->message);
            read_state(&f, state);
            EXPECT(memcmp(state, sums[1], sizeof state) == 0, "the state has changed");
            EXPECT_OK(NULL, run(&f, 1, results));
            EXPECT_EQ(memcmp(results, wanted[1], sizeof results), 0);
        }
        stop(&f);
        EXPECT(takt_late_end() == NULL);
    }
}

/* ---- deadline and cancel ---- */

/* A clock that advances whenever it is read. */
static uint64_t tick(void *user)
{
    return *(uint64_t *)user += 1000;
}

static void deadlines(void)
{
    fixture f = {0};
    float results[44], state[64];
    uint64_t now = 0;
    const takt_config config = {.now_ns = tick, .clock_user = &now};
    learn(2);
    takt_late_begin();
    takt_late.refuses = 2;
    if (!EXPECT_OK(f.ctx, start(&f, &config, text)))
        return;
    bool is_late = true;
    for (uint64_t budget = 1000; is_late && budget < 1000000; budget += 1000) {
        EXPECT_OK(NULL, run(&f, 1, results)); /* inputs are there */
        takt_session_reset(f.session);
        is_late = takt_session_run_deadline(f.session, budget) != TAKT_OK;
        read_state(&f, state);
        EXPECT(memcmp(state, sums[is_late ? 0 : 1], sizeof state) == 0, "budget %d", (int)budget);
        EXPECT(!is_late || takt_session_error(f.session)->id == TAKT_E_DEADLINE);
        takt_session_reset(f.session);
    }
    EXPECT(!is_late, "no budget is enough");
    takt_session_cancel(f.session);
    EXPECT_STATUS(NULL, run(&f, 1, results), TAKT_ERR_CANCELLED);
    EXPECT_OK(NULL, run(&f, 1, results));
    EXPECT_EQ(memcmp(results, wanted[0], sizeof results), 0);
    stop(&f);
    EXPECT(takt_late_end() == NULL);
}

/* ---- which backend runs what ---- */

enum { REPORT = 1 << 16 };

static size_t steps_of(const takt_plan *plan, const char *kind, const takt_backend *backend)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->step_count; i++)
        count += plan->steps[i].backend == backend &&
                 (kind == NULL || strcmp(plan->steps[i].kind, kind) == 0);
    return count;
}

static int gather(void *user, const char *text_part, size_t length)
{
    char *to = user;
    const size_t at = strlen(to);
    if (at + length < REPORT) {
        memcpy(to + at, text_part, length);
        to[at + length] = '\0';
    }
    return 0;
}

/* The output of `takt plan` for a plan in two memories. */
static void report(const takt_plan *plan)
{
    static char said[REPORT];
    static const char *const lines[] = {"segments\n",    "late: steps 0 to ",
                                        " up with ",     " down with ",
                                        "commits state", "memory of late: constants "};
    static const char *const pairs[] = {"\"segments\"", "\"upload_bytes\"", "\"spaces\"",
                                        "\"space\": \"late\""};
    said[0] = '\0';
    EXPECT_OK(NULL, takt_plan_describe(plan, TAKT_FORMAT_TEXT, gather, said));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        EXPECT(strstr(said, lines[i]) != NULL, "%s is not in\n%s", lines[i], said);
    said[0] = '\0';
    EXPECT_OK(NULL, takt_plan_describe(plan, TAKT_FORMAT_JSON, gather, said));
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        EXPECT(strstr(said, pairs[i]) != NULL, "%s is not in\n%s", pairs[i], said);
}

static void islands(void)
{
    static const takt_machine far = {.flops_per_us = 1e9,
                                     .bytes_per_us = 1e9,
                                     .segment_us = 10,
                                     .copy_us = 10,
                                     .copied_per_us = 1e4};
    fixture f = {0};
    takt_late_begin();
    takt_late.machine = &far;
    if (EXPECT_OK(f.ctx, start(&f, NULL, text))) { /* exactly what the caller requested */
        EXPECT_IS(steps_of(f.plan, NULL, &takt_backend_late), >, 3);
        report(f.plan);
        EXPECT(f.plan->space_count == 2 && f.plan->space[1].arena > 0 &&
               f.plan->space[1].arena % 256 == 0 &&
               f.plan->space[1].arena >= f.plan->space[1].lower_bound &&
               f.plan->space[1].constants > 0);
    }
    stop(&f);
    takt_late.refuses = 3;
    if (EXPECT_OK(f.ctx, start(&f, NULL, text))) {
        const takt_step *s = &f.plan->steps[0];
        EXPECT_EQ(steps_of(f.plan, NULL, &takt_backend_late), 0);
        EXPECT(f.plan->segment_count == 2, "%zu segments", f.plan->segment_count);
        bool is_said = false;
        for (size_t i = 0; i < f.plan->step_count; i++)
            is_said = is_said || (s[i].note != NULL && strstr(s[i].note, "us on late") != NULL);
        EXPECT(is_said, "no step says why");
    }
    stop(&f);
    EXPECT(takt_late_end() == NULL);
}

TEST_MAIN(conforms, graphs, faults, indices, deadlines, islands)
