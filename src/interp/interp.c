/* interp.c - a whole graph, node by node; values are freed after their last use. */
#include "interp/interp.h"

#include <stdio.h>

#include "base/mem.h"
#include "interp/run.h"
#include "ir/leaves.h"

typedef struct run {
    interp *it;
    const takt_graph *g;
    const takt_array *inputs, *slots;
    takt_arena arena; /* of this bookkeeping */
    takt_array **value;
    uint32_t *uses; /* left, per node */
    unsigned char *is_borrowed;
} run;

static takt_status init(run *r, interp *it, const takt_graph *g)
{
    *r = (run){.it = it, .g = g};
    takt_arena_init(&r->arena, it->ctx);
    unsigned char *live = takt_arena_array(&r->arena, g->count, 1);
    r->value = takt_arena_array(&r->arena, g->count, sizeof *r->value);
    r->uses = takt_arena_array(&r->arena, g->count, sizeof *r->uses);
    r->is_borrowed = takt_arena_array(&r->arena, g->count, 1);
    if (live == NULL || r->value == NULL || r->uses == NULL || r->is_borrowed == NULL)
        return TAKT_ERR_MEMORY;
    takt_graph_live(g, live);
    for (size_t i = 0; i < g->count; i++)
        for (uint32_t k = 0; live[i] && k < g->nodes[i].in_count; k++)
            if (g->nodes[i].in[k] != TAKT_NONE)
                r->uses[g->nodes[i].in[k]]++;
    for (size_t i = 0; i < g->count; i++) /* others mention its names */
        r->uses[i] += live[i] && (g->nodes[i].op->traits & TAKT_SIZES) != 0;
    for (size_t i = 0; i < g->output_count; i++)
        r->uses[g->outputs[i].id]++;
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].next != TAKT_NONE)
            r->uses[g->slots[i].next]++;
    for (size_t i = 0; i < g->check_count; i++)
        r->uses[g->checks[i].id]++;
    return TAKT_OK;
}

static void free_value(run *r, takt_id id)
{
    takt_array *value = r->value[id];
    r->value[id] = NULL;
    if (value == NULL || r->is_borrowed[id])
        return;
    const uint32_t count = r->g->nodes[id].out_count;
    for (uint32_t i = 0; i < count; i++)
        takt_array_release(r->it->ctx, &value[i]);
    takt_mem_put(r->it->ctx, value, count * sizeof *value);
}

static void deinit(run *r)
{
    for (size_t i = 0; r->value != NULL && i < r->g->count; i++)
        free_value(r, (takt_id)i);
    takt_arena_deinit(&r->arena);
}

static void use(run *r, takt_id id)
{
    if (id != TAKT_NONE && --r->uses[id] == 0)
        free_value(r, id);
}

/* A given value must be of the declared type; nothing is converted. */
static takt_status check_given(run *r, const char *what, const char *name, const takt_type *want,
                               const takt_array *given)
{
    const takt_type got = takt_array_type(given);
    takt_type now = *want;
    if (r->it->size_count > 0)
        TAKT_TRY(takt_interp_type(r->it, r->g, want, &now));
    char left[TAKT_TYPE_TEXT], right[TAKT_TYPE_TEXT];
    if (takt_type_same(r->g->dims, &now, &got))
        return TAKT_OK;
    return takt_fail(r->it->ctx, TAKT_E_BINDING, "%s %s is %s but was given %s", what, name,
                     takt_type_text(r->g->dims, want, left),
                     takt_type_text(r->g->dims, &got, right));
}

/* Inputs and slots are the caller's arrays: borrowed, not copied. */
static takt_status bind(run *r)
{
    const takt_graph *g = r->g;
    for (size_t i = 0; i < g->input_count; i++) {
        const takt_id id = g->inputs[i].id;
        TAKT_TRY(check_given(r, "input", g->inputs[i].name, takt_type_of(g, id), &r->inputs[i]));
        r->value[id] = (takt_array *)(uintptr_t)&r->inputs[i];
        r->is_borrowed[id] = 1;
    }
    if (g->slot_count > 0 && r->slots == NULL)
        return takt_fail(r->it->ctx, TAKT_E_ARGUMENT, "the graph has %zu slots but no values came",
                         g->slot_count);
    for (size_t i = 0; i < g->slot_count; i++) {
        const takt_id id = g->slots[i].value;
        TAKT_TRY(check_given(r, "state", g->slots[i].name, &g->slots[i].type, &r->slots[i]));
        r->value[id] = (takt_array *)(uintptr_t)&r->slots[i];
        r->is_borrowed[id] = 1;
    }
    return TAKT_OK;
}

