/* prove_report.c - takt_model_verify: options, files and the report. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <takt/array.h>

#include "api/model.h"
#include "base/options.h"
#include "base/report.h"
#include "io/file.h"
#include "verify/prove.h"

/* ---- files ---- */

/* An input of the counterexample: F, or F with the input's name before its ending. */
static takt_status save_input(takt_prover *v, size_t index, const double *x)
{
    const char *path = v->o.counterexample, *end = strrchr(path, '.');
    const takt_tensor_view *view = takt_session_input(v->session, index);
    const size_t count = v->net.nodes[v->net.inputs[index]].count;
    takt_text name;
    if (view == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        if (view->dtype == TAKT_F64)
            ((double *)view->data)[i] = x[i];
        else
            ((float *)view->data)[i] = (float)x[i];
    takt_text_init(&name, v->ctx);
    const int stem = (int)(end != NULL ? (size_t)(end - path) : strlen(path));
    if (v->net.port_count == 1)
        takt_text_add(&name, "%s", path);
    else
        takt_text_add(&name, "%.*s-%s%s", stem, path, v->graph->inputs[index].name,
                      end != NULL ? end : "");
    takt_status status = name.status;
    if (status == TAKT_OK)
        status = takt_npy_save(v->ctx, takt_text_get(&name), view);
    takt_text_deinit(&name);
    return status;
}

static void put_values(takt_text *text, char letter, const double *at, size_t count, bool *is_first)
{
    for (size_t i = 0; i < count; i++) {
        takt_text_add(text, "%s(%c_%zu ", *is_first ? "(" : "\n ", letter, i);
        takt_text_double(text, at[i]);
        takt_text_add(text, ")");
        *is_first = false;
    }
}

static takt_status save_contest(takt_prover *v)
{
    const takt_search *s = &v->search;
    takt_text text;
    takt_text_init(&text, v->ctx);
    if (s->verdict == TAKT_PROOF_REFUTED) {
        bool is_first = true;
        takt_text_add(&text, "sat\n");
        put_values(&text, 'X', s->x, v->given.input_count, &is_first);
        put_values(&text, 'Y', s->y, v->given.output_count, &is_first);
        takt_text_add(&text, ")\n");
    } else {
        const double limit = v->o.timeout_s > 0 ? v->o.timeout_s : 60;
        takt_text_add(&text, "%s\n",
                      s->verdict == TAKT_PROOF_FOUND ? "unsat"
                      : v->seconds >= limit          ? "timeout"
                                                     : "unknown");
    }
    takt_status status = text.status;
    if (status == TAKT_OK)
        status = takt_write_text(v->ctx, v->o.vnncomp, &text);
    takt_text_deinit(&text);
    return status;
}

takt_status takt_prover_files(takt_prover *v)
{
    const double *x = v->search.x;
    if (v->search.verdict == TAKT_PROOF_REFUTED && v->o.counterexample != NULL)
        for (size_t i = 0; i < v->net.port_count; i++) {
            TAKT_TRY(save_input(v, i, x));
            x += v->net.nodes[v->net.inputs[i]].count;
        }
    return v->o.vnncomp != NULL ? save_contest(v) : TAKT_OK;
}

/* ---- the report ---- */

static const char *const words[] = {[TAKT_PROOF_UNKNOWN] = "unknown",
                                    [TAKT_PROOF_FOUND] = "proved",
                                    [TAKT_PROOF_REFUTED] = "violated"};

static takt_verify_summary summarize(const takt_prover *v)
{
    const takt_search *s = &v->search;
    takt_verify_summary out = {.verdict = s->verdict,
                               .bound = s->bound,
                               .regions = s->regions,
                               .seconds = v->seconds,
                               .is_empty = s->is_empty,
                               .chosen = v->chosen};
    if (s->verdict == TAKT_PROOF_REFUTED)
        out.margin = -takt_goal_margin(&v->given.cases[s->case_index], s->x, s->y);
    if (s->verdict == TAKT_PROOF_UNKNOWN && s->layer != NULL)
        snprintf(out.layer, sizeof out.layer, "%s", s->layer);
    return out;
}

static void write_text(takt_report *rep, const takt_prover *v, const takt_verify_summary *s)
{
    const char *arithmetic = v->is_real ? "real numbers" : "the bits of f32";
    takt_text *t = &rep->text;
    if (v->o.check != NULL) {
        takt_text_add(t, "confirmed for %s: %zu boxes, %.2f s\n", arithmetic, s->regions,
                      s->seconds);
        return;
    }
    if (s->is_empty)
        takt_text_add(t, "proved: holds, for the property has no input\n");
    else if (s->verdict == TAKT_PROOF_FOUND)
        takt_text_add(t, "proved for %s: margin at least %.6g\n", arithmetic, s->bound);
    else if (s->verdict == TAKT_PROOF_REFUTED)
        takt_text_add(t, "violated by %.6g%s%s\n", s->margin,
                      v->o.counterexample != NULL ? ": the input is in " : "",
                      v->o.counterexample != NULL ? v->o.counterexample : "");
    else
        takt_text_add(t, "unknown for %s: best bound %.6g%s%s\n", arithmetic, s->bound,
                      s->layer[0] != '\0' ? "; the bounds lose most at " : "", s->layer);
    takt_text_add(t, "%zu region%s, %.2f s\n", s->regions, s->regions == 1 ? "" : "s", s->seconds);
    if (v->note[0] != '\0')
        takt_text_add(t, "%s\n", v->note);
}

static void put_number(takt_report *rep, const char *key, double value)
{
    if (isfinite(value))
        takt_json_put_number(&rep->json, key, value);
    else
        takt_report_pair(rep, key, isnan(value) ? "unknown" : value > 0 ? "inf" : "-inf");
}

static void write_json(takt_report *rep, const takt_prover *v, const takt_verify_summary *s)
{
    takt_report_pair(rep, "verdict", words[s->verdict]);
    takt_report_pair(rep, "arithmetic", v->is_real ? "real" : "f32");
    put_number(rep, "bound", s->bound);
    if (s->verdict == TAKT_PROOF_REFUTED)
        put_number(rep, "margin", s->margin);
    takt_report_count(rep, "regions", s->regions);
    put_number(rep, "seconds", s->seconds);
    if (s->layer[0] != '\0')
        takt_report_pair(rep, "layer", s->layer);
    if (s->is_empty || v->note[0] != '\0')
        takt_report_pair(rep, "note", s->is_empty ? "no input" : v->note);
    takt_json_put_open(&rep->json, "lower", '[');
    for (size_t i = 0; v->search.lower != NULL && i < v->given.output_count; i++)
        takt_json_number(&rep->json, v->search.lower[i]);
    takt_json_close(&rep->json, ']');
    takt_json_put_open(&rep->json, "upper", '[');
    for (size_t i = 0; v->search.lower != NULL && i < v->given.output_count; i++)
        takt_json_number(&rep->json, v->search.upper[i]);
    takt_json_close(&rep->json, ']');
}

/* ---- options ---- */

static takt_status choose(takt_prover *v)
{
    static const char *const names[] = {"ibp", "crown", "alpha", "search"};
    const char *method = v->o.method != NULL ? v->o.method : "search";
    const char *arithmetic = v->o.arithmetic != NULL ? v->o.arithmetic : "f32";
    size_t i = 0;
    while (i < 4 && strcmp(names[i], method) != 0)
        i++;
    if (i == 4) {
        takt_fail(v->ctx, TAKT_E_OPTION, "there is no method %s", method);
        return takt_fail_hint(v->ctx, "ibp, crown, alpha or search");
    }
    v->method = (takt_method)i;
    v->is_real = strcmp(arithmetic, "real") == 0;
    if (!v->is_real && strcmp(arithmetic, "f32") != 0)
        return takt_fail(v->ctx, TAKT_E_OPTION, "arithmetic is f32 or real, not %s", arithmetic);
    if ((v->o.property == NULL) == (v->o.input == NULL)) {
        takt_fail(v->ctx, TAKT_E_OPTION, "verify needs a property or an input, and not both");
        return takt_fail_hint(v->ctx, "--property F.vnnlib, or --input x.npy --eps 0.01");
    }
    return TAKT_OK;
}

takt_status takt_model_verify(const takt_model *model, const takt_verify_options *options,
                              takt_format format, takt_sink_fn *sink, void *user,
                              takt_verify_summary *summary)
{
    TAKT_NEED(NULL, sink);
    if (model == NULL)
        return TAKT_ERR_ARGUMENT;
    takt_prover v = {.ctx = model->ctx, .model = model};
    takt_report rep;
    TAKT_TRY(takt_options_read(v.ctx, "takt_verify_options", options, &v.o, sizeof v.o));
    TAKT_TRY(choose(&v));
    takt_status status = takt_prover_run(&v);
    if (status != TAKT_OK) {
        takt_prover_deinit(&v);
        return status;
    }
    const takt_verify_summary s = summarize(&v);
    takt_report_begin(&rep, v.ctx, format);
    if (rep.is_json)
        write_json(&rep, &v, &s);
    else
        write_text(&rep, &v, &s);
    takt_prover_deinit(&v);
    if (summary != NULL)
        *summary = s;
    return takt_report_end(&rep, TAKT_OK, sink, user);
}
