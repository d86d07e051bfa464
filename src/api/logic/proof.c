/* proof.c - why facts hold, and why they do not. */
#include <string.h>

#include "api/logic/proof.h"
#include "base/mem.h"
#include "base/report.h"
#include "ir/name.h"

/* ---- what a proof reads ---- */

typedef struct asked {
    const takt_model *model;
    const takt_relation_info *relation;
    const takt_predicate *predicate;
    uint32_t tuple[TAKT_MAX_RANK];
    double value;
    takt_world world;
    unsigned char *is_used; /* per kept predicate */
    takt_id *values;        /* of those, each once, in the order of the outputs */
    size_t value_count;
} asked;

static takt_status not_boolean(const asked *a, const takt_predicate *p)
{
    takt_fail(a->model->ctx, TAKT_E_SEMANTICS, "%s is %s, and only boolean relations have proofs",
              p->name, p->semantics != NULL ? p->semantics->name : "soft");
    return takt_fail_hint(a->model->ctx, "`takt query` tells its truth");
}

static void mark_formula(asked *a, const takt_formula *f);

static void mark(asked *a, const takt_predicate *p)
{
    if (a->is_used[p->index])
        return;
    a->is_used[p->index] = 1;
    for (const takt_rule *r = p->rules; r != NULL; r = r->next)
        mark_formula(a, r->body);
    for (size_t i = 0; i < a->value_count; i++)
        if (a->values[i] == p->value)
            return;
    a->values[a->value_count++] = p->value;
}

static void mark_formula(asked *a, const takt_formula *f)
{
    if (f->predicate != NULL)
        mark(a, f->predicate);
    for (size_t i = 0; i < takt_formula_children(f); i++)
        if (takt_formula_child(f, i) != NULL)
            mark_formula(a, takt_formula_child(f, i));
}

/* The fact, and which predicates it depends on. The world is released in any case. */
static takt_status begin(asked *a, const takt_model *model, const char *fact)
{
    *a = (asked){.model = model};
    TAKT_TRY(takt_question_fact(model, fact, &a->relation, a->tuple, &a->value));
    a->predicate = a->relation->predicate;
    const takt_relations *all = model->graph->relations;
    takt_world_init(&a->world, model->ctx, all);
    a->is_used = takt_arena_array(&a->world.arena, all->kept_count + 1, 1);
    a->values = takt_arena_array(&a->world.arena, all->kept_count + 1, sizeof *a->values);
    if (a->is_used == NULL || a->values == NULL || a->world.status != TAKT_OK)
        return TAKT_ERR_MEMORY;
    mark(a, a->predicate);
    for (const takt_predicate *p = all->kept; p != NULL; p = p->next) {
        const bool is_soft = p->form == TAKT_FORM_SOFT && p->rules != NULL;
        const bool is_other =
            p->semantics != NULL && p->rules != NULL && p->semantics != &takt_semantics_boolean;
        if (a->is_used[p->index] &&
            (is_soft || is_other || (p == a->predicate && p->form == TAKT_FORM_SOFT)))
            return not_boolean(a, p);
    }
    return TAKT_OK;
}

static void end(asked *a)
{
    if (a->world.ctx != NULL)
        takt_world_deinit(&a->world);
}

takt_status takt_fact_outputs(const takt_model *model, const char *fact, takt_sink_fn *sink,
                              void *user)
{
    TAKT_NEED(NULL, model);
    TAKT_NEED(NULL, fact);
    asked a;
    takt_name_table names;
    takt_report r;
    takt_status status = begin(&a, model, fact);
    if (status == TAKT_OK)
        status = takt_name_table_init(&names, model->graph);
    if (status != TAKT_OK) {
        end(&a);
        return status;
    }
    takt_report_begin(&r, model->ctx, TAKT_FORMAT_TEXT);
    for (size_t i = 0; i < a.value_count; i++)
        takt_text_add(&r.text, "%s%s", i > 0 ? "," : "", names.of[a.values[i]]);
    takt_name_table_deinit(&names);
    end(&a);
    return takt_report_end(&r, TAKT_OK, sink, user);
}