static takt_status gather_inputs(run *r, const takt_node *n, takt_array *in)
{
    for (uint32_t i = 0; i < n->in_count; i++) {
        const takt_id id = n->in[i];
        if (id == TAKT_NONE)
            in[i] = (takt_array){.rank = -1};
        else if (r->value[id] == NULL)
            return takt_fail(r->it->ctx, TAKT_E_INTERNAL, "%s: input %u has no value", n->op->name,
                             i);
        else
            in[i] = *r->value[id];
    }
    return TAKT_OK;
}

static takt_status compute(run *r, const takt_node *n, takt_array *out)
{
    takt_ctx *ctx = r->it->ctx;
    if (n->op == &takt_op_constant)
        return takt_array_from_tensor(ctx, n->attr[0].tensor, out);
    if (n->op == &takt_op_get)
        return takt_array_copy(ctx, &r->value[n->in[0]][n->attr[0].i64], out);
    if (n->op == &takt_op_input || n->op == &takt_op_state)
        return takt_fail(ctx, TAKT_E_INTERNAL, "%s: %s is not declared", n->op->name,
                         n->attr[0].string);
    void *block;
    const size_t bytes = n->in_count * sizeof(takt_array);
    TAKT_TRY(takt_mem_get(ctx, bytes, "inputs of a node", &block));
    takt_status status = gather_inputs(r, n, block);
    if (status == TAKT_OK)
        status = takt_interp_node(r->it, r->g, n, TAKT_INTERP_ANY, block, out);
    if (status == TAKT_OK && (n->op->traits & TAKT_SIZES))
        status = takt_interp_found(r->it, r->g, n, out);
    takt_mem_put(ctx, block, bytes);
    return status;
}

static takt_status step(run *r, takt_id id)
{
    const takt_node *n = &r->g->nodes[id];
    void *block;
    if (r->uses[id] == 0 || r->value[id] != NULL)
        return TAKT_OK;                   /* dead, or given */
    if (takt_poll_stops(r->it->run.poll)) /* the caller knows why */
        return takt_fail(r->it->ctx, TAKT_E_CANCELLED, "%s: the run has ended", n->op->name);
    TAKT_TRY(takt_mem_zero(r->it->ctx, n->out_count, sizeof(takt_array), "values", &block));
    r->value[id] = block;
    const takt_status status = compute(r, n, block);
    if (status != TAKT_OK) {
        char name[32];
        snprintf(name, sizeof name, "v%u", id);
        takt_fail_node(r->it->ctx, n->name != NULL ? n->name : name);
        return status;
    }
    for (uint32_t i = 0; i < n->in_count; i++)
        use(r, n->in[i]);
    return TAKT_OK;
}

static takt_status collect(run *r, takt_array *outputs, takt_array *next)
{
    takt_ctx *ctx = r->it->ctx;
    for (size_t i = 0; i < r->g->output_count; i++)
        TAKT_TRY(takt_array_copy(ctx, r->value[r->g->outputs[i].id], &outputs[i]));
    for (size_t i = 0; next != NULL && i < r->g->slot_count; i++) {
        const takt_slot *s = &r->g->slots[i];
        const takt_id id = s->next != TAKT_NONE ? s->next : s->value;
        const takt_array *from = r->value[id] != NULL ? r->value[id] : &r->slots[i];
        TAKT_TRY(takt_array_copy(ctx, from, &next[i]));
    }
    return TAKT_OK;
}

static takt_status run_all(run *r, takt_array *outputs, takt_array *next)
{
    TAKT_TRY(bind(r));
    for (size_t i = 0; i < r->g->count; i++)
        TAKT_TRY(step(r, (takt_id)i));
    return collect(r, outputs, next);
}

static void release_all(takt_ctx *ctx, takt_array *arrays, size_t count)
{
    for (size_t i = 0; arrays != NULL && i < count; i++)
        takt_array_release(ctx, &arrays[i]);
}

static void clear(takt_array *arrays, size_t count)
{
    for (size_t i = 0; arrays != NULL && i < count; i++)
        arrays[i] = (takt_array){0};
}

takt_status takt_interp_run(interp *it, const takt_graph *g, const takt_array *inputs,
                            const takt_array *slots, takt_array *outputs, takt_array *next)
{
    run r;
    clear(outputs, g->output_count);
    clear(next, g->slot_count);
    takt_status status = g->status != TAKT_OK ? g->status : init(&r, it, g);
    if (g->status != TAKT_OK)
        return status;
    r.inputs = inputs;
    r.slots = slots;
    if (status == TAKT_OK)
        status = run_all(&r, outputs, next);
    deinit(&r);
    if (status != TAKT_OK) {
        release_all(it->ctx, outputs, g->output_count);
        release_all(it->ctx, next, g->slot_count);
    }
    return status;
}
