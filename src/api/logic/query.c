/* query.c - queries: "ancestor(ann, x)". */
#include <string.h>

#include "api/logic/logic.h"
#include "base/number.h"
#include "base/options.h"
#include "base/report.h"

typedef struct argument {
    enum { ANYTHING, ENTRY, NUMBER, VARIABLE } kind;
    uint32_t entry;
    double number;  /* of the last argument of a VALUE relation */
    takt_span name; /* of a variable */
    int first;      /* the argument where the same variable occurred first */
} argument;

typedef struct question {
    const takt_model *model;
    const takt_relation_info *relation;
    const char *text;
    size_t at;
    argument args[TAKT_MAX_RANK];
    int count;
    size_t limit;
} question;

/* ---- reading ---- */

static takt_status wrong(const question *q, const char *what)
{
    takt_fail(q->model->ctx, TAKT_E_RULE, "%s at character %zu of \"%.80s\"", what, q->at + 1,
              q->text);
    return takt_fail_hint(q->model->ctx, "a question is like ancestor(ann, x)");
}

static void skip_space(question *q)
{
    while (q->text[q->at] == ' ')
        q->at++;
}

static takt_span word(question *q)
{
    skip_space(q);
    const size_t from = q->at;
    while (q->text[q->at] != '\0' && strchr(" (),\"", q->text[q->at]) == NULL)
        q->at++;
    return (takt_span){q->text + from, q->at - from};
}

static bool take(question *q, char c)
{
    skip_space(q);
    if (q->text[q->at] != c)
        return false;
    q->at++;
    return true;
}

static takt_status unknown(const question *q, const takt_domain *d, takt_span name)
{
    char hint[TAKT_DOMAIN_HINT];
    takt_fail(q->model->ctx, TAKT_E_DOMAIN, "%.*s is nothing of domain %s",
              name.length < 64 ? (int)name.length : 64, name.at, d != NULL ? d->name : "numbers");
    const char *near = d != NULL ? takt_domain_nearest(d, name, hint) : NULL;
    return near != NULL ? takt_fail_hint(q->model->ctx, "%s", near) : TAKT_ERR_SYNTAX;
}

static bool is_digits(takt_span s)
{
    size_t i = s.length > 0 && s.at[0] == '-' && s.length > 1;
    for (; i < s.length; i++)
        if ((s.at[i] < '0' || s.at[i] > '9') && s.at[i] != '.')
            return false;
    return s.length > 0;
}

/* A misspelt name would be a variable, which fits everything. */
static void note_variable(const question *q, const takt_domain *d, takt_span name)
{
    char hint[TAKT_DOMAIN_HINT];
    const char *near = d != NULL && name.length > 2 ? takt_domain_nearest(d, name, hint) : NULL;
    if (near != NULL)
        takt_log(q->model->ctx, TAKT_LOG_WARNING,
                 "%.*s is a variable, since domain %s has no such name: %s",
                 name.length < 64 ? (int)name.length : 64, name.at, d->name, near);
}

static takt_status plain(question *q, argument *a, takt_span name, const takt_domain *d)
{
    const takt_domain numbers = {.name = "numbers", .size = -1};
    if (takt_domain_find(d != NULL ? d : &numbers, name, &a->entry)) {
        a->kind = ENTRY;
        return TAKT_OK;
    }
    if (is_digits(name))
        return unknown(q, d, name);
    a->kind = takt_span_is(name, "_") ? ANYTHING : VARIABLE;
    a->name = name;
    note_variable(q, d, name);
    for (int i = q->count - 1; i >= 0; i--)
        if (q->args[i].kind == VARIABLE && q->args[i].name.length == name.length &&
            memcmp(q->args[i].name.at, name.at, name.length) == 0)
            a->first = i;
    return TAKT_OK;
}