/* The relations after the session's run. */
static takt_status open_world(asked *a, takt_session *s)
{
    takt_ctx *ctx = a->model->ctx;
    if (takt_session_output_count(s) != a->value_count)
        return takt_fail(ctx, TAKT_E_BINDING,
                         "the session has %zu outputs, but a proof of %s reads %zu",
                         takt_session_output_count(s), a->relation->name, a->value_count);
    for (size_t i = 0; i < a->world.set_count; i++) {
        takt_world_set *set = &a->world.sets[i];
        for (size_t k = 0; k < a->value_count && a->is_used[i]; k++)
            if (a->values[k] == set->predicate->value)
                set->view = takt_session_output(s, k);
        if (!a->is_used[i])
            continue;
        takt_relation_info r = {.name = set->predicate->name,
                                .arity = set->predicate->arity,
                                .form = set->predicate->form};
        memcpy(r.arg, set->predicate->arg, sizeof r.arg);
        TAKT_TRY(takt_logic_check(a->model, &r, set->view));
    }
    return TAKT_OK;
}

/* The number that a rule yields, if any. */
static double number_of(const asked *a)
{
    const takt_tensor_view *v = a->world.sets[a->predicate->index].view;
    size_t at = 0;
    for (int i = 0; i < v->rank; i++)
        at = at * (size_t)v->dims[i] + a->tuple[i];
    return takt_dtype_is_float(v->dtype) ? takt_dtype_get_f(v->dtype, v->data, at)
                                         : (double)takt_dtype_get_i(v->dtype, v->data, at);
}

static bool is_number(const asked *a)
{
    return a->predicate->form == TAKT_FORM_VALUE;
}

static bool holds(asked *a)
{
    return is_number(a) ? number_of(a) == a->value
                        : takt_world_has(&a->world, a->predicate, a->tuple);
}

/* ---- proofs ---- */

/* A number is one step: it is computed from values, not from a tuple. */
static takt_status prove_number(asked *a, takt_proof_tree *t)
{
    void *nodes = NULL;
    takt_arena_init(&t->arena, a->model->ctx);
    TAKT_TRY(takt_mem_grow(a->model->ctx, &nodes, &t->capacity, 1, sizeof *t->nodes));
    t->nodes = nodes;
    const takt_rule *rule = a->predicate->rules;
    int64_t *env = takt_arena_array(&t->arena, rule->variable_count + 1, sizeof *env);
    if (env == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < rule->variable_count; i++)
        env[i] = i + 1 < (size_t)a->predicate->arity ? (int64_t)a->tuple[i] : INT64_C(-1);
    t->nodes[0] = (takt_proof_node){
        .predicate = a->predicate, .rule = rule, .value = a->value, .height = 1, .env = env};
    memcpy(t->nodes[0].tuple, a->tuple, sizeof a->tuple);
    t->count = 1;
    return TAKT_OK;
}

static takt_status prove(asked *a, takt_derivation *proof)
{
    TAKT_TRY(is_number(a) ? prove_number(a, &proof->tree)
                          : takt_prove(&a->world, a->predicate, a->tuple, &proof->tree));
    return takt_proof_verify(&a->world, &proof->tree);
}

takt_status takt_fact_prove(const takt_model *model, const char *fact, takt_session *session,
                            takt_derivation **proof)
{
    TAKT_NEED(NULL, model);
    TAKT_NEED(NULL, fact);
    TAKT_NEED(NULL, session);
    TAKT_NEED(NULL, proof);
    asked a;
    void *block;
    *proof = NULL;
    takt_status status = begin(&a, model, fact);
    if (status == TAKT_OK)
        status = open_world(&a, session);
    if (status == TAKT_OK && holds(&a)) {
        status = takt_mem_zero(model->ctx, 1, sizeof **proof, "proof", &block);
        if (status == TAKT_OK) {
            *proof = block;
            (*proof)->model = model;
            status = prove(&a, *proof);
        }
    }
    if (status == TAKT_OK)
        status = a.world.status;
    end(&a);
    if (status != TAKT_OK) {
        takt_derivation_free(*proof);
        *proof = NULL;
    }
    return status;
}

void takt_derivation_free(takt_derivation *proof)
{
    if (proof == NULL)
        return;
    takt_ctx *ctx = proof->model->ctx;
    if (proof->tree.arena.ctx != NULL)
        takt_proof_tree_release(ctx, &proof->tree);
    takt_mem_put(ctx, proof, sizeof *proof);
}

