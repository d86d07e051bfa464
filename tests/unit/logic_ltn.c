/* logic_ltn.c - connectives and quantifiers compared with LTNtorch, with their gradients.
 *
 * tests/unit/logic_ltn.txt has six lines for each: the rule, five truth values a and b, the
 * result, and the gradients of its sum.
 */
#include <math.h>
#include <string.h>

#include "api/model.h"
#include "grad/grad.h"
#include "lang/parse.h"
#include "test.h"

#include <takt/takt.h>

enum { SIDE = 5, CASES = 29, LINE = 512 };
static const double tolerance = 1e-6;

static takt_ctx *ctx;

typedef struct subject {
    char rule[LINE];
    float line[5][SIDE]; /* a, b, truth, and gradients of a and b */
    int count[5];
} subject;

static bool next(FILE *file, subject *s)
{
    char text[LINE];
    do
        if (fgets(s->rule, sizeof s->rule, file) == NULL)
            return false;
    while (s->rule[0] == '#');
    for (int k = 0; k < 5; k++) {
        if (!EXPECT(fgets(text, sizeof text, file) != NULL, "%s has no line %d", s->rule, k))
            return false;
        s->count[k] = 0;
        for (char *at = text, *end = NULL; s->count[k] < SIDE; at = end) {
            s->line[k][s->count[k]] = strtof(at, &end);
            if (end == at)
                break;
            s->count[k]++;
        }
    }
    return true;
}

static takt_graph *graph_of(const subject *s)
{
    char text[2 * LINE];
    takt_graph *g = NULL;
    takt_id seed, result[2];
    const char *mark = strchr(s->rule, ':');
    snprintf(text, sizeof text,
             "model m(a: f32[5], b: f32[5]) semantics=%.*s {\n %s  return r, keep = a + b\n}\n",
             (int)(mark - s->rule), s->rule, mark + 1);
    if (!EXPECT(takt_parse(ctx, "m.takt", text, strlen(text), NULL, &g) == TAKT_OK, "%s: %s", text,
                takt_last_error(ctx)))
        return NULL;
    const takt_id out = g->outputs[0].id, in[] = {g->inputs[0].id, g->inputs[1].id};
    seed = takt_graph_input(g, "seed", takt_type_of(g, out));
    const takt_grad_request r = {
        .out_count = 1, .out = &out, .seed = &seed, .in_count = 2, .in = in, .result = result};
    if (EXPECT_OK(ctx, takt_grad_append(g, &r))) {
        takt_graph_output(g, "da", result[0]);
        takt_graph_output(g, "db", result[1]);
    }
    return g;
}

static void compare(const subject *s, const char *backend, int k, const takt_tensor_view *v)
{
    for (int i = 0; i < s->count[k]; i++) {
        const double got = (double)((const float *)v->data)[i], want = (double)s->line[k][i];
        EXPECT(fabs(got - want) <= tolerance * (1 + fabs(want)),
               "%s on %s: line %d, %d is %.9g instead of %.9g", s->rule, backend, k, i, got, want);
    }
}

static void run(const subject *s, const takt_graph *g, const char *backend)
{
    const takt_model model = {.ctx = ctx, .graph = (takt_graph *)(uintptr_t)g};
    const takt_plan_options options = {.backend = backend};
    takt_plan *plan = NULL;
    takt_session *session = NULL;
    if (EXPECT_OK(ctx, takt_plan_create(&model, &options, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &session))) {
        for (size_t i = 0; i < 2; i++)
            memcpy(takt_session_input(session, i)->data, s->line[i], sizeof s->line[i]);
        for (int i = 0; i < s->count[2]; i++)
            ((float *)takt_session_input(session, 2)->data)[i] = 1;
        EXPECT(takt_session_run(session) == TAKT_OK, "%s: %s", s->rule,
               takt_session_error(session)->message);
        compare(s, backend, 2, takt_session_output(session, 0));
        compare(s, backend, 3, takt_session_output(session, 2));
        compare(s, backend, 4, takt_session_output(session, 3));
    }
    takt_session_destroy(session);
    takt_plan_destroy(plan);
}

int main(void)
{
    subject s;
    int count = 0;
    FILE *file = fopen("tests/unit/logic_ltn.txt", "rb");
    if (!EXPECT(file != NULL) || !EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return test_done();
    for (; next(file, &s); count++) {
        takt_graph *g = graph_of(&s);
        if (g != NULL) {
            run(&s, g, "ref");
            run(&s, g, "cpu");
        }
        takt_graph_destroy(g);
    }
    fclose(file);
    EXPECT(count == CASES, "%d cases", count);
    takt_ctx_destroy(ctx);
    return test_done();
}