static takt_status read_argument(question *q)
{
    if (q->count == TAKT_MAX_RANK)
        return wrong(q, "there are too many arguments");
    const takt_relation_info *r = q->relation;
    argument *a = &q->args[q->count];
    *a = (argument){.first = q->count};
    const bool is_inside = q->count < r->arity;
    const takt_domain *d = is_inside ? r->arg[q->count].domain : NULL;
    const bool is_value = r->form == TAKT_FORM_VALUE && q->count == r->arity - 1;
    if (take(q, '"')) {
        const char *end = strchr(q->text + q->at, '"');
        if (end == NULL)
            return wrong(q, "a quotation mark is missing");
        const takt_span name = {q->text + q->at, (size_t)(end - q->text) - q->at};
        q->at += name.length + 1;
        a->kind = ENTRY;
        if (d == NULL || !takt_domain_find(d, name, &a->entry))
            return unknown(q, d, name);
    } else {
        const takt_span name = word(q);
        if (name.length == 0)
            return wrong(q, "an argument is missing");
        if (is_value && is_digits(name)) {
            a->kind = NUMBER;
            if (!takt_number_read(name.at, name.length, &a->number))
                return wrong(q, "this is not a number");
        } else {
            TAKT_TRY(plain(q, a, name, d));
        }
    }
    q->count++;
    return TAKT_OK;
}

static takt_status read_name(question *q, char *name, size_t size)
{
    const takt_span s = word(q);
    if (s.length == 0 || s.length >= size)
        return wrong(q, "a relation's name is missing");
    memcpy(name, s.at, s.length);
    name[s.length] = '\0';
    return TAKT_OK;
}

static takt_status read_question(question *q)
{
    char name[256];
    TAKT_TRY(read_name(q, name, sizeof name));
    q->relation = takt_logic_find(q->model, name);
    if (q->relation == NULL)
        return TAKT_ERR_NOT_FOUND;
    const bool is_open = take(q, '(');
    if (is_open && !take(q, ')')) {
        do
            TAKT_TRY(read_argument(q));
        while (take(q, ','));
        if (!take(q, ')'))
            return wrong(q, "a bracket is missing");
    }
    skip_space(q);
    if (q->text[q->at] != '\0')
        return wrong(q, "something is left over");
    if (is_open && q->count != q->relation->arity)
        return takt_fail(q->model->ctx, TAKT_E_ARITY, "%s has %d argument%s, not %d", name,
                         q->relation->arity, q->relation->arity == 1 ? "" : "s", q->count);
    for (; q->count < q->relation->arity; q->count++) /* only the name: everything */
        q->args[q->count] = (argument){.kind = VARIABLE, .first = q->count, .name = {"", 0}};
    return TAKT_OK;
}

takt_status takt_query_relation(const takt_model *model, const char *text, char *name, size_t size)
{
    TAKT_NEED(NULL, model);
    TAKT_NEED(NULL, text);
    question q = {.model = model, .text = text};
    TAKT_TRY(read_name(&q, name, size));
    return takt_logic_find(model, name) != NULL ? TAKT_OK : TAKT_ERR_NOT_FOUND;
}

takt_status takt_question_fact(const takt_model *model, const char *text,
                               const takt_relation_info **relation,
                               uint32_t tuple[static TAKT_MAX_RANK], double *value)
{
    question q = {.model = model, .text = text};
    TAKT_TRY(read_question(&q));
    *relation = q.relation;
    *value = 0;
    for (int i = 0; i < q.count; i++) {
        const argument *a = &q.args[i];
        tuple[i] = a->entry;
        if (a->kind == NUMBER) {
            *value = a->number;
        } else if (a->kind != ENTRY) {
            takt_fail(model->ctx, TAKT_E_DOMAIN, "%.*s is nothing of the domain of argument %d",
                      a->name.length < 64 ? (int)a->name.length : 64, a->name.at, i + 1);
            return takt_fail_hint(model->ctx, "a fact has no variables: ancestor(ann, bo)");
        }
    }
    return TAKT_OK;
}

/* ---- answering ---- */

static bool fits(const question *q, const takt_tuple_walk *w)
{
    const bool is_value = q->relation->form == TAKT_FORM_VALUE;
    for (int i = 0; i < q->count; i++) {
        const argument *a = &q->args[i];
        if (a->kind == ENTRY && w->entry[i] != a->entry)
            return false;
        if (a->kind == NUMBER && w->value != a->number)
            return false;
        if (a->kind == VARIABLE && a->first != i && (is_value || w->entry[a->first] != w->entry[i]))
            return false;
    }
    return true;
}

