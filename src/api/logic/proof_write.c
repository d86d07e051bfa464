/* proof_write.c - proofs as readable trees, and as steps for programs. */
#include <string.h>

#include "api/logic/proof.h"
#include "base/mem.h"
#include "base/report.h"

typedef struct writer {
    takt_report *r;
    const takt_proof_tree *tree;
    unsigned char *is_written;
} writer;

static const char *tuple_text(takt_text *text, const takt_proof_node *n)
{
    takt_tuple_text(n->predicate, n->tuple, n->value, text);
    return takt_text_get(text);
}

/* y = bo, z = cy: variables of `exists` that a proof chose. */
static void put_choices(const takt_rule *rule, const takt_formula *f, const int64_t *env,
                        takt_text *text)
{
    const takt_formula *below[] = {f->a, f->b, f->c};
    if (f->kind == TAKT_LOGIC_EXISTS)
        for (size_t i = 0; i < f->bound_count; i++) {
            const int v = f->bound[i];
            if (env[v] < 0 || strcmp(rule->variables[v].name, "_") == 0)
                continue;
            takt_text_add(text, ", %s = ", rule->variables[v].name);
            takt_value_name(rule, v, env[v], text);
        }
    const bool is_plain =
        f->kind == TAKT_LOGIC_EXISTS || f->kind == TAKT_LOGIC_AND || f->kind == TAKT_LOGIC_OR;
    for (size_t i = 0; is_plain && i < 3; i++)
        if (below[i] != NULL)
            put_choices(rule, below[i], env, text);
}

static void put_why(const takt_proof_node *n, takt_text *text)
{
    if (n->rule == NULL) {
        takt_text_add(text, "fact");
        return;
    }
    takt_text_add(text, "line %d", n->rule->line);
    put_choices(n->rule, n->rule->body, n->env, text);
    if (n->premise_count == 0) {
        takt_text_add(text, ", ");
        takt_formula_text(n->rule, n->rule->body, NULL, text);
    }
}

/* Depth first, without recursion: proofs may be deep. */
static takt_status write_text(writer *w, takt_ctx *ctx)
{
    typedef struct frame {
        size_t node, next;
    } frame;
    takt_text *text = &w->r->text;
    void *stack = NULL;
    size_t capacity = 0, depth = 1;
    takt_status status = takt_mem_grow(ctx, &stack, &capacity, 1, sizeof(frame));
    if (status == TAKT_OK)
        ((frame *)stack)[0] = (frame){0, 0};
    while (status == TAKT_OK && depth > 0) {
        frame *f = &((frame *)stack)[depth - 1];
        const takt_proof_node *n = &w->tree->nodes[f->node];
        if (f->next == 0) {
            takt_text_add(text, "%*s", (int)(2 * (depth - 1)), "");
            takt_tuple_text(n->predicate, n->tuple, n->value, text);
            takt_text_add(text, "  ");
            if (w->is_written[f->node] && n->rule != NULL)
                takt_text_add(text, "as above");
            else
                put_why(n, text);
            takt_text_put(text, "\n", 1);
        }
        const bool is_first = !w->is_written[f->node] || f->next > 0;
        w->is_written[f->node] = 1;
        if (!is_first || f->next == n->premise_count) {
            depth--;
            continue;
        }
        const size_t child = n->premises[f->next++];
        status = takt_mem_grow(ctx, &stack, &capacity, depth + 1, sizeof(frame));
        if (status == TAKT_OK)
            ((frame *)stack)[depth++] = (frame){child, 0};
    }
    takt_mem_put(ctx, stack, capacity * sizeof(frame));
    return status;
}

static void write_json(takt_report *r, const takt_proof_tree *tree)
{
    takt_text text;
    takt_json_put_open(&r->json, "steps", '[');
    for (size_t i = 0; i < tree->count; i++) {
        const takt_proof_node *n = &tree->nodes[i];
        takt_json_open(&r->json, '{');
        takt_text_init(&text, r->ctx);
        takt_json_put_string(&r->json, "fact", tuple_text(&text, n));
        takt_text_deinit(&text);
        takt_json_put_integer(&r->json, "line", n->rule != NULL ? n->rule->line : 0);
        takt_json_put_integer(&r->json, "height", n->height);
        takt_json_put_open(&r->json, "premises", '[');
        for (size_t k = 0; k < n->premise_count; k++)
            takt_json_unsigned(&r->json, n->premises[k]);
        takt_json_close(&r->json, ']');
        takt_json_close(&r->json, '}');
    }
    takt_json_close(&r->json, ']');
}

takt_status takt_derivation_write(const takt_derivation *proof, takt_format format,
                                  takt_sink_fn *sink, void *user)
{
    TAKT_NEED(NULL, proof);
    takt_report r;
    takt_ctx *ctx = proof->model->ctx;
    void *is_written;
    TAKT_TRY(takt_mem_zero(ctx, proof->tree.count, 1, "proof", &is_written));
    writer w = {&r, &proof->tree, is_written};
    takt_status status = TAKT_OK;
    takt_report_begin(&r, ctx, format);
    if (r.is_json) {
        takt_json_put_bool(&r.json, "holds", true);
        write_json(&r, &proof->tree);
    } else {
        status = write_text(&w, ctx);
    }
    takt_mem_put(ctx, is_written, proof->tree.count);
    return takt_report_end(&r, status, sink, user);
}
