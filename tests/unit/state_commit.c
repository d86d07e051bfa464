/* state_commit.c - state that is overwritten by the step that computes its next value.
 *
 * An optimiser's update is one element-wise step in the commit phase, without a copy. Results and
 * states are those of the interpreter, run after run, also where one slot's update reads another
 * slot's old value, where a value is shown, and where it is read again after it was replaced. A
 * run that is stopped after any step leaves all states old, or all new.
 */
#include "test.h"

#include <string.h>

#include <takt/takt.h>

#include "api/session/session.h"
#include "api/train/trainer.h"
#include "util/run_once.h"

static takt_ctx *ctx;

static const char adam[] = "model adam(g: f32[64, 1024]) {\n"
                           "  state w: f32[64, 1024] = 1\n"
                           "  state m: f32[64, 1024] = 0\n"
                           "  state v: f32[64, 1024] = 0\n"
                           "  a = 0.9 * m + 0.1 * g\n"
                           "  b = 0.999 * v + 0.001 * g * g\n"
                           "  next m = a\n"
                           "  next v = b\n"
                           "  next w = w - 0.001 * a / (sqrt(b) + 1e-8)\n"
                           "  return y = reduce_sum(g * w)\n}\n";

#define HEAD                                                                                       \
    "model m(x: f32[300]) {\n  state a: f32[300] = 1\n  state b: f32[300] = 2\n"                   \
    "  state c: f32[20, 15] = 3\n"

static const char *const models[] = {
    adam,
    /* each reads the other's old value */
    HEAD "  next a = a + b * x\n  next b = b - a * x\n  return y = x + a\n}\n",
    /* the old value is read after the new one was made */
    HEAD "  t = a * 0.5 + x\n  next a = t\n  next b = sqrt(abs(t)) + a\n  return y = x\n}\n",
    /* a chain through all slots, and the old value as an output */
    HEAD "  t = a + x\n  next a = t\n  u = b * t\n  next b = u\n  return y = a, z = b\n}\n",
    /* the new value is an output too, and one value serves two slots */
    HEAD "  t = a + x\n  next a = t\n  next b = t * 2\n  return y = t\n}\n",
    HEAD "  t = a + x * 0.25\n  next a = t\n  next b = t\n  return y = x\n}\n",
    /* slots that change places, and one that is kept */
    HEAD "  next a = b\n  next b = a\n  return y = a - x\n}\n",
    /* three slots, read in the same run, and others that take a value from the ring */
    HEAD "  state d: f32[300] = 5\n  next a = b\n  next b = d\n  next d = a\n"
         "  return y = a * x, z = b - d\n}\n",
    HEAD "  state d: f32[300] = 5\n  next a = b\n  next b = a\n  next d = a\n"
         "  next c = c + 1\n  return y = d - x\n}\n",
    /* weights that change places, which are read packed */
    HEAD "  state v: f32[15, 40] = 1\n  state w: f32[15, 40] = 2\n  next v = w\n  next w = v\n"
         "  return y = reshape(x, shape=[20, 15]) @ v\n}\n",
    /* a value of another shape, reduced and spread again */
    HEAD "  s = reduce_mean(x)\n  next a = a * 0.5 + s\n  next c = c + s\n  return y = s\n}\n",
    HEAD "  next c = reshape(a, shape=[20, 15]) + c\n  next a = a + reshape(c, shape=[300])\n"
         "  return y = x\n}\n",
    /* a step that depends on the new value and is not element-wise */
    HEAD "  t = a + x\n  next a = t\n  next b = b + reduce_sum(t)\n  return y = x\n}\n",
};
enum { MODELS = sizeof models / sizeof *models };

static void fill(takt_session *s, size_t salt)
{
    const takt_tensor_view *x = takt_session_input(s, 0);
    const size_t count = (size_t)(x->rank == 2 ? x->dims[0] * x->dims[1] : x->dims[0]);
    for (size_t i = 0; i < count; i++)
        ((float *)x->data)[i] =
            (float)((int)((i * 2654435761u + salt * 40503u) >> 7 & 31) - 16) / 16;
}

static void compare(takt_session *got, takt_session *want, size_t model, size_t run)
{
    for (size_t i = 0; i < takt_session_output_count(got); i++) {
        const takt_session_port *port = &got->outputs[i];
        EXPECT(model == 0 || /* a long sum */
                   memcmp(port->view.data, want->outputs[i].view.data, port->bytes) == 0,
               "model %zu, run %zu: output %zu differs", model, run, i);
    }
    for (size_t i = 0; i < takt_session_state_count(got); i++)
        EXPECT(memcmp(takt_tensor_data(&got->state[i]), takt_tensor_data(&want->state[i]),
                      takt_tensor_bytes(&got->state[i])) == 0,
               "model %zu, run %zu: state %zu differs", model, run, i);
}

