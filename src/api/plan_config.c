/* plan_config.c - how a plan computes: backend, type of the stored weights, numerics. */
#include <takt/plan.h>

#include <string.h>

#include "api/plan_config.h"
#include "plan/backend.h"

const char *takt_step_weights(const takt_plan *plan, const takt_step *s)
{
    for (size_t i = 0; i < s->in_count && s->weights == NULL; i++) {
        const takt_view *v = &s->in[i]; /* a table is read unconverted */
        if (plan->buffers[v->buffer].place == TAKT_PLACE_CONSTANT && v->rank > 1 &&
            (v->dtype == TAKT_F16 || v->dtype == TAKT_BF16))
            return takt_dtype_name(v->dtype);
    }
    return s->weights;
}

/* The steps of a plan and of its subgraphs' plans. */
typedef struct tally {
    size_t narrow, fast;
    size_t told;        /* steps that say why they are not fast */
    size_t asked;       /* of the narrow ones: as in the options */
    const char *stored; /* of the first that stores weights narrowly */
} tally;

static void count(const takt_plan *plan, tally *t)
{
    const takt_dtype asked = plan->settings.precision;
    for (size_t i = 0; i < plan->step_count; i++) {
        const char *stored = takt_step_weights(plan, &plan->steps[i]);
        t->narrow += stored != NULL;
        t->asked += stored != NULL && strcmp(stored, takt_dtype_name(asked)) == 0;
        t->stored = t->stored != NULL ? t->stored : stored;
        t->fast += plan->steps[i].facts.is_fast; /* by products of 16 bits */
        t->told += plan->steps[i].facts.lacks_fast;
    }
}

static tally count_all(const takt_plan *plan)
{
    tally t = {0};
    count(plan, &t);
    for (const takt_plan *child = plan->child; child != NULL; child = child->sibling)
        count(child, &t);
    return t;
}

/* Why --numerics fast changes nothing; NULL if it does. */
static const char *idle_numerics(const takt_plan *plan, const tally *t)
{
    if (!plan->settings.is_fast || t->fast > 0)
        return NULL;
    if (plan->backend != plan->settings.fallback)
        return "numerics fast changes nothing: only backend cpu has products of 16 bits";
    return t->told > 0
               ? "numerics fast changes nothing: no step is a product of 16 bits (takt "
                 "kernels says why for each)"
               : "numerics fast changes nothing: no step is a product that 16 bits could do";
}

/* The model's own weights have 16 bits of the other kind, which no precision changes. Numerics
 * fast stores weights in bf16 in any case. */
static bool is_narrow_already(const takt_plan *plan, const tally *t)
{
    return plan->settings.precision != TAKT_F32 && t->narrow > 0 && t->asked == 0 && t->fast == 0;
}

static const char *idle_precision(const takt_plan *plan, const tally *t)
{
    if (is_narrow_already(plan, t))
        return plan->settings.precision == TAKT_F16
                   ? "precision f16 changes nothing: weights are bf16 already, and left so"
                   : "precision bf16 changes nothing: weights are f16 already, and left so";
    if (plan->settings.precision == TAKT_F32 || t->narrow > 0 || t->fast > 0)
        return NULL;
    if (plan->backend != plan->settings.fallback)
        return "weights are rounded to the precision, but only backend cpu stores them so";
    return "no step stores weights in that precision (takt kernels says why)";
}

void takt_plan_config(const takt_plan *plan, takt_run_config *c)
{
    if (plan == NULL)
        return;
    if (c == NULL)
        return;
    const tally t = count_all(plan);
    const takt_dtype asked = plan->settings.precision;
    const char *numerics = idle_numerics(plan, &t);
    const bool is_own = is_narrow_already(plan, &t) || (asked == TAKT_F32 && t.stored != NULL);
    *c = (takt_run_config){.backend = plan->backend->name,
                           .precision = is_own              ? t.stored
                                        : asked != TAKT_F32 ? takt_dtype_name(asked)
                                                            : "f32",
                           .numerics = plan->settings.is_fast ? "fast" : "exact",
                           .note = numerics != NULL ? numerics : idle_precision(plan, &t)};
}

void takt_report_config(takt_report *r, const takt_plan *plan)
{
    takt_run_config c;
    const tally t = count_all(plan);
    takt_plan_config(plan, &c);
    if (r->is_json) {
        takt_json_put_open(&r->json, "config", '{');
        takt_report_pair(r, "backend", c.backend);
        takt_report_pair(r, "precision", c.precision);
        takt_report_pair(r, "numerics", c.numerics);
        if (c.note != NULL)
            takt_report_pair(r, "note", c.note);
        takt_json_close(&r->json, '}');
        return;
    }
    if (t.narrow > 0)
        takt_text_add(&r->text,
                      "weights of %zu step%s are stored in %s, and widened as they are "
                      "read\n",
                      t.narrow, t.narrow == 1 ? "" : "s", t.stored);
    if (t.fast > 0)
        takt_text_add(&r->text, "numerics fast: %zu step%s by products of 16 bits\n", t.fast,
                      t.fast == 1 ? "" : "s");
    if (c.note != NULL)
        takt_text_add(&r->text, "note: %s\n", c.note);
}