static bool is_column(const question *q, int i)
{
    return q->args[i].kind == VARIABLE && q->args[i].first == i;
}

static void put_number(takt_report *r, double value)
{
    if (r->is_json)
        takt_json_number(&r->json, value);
    else
        takt_text_double(&r->text, value);
}

static void put_entry(takt_report *r, const question *q, int i, uint32_t entry)
{
    const takt_domain *d = q->relation->arg[i].domain;
    takt_text name;
    if (!r->is_json) {
        takt_domain_entry(d, entry, &r->text);
        return;
    }
    if (d == NULL || d->entries == NULL) {
        takt_json_unsigned(&r->json, entry);
        return;
    }
    takt_text_init(&name, r->ctx);
    takt_domain_entry(d, entry, &name);
    takt_json_string(&r->json, takt_text_get(&name));
    if (name.status != TAKT_OK && r->text.status == TAKT_OK)
        r->text.status = name.status;
    takt_text_deinit(&name);
}

static void put_tuple(takt_report *r, const question *q, const takt_tuple_walk *w)
{
    const bool is_value = q->relation->form == TAKT_FORM_VALUE;
    bool has_cell = false;
    if (r->is_json)
        takt_json_open(&r->json, '[');
    for (int i = 0; i < q->count; i++) {
        if (!is_column(q, i))
            continue;
        if (has_cell && !r->is_json)
            takt_text_put(&r->text, "\t", 1);
        has_cell = true;
        if (is_value && i == q->count - 1)
            put_number(r, w->value);
        else
            put_entry(r, q, i, w->entry[i]);
    }
    if (q->relation->form == TAKT_FORM_SOFT) {
        if (has_cell && !r->is_json)
            takt_text_put(&r->text, "\t", 1);
        put_number(r, w->value);
    }
    if (r->is_json)
        takt_json_close(&r->json, ']');
    else
        takt_text_put(&r->text, "\n", 1);
}

static void head(takt_report *r, const question *q)
{
    takt_json_put_string(&r->json, "relation", q->relation->name);
    takt_json_put_open(&r->json, "tuples", '[');
}

static void answer(takt_report *r, const question *q, const takt_tensor_view *view)
{
    takt_tuple_walk w;
    size_t count = 0, columns = 0;
    for (int i = 0; i < q->count; i++)
        columns += is_column(q, i);
    const bool is_yes_or_no = columns == 0 && q->relation->form != TAKT_FORM_SOFT;
    if (r->is_json)
        head(r, q);
    for (takt_tuple_begin(&w, q->relation, view); takt_tuple_next(&w);) {
        if (!fits(q, &w))
            continue;
        count++;
        if (!is_yes_or_no && (q->limit == 0 || count <= q->limit))
            put_tuple(r, q, &w);
    }
    if (r->is_json) {
        takt_json_close(&r->json, ']');
        takt_json_put_unsigned(&r->json, "count", count);
        if (is_yes_or_no)
            takt_json_put_bool(&r->json, "holds", count > 0);
    } else if (is_yes_or_no) {
        takt_text_add(&r->text, "%s\n", count > 0 ? "true" : "false");
    }
}

takt_status takt_query(const takt_model *model, const char *text, const takt_tensor_view *view,
                       const takt_query_options *options, takt_sink_fn *sink, void *user)
{
    TAKT_NEED(NULL, model);
    TAKT_NEED(NULL, text);
    takt_query_options own;
    takt_report r;
    question q = {.model = model, .text = text};
    TAKT_TRY(takt_options_read(model->ctx, "takt_query_options", options, &own, sizeof own));
    q.limit = own.limit;
    TAKT_TRY(read_question(&q));
    TAKT_TRY(takt_logic_check(model, q.relation, view));
    takt_report_begin(&r, model->ctx, own.format);
    answer(&r, &q, view);
    return takt_report_end(&r, TAKT_OK, sink, user);
}
