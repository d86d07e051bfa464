/* logic_random.c - random stratified programs: results of plans and of the interpreter equal a
 * direct evaluation of the formulas, tuple by tuple.
 *
 * Arguments: the first seed and the number of programs; TAKT_LOGIC_TEXT prints each.
 */
#include <stdint.h>
#include <string.h>

#include <takt/takt.h>

#include "test.h"
#include "util/rulegen.h"

/* ---- what it means ---- */

static size_t place(const program *p, const predicate *of, const node *n, const int *env)
{
    size_t at = 0;
    for (int i = 0; i < of->arity; i++) {
        const bool is_constant = n->is_constant && i == of->arity - 1;
        at = at * (size_t)p->size[of->domain[i]] +
             (size_t)(is_constant ? n->number : env[n->arg[i]]);
    }
    return at;
}

static bool compare(const node *n, const int *env)
{
    if (n->arg[0] < 0)
        return n->number != 0;
    const int a = env[n->arg[0]], b = env[n->arg[1]];
    const bool results[] = {a == b, a != b, a<b, a <= b, a> b, a >= b};
    return results[n->number];
}

static bool holds(const program *p, int at, int *env)
{
    const node *n = &p->nodes[at];
    if (n->kind >= EXISTS) {
        int count = 0;
        for (int i = 0; i < p->size[n->domain]; i++) {
            env[n->var] = i;
            count += holds(p, n->a, env);
        }
        return n->kind == EXISTS   ? count > 0
               : n->kind == FORALL ? count == p->size[n->domain]
                                   : count >= n->number;
    }
    switch (n->kind) {
    case ATOM: return p->p[n->predicate].now[place(p, &p->p[n->predicate], n, env)] != 0;
    case COMPARE: return compare(n, env);
    case NOT: return !holds(p, n->a, env);
    case AND: return holds(p, n->a, env) && holds(p, n->b, env);
    case OR: return holds(p, n->a, env) || holds(p, n->b, env);
    case IMPLIES: return !holds(p, n->a, env) || holds(p, n->b, env);
    default: return holds(p, n->a, env) == holds(p, n->b, env);
    }
}

static size_t tuples(const program *p, const predicate *of)
{
    size_t count = 1;
    for (int i = 0; i < of->arity; i++)
        count *= (size_t)p->size[of->domain[i]];
    return count;
}

/* One round of a rule; true if something is new. */
static bool derive(program *p, predicate *of)
{
    bool is_new = false;
    int env[VARS];
    for (size_t t = 0; t < tuples(p, of); t++) {
        const int last = of->arity > 0 ? p->size[of->domain[of->arity - 1]] : 1;
        env[0] = of->arity == 2 ? (int)(t / (size_t)last) : (int)t;
        env[1] = (int)(t % (size_t)last);
        of->next[t] = of->now[t] != 0 || holds(p, of->body, env);
        is_new = is_new || of->next[t] != of->now[t];
    }
    return is_new;
}

static void evaluate(program *p)
{
    for (int first = FACTS, last; first < PREDICATES; first = last) {
        for (last = first; last < PREDICATES && p->p[last].group == p->p[first].group;)
            last++;
        for (bool goes_on = true; goes_on;) {
            goes_on = false;
            for (int i = first; i < last; i++)
                goes_on = derive(p, &p->p[i]) || goes_on;
            for (int i = first; i < last; i++)
                memcpy(p->p[i].now, p->p[i].next, tuples(p, &p->p[i]));
        }
    }
}

/* ---- Takt's results ---- */

static bool bit(const takt_tensor_view *v, size_t row, size_t column)
{
    if (v->dtype == TAKT_BOOL)
        return *(const uint8_t *)v->data != 0;
    const size_t words = (size_t)v->dims[v->rank - 1];
    return (((const uint64_t *)v->data)[row * words + column / 64] >> column % 64 & 1) != 0;
}

static void check(program *p, takt_session *s, const char *how, uint64_t seed)
{
    for (int i = FACTS; i < PREDICATES; i++) {
        const predicate *of = &p->p[i];
        const takt_tensor_view *v = takt_session_output(s, (size_t)(i - FACTS));
        const size_t last = of->arity > 0 ? (size_t)p->size[of->domain[of->arity - 1]] : 1;
        for (size_t t = 0; t < tuples(p, of); t++)
            if (!EXPECT(bit(v, t / last, t % last) == (of->now[t] != 0),
                        "seed %llu, %s: p%d at %zu is not %d in\n%s", (unsigned long long)seed, how,
                        i, t, of->now[t], p->text))
                return;
    }
}

static void run(takt_ctx *ctx, program *p, const takt_model *m, takt_plan_options o, uint64_t seed)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    char how[64];
    snprintf(how, sizeof how, "%s %s, %d threads", o.backend != NULL ? o.backend : "cpu",
             o.isa != NULL ? o.isa : "", o.threads);
    if (EXPECT_OK(ctx, takt_plan_create(m, &o, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s))) {
        for (int i = 0; p->is_input && i < FACTS; i++)
            memcpy(takt_session_input(s, (size_t)i)->data, p->p[i].now, tuples(p, &p->p[i]));
        if (EXPECT(takt_session_run(s) == TAKT_OK, "seed %llu: %s", (unsigned long long)seed,
                   takt_session_error(s)->message))
            check(p, s, how, seed);
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
}

static void one(takt_ctx *ctx, program *p, uint64_t seed)
{
    static unsigned char room[PREDICATES][2][MOST_SIZE * MOST_SIZE];
    takt_model *m = NULL;
    rulegen_make(p, seed);
    memset(room, 0, sizeof room);
    for (int i = 0; i < PREDICATES; i++) {
        p->p[i].now = room[i][0];
        p->p[i].next = room[i][1];
        for (size_t t = 0; i < FACTS && t < tuples(p, &p->p[i]); t++)
            p->p[i].now[t] = rulegen_below(p, 4) == 0;
    }
    rulegen_write(p);
    if (getenv("TAKT_LOGIC_TEXT") != NULL)
        printf("%s\n", p->text);
    evaluate(p);
    const takt_status status = takt_model_load_memory(ctx, "m.takt", p->text, p->length, NULL, &m);
    if (EXPECT(status == TAKT_OK, "seed %llu: %s\n%s", (unsigned long long)seed,
               takt_last_error(ctx), p->text)) {
        run(ctx, p, m, (takt_plan_options){.threads = 1 + (int)(seed % 2)}, seed);
        if (seed % 4 == 0)
            run(ctx, p, m, (takt_plan_options){.backend = "ref", .threads = 1}, seed);
        if (seed % 20 == 0) {
            run(ctx, p, m, (takt_plan_options){.threads = 3}, seed);
            run(ctx, p, m, (takt_plan_options){.threads = 8}, seed);
            run(ctx, p, m, (takt_plan_options){.threads = 1, .isa = "scalar"}, seed);
        }
    }
    takt_model_destroy(m);
}

int main(int argc, char **argv)
{
    const uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    const uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 500;
    program *p = malloc(sizeof *p);
    takt_ctx *ctx;
    if (p == NULL || !EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return 1;
    for (uint64_t seed = first; seed < first + count && test_failures < 3; seed++)
        one(ctx, p, seed);
    takt_ctx_destroy(ctx);
    free(p);
    return test_done();
}
