/* rules.c - a description of a model's rules, for people and programs. */
#include "api/logic/logic.h"
#include "base/report.h"

static size_t bytes_of(const takt_relation_info *r)
{
    size_t bytes;
    return takt_type_bytes(&r->type, &bytes) ? bytes : 0;
}

static void domain_text(takt_text *text, const takt_relation_info *r)
{
    takt_text_add(text, "%s(", r->name);
    for (int i = 0; i < r->arity; i++)
        takt_text_add(text, "%s%s", i > 0 ? ", " : "",
                      r->arg[i].domain != NULL ? r->arg[i].domain->name : "_");
    takt_text_add(text, ")");
}

static void row(takt_table *t, const takt_relation *about, const takt_relation_info *r)
{
    char figure[TAKT_FIGURE_TEXT];
    takt_text name;
    takt_text_init(&name, t->arena.ctx);
    domain_text(&name, r);
    takt_table_cell(t, "%s", takt_text_get(&name));
    if (name.status != TAKT_OK)
        t->status = name.status;
    takt_text_deinit(&name);
    takt_table_cell(t, "%s", about->kind);
    takt_table_cell(t, "%s", takt_form_name(r->form));
    takt_table_cell(t, "%s", r->semantics != NULL ? r->semantics : "");
    takt_table_cell(t, "%s", takt_figure(bytes_of(r), figure));
    if (r->stratum >= 0)
        takt_table_cell(t, "%d%s", r->stratum, r->is_recursive ? " loop" : "");
    else
        takt_table_cell(t, "%s", "");
    takt_table_cell(t, "%s", r->joins);
}

static takt_status write_text(takt_report *out, const takt_model *model)
{
    static const char *const heads[] = {"relation", "kind",    "form",    "semantics",
                                        "bytes",    "stratum", "products"};
    takt_table t;
    takt_relation about;
    size_t i = 0;
    takt_table_init(&t, model->ctx, "llllrll");
    for (size_t k = 0; k < sizeof heads / sizeof *heads; k++)
        takt_table_cell(&t, "%s", heads[k]);
    takt_status status = TAKT_OK;
    for (const takt_relation_info *r = model->graph->relations->first; r != NULL;
         r = r->next, i++) {
        status = status == TAKT_OK ? takt_model_relation(model, i, &about) : status;
        if (status == TAKT_OK)
            row(&t, &about, r);
    }
    takt_text_add(&out->text, "relations\n");
    takt_table_print(&t, &out->text);
    status = status == TAKT_OK ? t.status : status;
    takt_table_deinit(&t);
    return status;
}

static takt_status write_json(takt_report *out, const takt_model *model)
{
    takt_relation about;
    size_t i = 0;
    takt_json_put_open(&out->json, "relations", '[');
    for (const takt_relation_info *r = model->graph->relations->first; r != NULL;
         r = r->next, i++) {
        TAKT_TRY(takt_model_relation(model, i, &about));
        takt_json_open(&out->json, '{');
        takt_json_put_string(&out->json, "name", r->name);
        takt_json_put_string(&out->json, "kind", about.kind);
        takt_json_put_string(&out->json, "form", takt_form_name(r->form));
        takt_json_put_string(&out->json, "semantics", r->semantics);
        takt_json_put_unsigned(&out->json, "bytes", bytes_of(r));
        takt_json_put_integer(&out->json, "stratum", r->stratum);
        takt_json_put_bool(&out->json, "recursive", r->is_recursive);
        takt_json_put_unsigned(&out->json, "rules", r->rule_count);
        takt_json_put_string(&out->json, "products", r->joins);
        takt_json_put_open(&out->json, "domains", '[');
        for (int k = 0; k < r->arity; k++)
            takt_json_string(&out->json, about.domains[k] != NULL ? about.domains[k] : "");
        takt_json_close(&out->json, ']');
        takt_json_close(&out->json, '}');
    }
    takt_json_close(&out->json, ']');
    return TAKT_OK;
}

takt_status takt_model_rules(const takt_model *model, takt_format format, takt_sink_fn *sink,
                             void *user)
{
    TAKT_NEED(NULL, model);
    takt_report r;
    if (model->graph->relations == NULL)
        return TAKT_OK;
    takt_report_begin(&r, model->ctx, format);
    const takt_status status = r.is_json ? write_json(&r, model) : write_text(&r, model);
    return takt_report_end(&r, status, sink, user);
}