static void states_are_those_of_the_interpreter(void)
{
    for (size_t m = 0; m < MODELS; m++)
        for (int threads = 1; threads < 3; threads++) {
            takt_session *want =
                run_session(ctx, models[m], &(takt_plan_options){.backend = "ref"});
            takt_session *got =
                run_session(ctx, models[m], &(takt_plan_options){.threads = threads});
            for (size_t run = 0; got != NULL && want != NULL && run < 3; run++) {
                fill(got, run);
                fill(want, run);
                EXPECT_OK(NULL, takt_session_run(got));
                EXPECT_OK(NULL, takt_session_run(want));
                compare(got, want, m, run);
            }
            takt_session_destroy(got);
            takt_session_destroy(want);
        }
}

/* Memory is exchanged: nothing is copied, and a session of the same state sees it. */
static void rings_copy_nothing(void)
{
    static const char text[] =
        HEAD "  state d: f32[300] = 5\n  next a = b\n  next b = d\n  next d = a\n"
             "  return y = a + x\n}\n";
    static const float values[] = {1, 2, 5};
    takt_session *both[2] = {run_session(ctx, text, &(takt_plan_options){.threads = 1})};
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    if (both[0] != NULL &&
        EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, sizeof text - 1, NULL, &model)) &&
        EXPECT_OK(ctx, takt_plan_create(model, &(takt_plan_options){.threads = 2}, &plan)))
        EXPECT_OK(
            ctx, takt_session_create(plan, &(takt_session_options){.state_of = both[0]}, &both[1]));
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    for (size_t i = 0; both[0] != NULL && i < both[0]->plan->step_count; i++)
        EXPECT(strcmp(both[0]->plan->steps[i].kind, "copy") != 0, "step %zu copies", i);
    for (size_t run = 0; both[1] != NULL && run < 12; run++) {
        takt_session *s = both[run / 2 % 2];
        fill(s, run);
        EXPECT_OK(NULL, takt_session_run(s));
        const float *y = s->outputs[0].view.data, *x = s->inputs[0].view.data;
        EXPECT(y[7] == values[run % 3] + x[7] && y[299] == values[run % 3] + x[299],
               "run %zu: %g from %g", run, (double)y[7], (double)x[7]);
    }
    takt_session_destroy(both[1]);
    takt_session_destroy(both[0]);
}

static void an_update_is_one_step(void)
{
    takt_session *s = run_session(ctx, adam, &(takt_plan_options){.threads = 1});
    if (s == NULL)
        return;
    size_t maps = 0, copies = 0, commits = 0;
    for (size_t i = 0; i < s->plan->step_count; i++) {
        const takt_step *step = &s->plan->steps[i];
        copies += strcmp(step->kind, "copy") == 0;
        maps += strcmp(step->kind, "map") == 0 && step->out_count == 3;
        commits += step->is_commit;
    }
    EXPECT(maps == 1 && copies == 0 && commits == 1, "%zu maps, %zu copies, %zu commits", maps,
           copies, commits);
    EXPECT(s->plan->steps[s->plan->step_count - 1].is_commit);
    EXPECT(s->plan->arena_bytes <= s->plan->state_bytes / 2, "%zu bytes of arena, %zu of state",
           s->plan->arena_bytes, s->plan->state_bytes);
    takt_session_destroy(s);
}

/* ---- stops ---- */

typedef struct stop {
    takt_session *session;
    size_t at;
} stop;

static void before(void *user, size_t step)
{
    (void)user;
    (void)step;
}

static void cancel(void *user, size_t step)
{
    const stop *s = user;
    if (step == s->at)
        takt_session_cancel(s->session);
}

static bool is_state(const takt_session *s, const unsigned char *want)
{
    for (size_t i = 0, at = 0; i < takt_session_state_count(s); i++) {
        const size_t bytes = takt_tensor_bytes(&s->state[i]);
        if (memcmp(takt_tensor_data(&s->state[i]), want + at, bytes) != 0)
            return false;
        at += (bytes + 63) & ~(size_t)63;
    }
    return true;
}

