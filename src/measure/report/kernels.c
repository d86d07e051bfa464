/* kernels.c - which kernel each step got, which others there are, and why not those. */
#include <takt/plan.h>

#include <stdio.h>
#include <string.h>

#include "kernel/kernel.h"
#include "measure/report/report.h"
#include "plan/backend.h"

enum { CANDIDATES = 32 };

/* The candidates of the step's family. */
static size_t candidates(const takt_step *s, takt_kernel_choice *choices)
{
    size_t count = 0;
    if (s->family != NULL)
        (void)takt_kernel_find(s->family, s->isas, choices, CANDIDATES, &count);
    return count;
}

static void step_text(takt_report *r, const takt_plan *plan, size_t index)
{
    const takt_step *s = &plan->steps[index];
    takt_kernel_choice choices[CANDIDATES];
    const size_t count = candidates(s, choices);
    const char *weights = takt_step_weights(plan, s);
    takt_text_add(&r->text, "%zu  %s: %s%s%s\n", index, s->name, s->kernel,
                  weights != NULL ? ", weights in " : "", weights != NULL ? weights : "");
    for (size_t i = 0; i < count; i++)
        takt_text_add(&r->text, "     %s %s%s%s\n", choices[i].refused == NULL ? "+" : "-",
                      choices[i].kernel->name, choices[i].refused == NULL ? "" : ": ",
                      choices[i].refused == NULL ? "" : choices[i].refused);
    if (s->note != NULL)
        takt_text_add(&r->text, "     note: %s\n", s->note);
}

static void step_json(takt_report *r, const takt_plan *plan, size_t index)
{
    const takt_step *s = &plan->steps[index];
    takt_kernel_choice choices[CANDIDATES];
    const size_t count = candidates(s, choices);
    takt_json_open(&r->json, '{');
    takt_report_pair(r, "step", s->name);
    takt_report_pair(r, "kind", s->kind);
    takt_report_pair(r, "kernel", s->kernel);
    takt_report_pair(r, "weights", takt_step_weights(plan, s));
    takt_report_pair(r, "note", s->note);
    takt_json_put_open(&r->json, "candidates", '[');
    for (size_t i = 0; i < count; i++) {
        takt_json_open(&r->json, '{');
        takt_report_pair(r, "name", choices[i].kernel->name);
        takt_report_pair(r, "isa", takt_isa_name(choices[i].unit->isa));
        takt_report_pair(r, "refused", choices[i].refused);
        takt_json_close(&r->json, '}');
    }
    takt_json_close(&r->json, ']');
    takt_json_close(&r->json, '}');
}

/* The instruction sets in use, weakest first. */
static void isas(takt_report *r, const char *key, const char *text, takt_isa_set set)
{
    if (r->is_json) {
        takt_json_put_open(&r->json, key, '[');
    } else {
        takt_text_add(&r->text, "%s:", text);
    }
#define X(name, bit, arch, adds)                                                                   \
    if ((set & UINT32_C(1) << (bit)) != 0 && r->is_json)                                           \
        takt_json_string(&r->json, #name);                                                         \
    else if ((set & UINT32_C(1) << (bit)) != 0)                                                    \
        takt_text_add(&r->text, " " #name);
    TAKT_ISA_LIST(X)
#undef X
    if (r->is_json)
        takt_json_close(&r->json, ']');
    else
        takt_text_add(&r->text, "\n");
}

/* Families that are limited to other ISAs than the plan. */
static void families(takt_report *r, const takt_plan *plan)
{
    char text[64];
    if (r->is_json) {
        takt_json_put_open(&r->json, "families", '{');
    }
    for (int f = 0; f < TAKT_FAMILIES; f++) {
        if (plan->family_isas[f] == plan->isas)
            continue;
        (void)snprintf(text, sizeof text, "  of %s steps", takt_family_name((takt_family)f));
        isas(r, takt_family_name((takt_family)f), text, plan->family_isas[f]);
    }
    if (r->is_json)
        takt_json_close(&r->json, '}');
}

takt_status takt_plan_kernels(const takt_plan *plan, takt_format format, takt_sink_fn *sink,
                              void *user)
{
    TAKT_NEED(NULL, plan);
    TAKT_NEED(NULL, sink);
    takt_report r;
    takt_report_begin(&r, plan->ctx, format);
    isas(&r, "isas", "instruction sets", plan->isas);
    families(&r, plan);
    takt_report_config(&r, plan);
    if (r.is_json) {
        takt_json_put_open(&r.json, "steps", '[');
    }
    for (size_t i = 0; i < plan->step_count; i++) {
        if (r.is_json)
            step_json(&r, plan, i);
        else
            step_text(&r, plan, i);
    }
    if (r.is_json)
        takt_json_close(&r.json, ']');
    return takt_report_end(&r, TAKT_OK, sink, user);
}
