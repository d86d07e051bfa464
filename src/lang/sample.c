/* sample.c - calls whose inputs are types, as in the tests of op records. */
#include <stdio.h>
#include <string.h>

#include "lang/elab.h"
#include "lang/unit.h"

takt_id takt_elab_sample_input(takt_frame *f, const takt_ast *at, const takt_type *type,
                               const takt_sample_range *range)
{
    const size_t index = f->graph->input_count;
    char name[16];
    if (index >= TAKT_SAMPLE_INPUTS) {
        takt_complain(f, at, TAKT_E_ARITY, NULL, "a sample has at most %d inputs",
                      TAKT_SAMPLE_INPUTS);
        return TAKT_NONE;
    }
    snprintf(name, sizeof name, "x%zu", index);
    const takt_id id = takt_graph_input(f->graph, name, type);
    if (id == TAKT_NONE)
        takt_complain_last(f, at);
    f->e->ranges->at[index] = *range;
    f->e->ranges->count = index + 1;
    return id;
}

static void outputs(takt_frame *f, const takt_ast *at, takt_value v)
{
    const bool is_several = v.kind == TAKT_V_RESULTS;
    const uint32_t count = is_several ? v.count : 1;
    for (uint32_t i = 0; i < count && v.kind != TAKT_V_POISON; i++) {
        char name[16] = "out";
        if (is_several)
            snprintf(name, sizeof name, "out%u", i);
        const takt_value one = is_several ? takt_elab_result(f, at, &v, i) : v;
        if (one.kind == TAKT_V_POISON)
            return;
        if (one.kind != TAKT_V_TENSOR) {
            takt_complain(f, at, TAKT_E_CALL, NULL, "a sample is a call of an op");
            return;
        }
        takt_graph_output(f->graph, name, one.id);
        if (f->graph->status != TAKT_OK)
            takt_complain_last(f, at);
    }
}

static takt_status build(takt_unit *u, const takt_ast *call, takt_graph *graph)
{
    takt_ast place = *call;
    const takt_function sample = {.source = &u->source, .place = &place};
    takt_frame frame;
    takt_frame_init(&frame, &u->e, NULL, &sample);
    frame.graph = graph;
    outputs(&frame, call, takt_eval_expr(&frame, call));
    takt_frame_deinit(&frame);
    return u->e.status;
}

/* not(x) is read as the operator, which is that op. */
static bool calls(const takt_ast *a, const takt_op *op)
{
    if (op == NULL)
        return true;
    if (a->kind == TAKT_A_NOT)
        return strcmp(op->name, "not") == 0;
    return a->kind == TAKT_A_CALL && strcmp(a->name->text, op->name) == 0;
}

static takt_status read(takt_unit *u, const takt_op *op, takt_graph **graph)
{
    takt_syntax *s = &u->e.syntax;
    s->takes_ranges = true;
    takt_syntax_begin(s, &u->source);
    const takt_ast *call = takt_syntax_expression(s);
    if (call == NULL || s->status != TAKT_OK || u->e.diagnostics->error_count > 0)
        return s->status;
    if (s->token.kind != TAKT_T_END) {
        takt_syntax_fail(s, NULL, "expected the end of the sample, found");
        return s->status;
    }
    if (!calls(call, op))
        return takt_fail(u->e.ctx, TAKT_E_CALL, "the sample %s does not call %s", u->source.text,
                         op->name);
    TAKT_TRY(takt_graph_create(u->e.ctx, NULL, graph));
    return build(u, call, *graph);
}

takt_status takt_sample_graph(takt_ctx *ctx, const takt_op *op, const char *text,
                              takt_graph **graph, takt_sample_ranges *ranges)
{
    takt_unit u;
    takt_sample_ranges unused;
    *graph = NULL;
    ranges = ranges != NULL ? ranges : &unused;
    *ranges = (takt_sample_ranges){0};
    const takt_source source = {.name = "sample", .text = text, .length = strlen(text)};
    takt_status status = takt_unit_open(&u, ctx, &source, NULL);
    u.e.ranges = ranges;
    if (status == TAKT_OK)
        status = read(&u, op, graph);
    status = takt_unit_status(&u, status);
    takt_unit_close(&u);
    if (status != TAKT_OK) {
        takt_graph_destroy(*graph);
        *graph = NULL;
    }
    return status;
}