static void stop_everywhere(takt_session *s, size_t model)
{
    static unsigned char old[1 << 20], new[1 << 20];
    if (s == NULL || !EXPECT_IS(s->plan->state_bytes, <=, sizeof old))
        return;
    EXPECT_OK(NULL, takt_session_run(s));
    EXPECT_OK(ctx, takt_session_save_state(s, old));
    EXPECT_OK(NULL, takt_session_run(s));
    EXPECT_OK(ctx, takt_session_save_state(s, new));
    stop at = {.session = s};
    const takt_watch watch = {.before = before, .after = cancel, .user = &at};
    for (at.at = 0; at.at < s->plan->step_count; at.at++) {
        EXPECT_OK(ctx, takt_session_restore_state(s, old));
        s->watch = &watch;
        const takt_status status = takt_session_run(s);
        s->watch = NULL;
        EXPECT(is_state(s, status == TAKT_OK ? new : old), "model %zu, stopped after step %zu: %d",
               model, at.at, (int)status);
        if (status == TAKT_OK) /* the cancel came too late, and is for no later run */
            EXPECT(s->plan->steps[at.at].is_commit || at.at + 1 == s->plan->step_count ||
                   s->plan->steps[at.at + 1].is_commit);
    }
}

static void a_stopped_run_leaves_old_or_new(void)
{
    for (size_t m = 0; m < MODELS; m++) {
        takt_session *s = run_session(ctx, models[m], &(takt_plan_options){.threads = 1});
        if (s != NULL)
            fill(s, 1);
        stop_everywhere(s, m);
        takt_session_destroy(s);
    }
}

/* ---- training ---- */

/* An embedding, whose gradient has indices, below layers that are updated before it is known. */
static const char net[] = "model net(t: i64[batch, 4]) seed=5 {\n"
                          "  param table: f32[32, 16] = normal(0, 1)\n"
                          "  h = reshape(gather(table, t, axis=0), shape=[batch, 64])\n"
                          "  repeat 3 {\n    h = layer_norm(h + dense(h, 64, act=relu))\n  }\n"
                          "  return dense(h, 8)\n}\n";

static bool is_update(const takt_plan *plan, size_t step)
{
    const takt_step *s = &plan->steps[step];
    bool writes = false;
    for (size_t i = 0; i < s->out_count; i++)
        writes |= plan->buffers[s->out[i].buffer].place == TAKT_PLACE_STATE;
    return writes;
}

/* Gradients are still computed after the first update, unless all of them are clipped together. */
static void look_at_updates(const takt_plan *plan, bool is_clipped)
{
    size_t first = 0, after = 0, updates = 0;
    while (first < plan->step_count && !is_update(plan, first))
        first++;
    for (size_t i = first; i < plan->step_count; i++) {
        updates += is_update(plan, i);
        after += strcmp(plan->steps[i].kind, "gemm") == 0;
        EXPECT(plan->steps[i].is_commit && !plan->steps[i].can_fault, "step %zu: %s", i,
               plan->steps[i].name);
    }
    EXPECT(updates == 15 && (after > 0) == !is_clipped, "%zu updates, %zu products after the first",
           updates, after);
}

static int64_t tokens[6 * 4], labels[6];
static const takt_named_view batch[] = {
    {"t", {.dtype = TAKT_I64, .rank = 2, .dims = {6, 4}, .data = tokens}},
    {"labels", {.dtype = TAKT_I64, .rank = 1, .dims = {6}, .data = labels}}};

static takt_trainer *trainer_of(const takt_model *model, const takt_train_options *o)
{
    takt_trainer *t = NULL;
    takt_step_result r;
    for (size_t i = 0; i < 24; i++)
        tokens[i] = (int64_t)(i * i % 32);
    for (size_t i = 0; i < 6; i++)
        labels[i] = (int64_t)i;
    if (EXPECT_OK(ctx, takt_trainer_create(model, o, &t)) &&
        EXPECT_OK(ctx, takt_trainer_step(t, batch, 2, &r)))
        return t;
    takt_trainer_destroy(t);
    return NULL;
}

static void train(const takt_train_options *o, size_t number)
{
    const takt_load_options load = {.training = true};
    takt_model *model = NULL;
    if (!EXPECT_OK(ctx, takt_model_load_memory(ctx, "net", net, strlen(net), &load, &model)))
        return;
    takt_trainer *t = trainer_of(model, o);
    if (t != NULL) {
        look_at_updates(t->step.session->plan, o->clip_norm > 0);
        stop_everywhere(t->step.session, number);
    }
    takt_trainer_destroy(t);
    takt_model_destroy(model);
}

static void a_stopped_training_step_leaves_old_or_new(void)
{
    train(&(takt_train_options){.optimizer = "adamw"}, MODELS);
    train(&(takt_train_options){.optimizer = "adamw", .clip_norm = 1}, MODELS + 1);
}

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, states_are_those_of_the_interpreter, rings_copy_nothing, an_update_is_one_step,
          a_stopped_run_leaves_old_or_new, a_stopped_training_step_leaves_old_or_new, end)