size_t takt_derivation_step_count(const takt_derivation *proof)
{
    return proof != NULL ? proof->tree.count : 0;
}

takt_status takt_derivation_at(const takt_derivation *proof, size_t index,
                               takt_derivation_step *step)
{
    TAKT_NEED(NULL, proof);
    TAKT_NEED(NULL, step);
    memset(step, 0, sizeof *step);
    if (index >= proof->tree.count)
        return takt_fail(proof->model->ctx, TAKT_E_NAME, "the proof has %zu steps, not %zu",
                         proof->tree.count, index + 1);
    const takt_proof_node *n = &proof->tree.nodes[index];
    *step = (takt_derivation_step){.relation = n->predicate->name,
                                   .arity = n->predicate->arity,
                                   .value = n->value,
                                   .line = n->rule != NULL ? n->rule->line : 0,
                                   .height = n->height,
                                   .premises = n->premises,
                                   .premise_count = n->premise_count};
    memcpy(step->entries, n->tuple, sizeof step->entries);
    return TAKT_OK;
}

/* ---- why not ---- */

static void put_refusal(void *user, const takt_rule_refusal *f)
{
    takt_report *r = user;
    takt_text whole, literal;
    takt_text_init(&whole, r->ctx);
    takt_text_init(&literal, r->ctx);
    takt_formula_text(f->rule, f->alternative, NULL, &whole);
    const bool is_rounded = f->literal == NULL;
    takt_formula_text(f->rule, is_rounded ? f->alternative : f->literal, f->env, &literal);
    if (r->is_json) {
        takt_json_open(&r->json, '{');
        takt_json_put_integer(&r->json, "line", f->rule->line);
        takt_json_put_string(&r->json, "rule", takt_text_get(&whole));
        takt_json_put_string(&r->json, "fails", takt_text_get(&literal));
        if (is_rounded)
            takt_json_put_bool(&r->json, "rounded", true);
        takt_json_close(&r->json, '}');
    } else {
        takt_text_add(&r->text, "  line %d, %s\n    %s %s\n", f->rule->line, takt_text_get(&whole),
                      takt_text_get(&literal),
                      is_rounded ? "compares numbers that are rounded" : "fails");
    }
    if (r->text.status == TAKT_OK)
        r->text.status = whole.status != TAKT_OK ? whole.status : literal.status;
    takt_text_deinit(&whole);
    takt_text_deinit(&literal);
}

static takt_status refute(asked *a, takt_report *r)
{
    takt_text text;
    const bool is_true = holds(a);
    takt_text_init(&text, r->ctx);
    takt_tuple_text(a->predicate, a->tuple, a->value, &text);
    if (r->is_json) {
        takt_json_put_string(&r->json, "fact", takt_text_get(&text));
        takt_json_put_bool(&r->json, "holds", is_true);
        takt_json_put_open(&r->json, "rules", '[');
    } else {
        takt_text_add(&r->text, "%s %s", takt_text_get(&text), is_true ? "holds" : "does not hold");
        if (!is_true && a->predicate->rules == NULL)
            takt_text_add(&r->text, ": it is not a fact");
        else if (!is_true && is_number(a))
            takt_text_add(&r->text, ": the number is %.17g", number_of(a));
        takt_text_put(&r->text, "\n", 1);
    }
    takt_text_deinit(&text);
    const takt_status status = is_number(a) || is_true
                                   ? a->world.status
                                   : takt_refute(&a->world, a->predicate, a->tuple, put_refusal, r);
    if (r->is_json)
        takt_json_close(&r->json, ']');
    return status;
}

takt_status takt_fact_why_not(const takt_model *model, const char *fact, takt_session *session,
                              takt_format format, takt_sink_fn *sink, void *user)
{
    TAKT_NEED(NULL, model);
    TAKT_NEED(NULL, fact);
    TAKT_NEED(NULL, session);
    asked a;
    takt_report r;
    takt_status status = begin(&a, model, fact);
    if (status == TAKT_OK)
        status = open_world(&a, session);
    if (status != TAKT_OK) {
        end(&a);
        return status;
    }
    takt_report_begin(&r, model->ctx, format);
    status = refute(&a, &r);
    end(&a);
    return takt_report_end(&r, status, sink, user);
}
