/* batch.c - turns a model of one sample into a model of many: a leading named dimension everywhere.
 *
 * A node none of whose inputs depends on the samples is unchanged. One that has a rule
 * (batch_rules.c) computes all samples at once; any other becomes a scan over them with the node
 * itself as its body. Either way each sample is computed by the same arithmetic as a single one. */
#include "pass/batch.h"

#include <string.h>

#include "op/ops.h"

takt_type takt_batch_type(const takt_batcher *b, const takt_type *type)
{
    takt_type made = {.dtype = type->dtype, .rank = type->rank + 1, .dim = {b->dim}};
    for (int i = 0; i < type->rank && i + 1 < TAKT_MAX_RANK; i++)
        made.dim[i + 1] = type->dim[i];
    return made;
}

/* ---- one by one ---- */

/* The node as the body of a scan: sequences first, then inputs shared by all samples. */
static takt_graph *body_of(const takt_batch_node *x, const size_t *order, size_t count)
{
    takt_batcher *b = x->b;
    takt_graph *g;
    takt_id *inputs = takt_arena_array(&b->arena, x->n->in_count, sizeof *inputs);
    if (inputs == NULL || takt_graph_create(b->in->ctx, b->out, &g) != TAKT_OK)
        return NULL;
    for (uint32_t i = 0; i < x->n->in_count; i++)
        inputs[i] = TAKT_NONE;
    for (size_t i = 0; i < count; i++) {
        const char *name = takt_arena_format(&b->arena, "x%zu", i);
        const takt_type *type = takt_type_of(b->in, x->n->in[order[i]]);
        inputs[order[i]] =
            name != NULL ? takt_graph_input(g, name, type) : takt_graph_fail(g, TAKT_ERR_MEMORY);
    }
    const takt_id id = takt_graph_append(g, x->n->op, x->n->in_count, inputs, x->n->attr);
    for (uint32_t i = 0; i < x->n->out_count; i++) {
        const char *name = takt_arena_format(&b->arena, "y%u", i);
        takt_graph_output(g, name != NULL ? name : "y",
                          x->n->out_count == 1 ? id : takt_graph_get(g, id, i));
    }
    if (g->status == TAKT_OK)
        return g;
    takt_graph_destroy(g);
    return NULL;
}

static takt_id one_by_one(const takt_batch_node *x)
{
    takt_batcher *b = x->b;
    size_t *order = takt_arena_array(&b->arena, x->n->in_count, sizeof *order), count = 0;
    takt_id *inputs = takt_arena_array(&b->arena, x->n->in_count, sizeof *inputs);
    if (order == NULL || inputs == NULL)
        return takt_graph_fail(b->out, TAKT_ERR_MEMORY);
    size_t sequences = 0;
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < x->n->in_count; i++)
            if (x->in[i] != TAKT_NONE && x->many[i] == (round == 0)) {
                inputs[count] = x->in[i];
                order[count++] = i;
                sequences += round == 0;
            }
    takt_graph *body = body_of(x, order, count);
    if (body == NULL)
        return takt_graph_fail(b->out, b->in->ctx->error.status);
    const takt_named_attr attrs[] = {{"body", {.graph = body}},
                                     {"carried", {.i64 = 0}},
                                     {"sequences", {.i64 = (int64_t)sequences}}};
    const takt_id id = takt_graph_call(b->out, &takt_op_scan, count, inputs, 3, attrs);
    takt_graph_destroy(body);
    return id;
}

/* ---- nodes ---- */

static takt_id copy(takt_batcher *b, takt_id id)
{
    const takt_node *n = &b->in->nodes[id];
    takt_id *inputs = takt_arena_array(&b->arena, n->in_count, sizeof *inputs);
    bool *many = takt_arena_array(&b->arena, n->in_count, sizeof *many);
    bool any = false;
    if (inputs == NULL || many == NULL)
        return takt_graph_fail(b->out, TAKT_ERR_MEMORY);
    for (uint32_t i = 0; i < n->in_count; i++) {
        inputs[i] = n->in[i] == TAKT_NONE ? TAKT_NONE : b->map[n->in[i]];
        many[i] = n->in[i] != TAKT_NONE && b->is_many[n->in[i]];
        any = any || many[i];
    }
    b->is_many[id] = any;
    if (!any || n->op == &takt_op_get)
        return takt_graph_copy_node(b->out, n, inputs);
    takt_graph_inherit(b->out, n);
    const takt_batch_node x = {.b = b, .n = n, .in = inputs, .many = many};
    const takt_id made = takt_batch_rule(&x);
    return made != TAKT_NONE || b->out->status != TAKT_OK ? made : one_by_one(&x);
}

/* Outputs of the graph have the dimension even if they do not depend on the samples. */
static takt_id for_all(takt_batcher *b, takt_id id)
{
    const takt_type type = takt_batch_type(b, takt_type_of(b->in, id));
    if (b->is_many[id])
        return b->map[id];
    return takt_broadcast(b->out, b->map[id], type.dim, (size_t)type.rank);
}

/* ---- the graph ---- */

static takt_status check_type(const takt_batcher *b, const char *name, const takt_type *type)
{
    if (type->rank < TAKT_MAX_RANK)
        return TAKT_OK;
    return takt_fail(b->in->ctx, TAKT_E_RANK, "%s has %d dimensions: there is no room for another",
                     name, type->rank);
}

static takt_status declare(takt_batcher *b)
{
    const takt_graph *g = b->in;
    for (size_t i = 0; i < g->input_count; i++) {
        const takt_port *p = &g->inputs[i];
        TAKT_TRY(check_type(b, p->name, takt_type_of(g, p->id)));
        const takt_type type = takt_batch_type(b, takt_type_of(g, p->id));
        takt_graph_inherit(b->out, &g->nodes[p->id]);
        b->map[p->id] = takt_graph_input(b->out, p->name, &type);
        b->is_many[p->id] = 1;
    }
    for (size_t i = 0; i < g->slot_count; i++) {
        const takt_slot *s = &g->slots[i];
        const bool is_many = s->next != TAKT_NONE;
        if (is_many && s->init.kind != TAKT_INIT_CONSTANT)
            return takt_fail(g->ctx, TAKT_E_BATCH,
                             "state %s begins with other values than one number: samples cannot "
                             "each have their own",
                             s->name);
        TAKT_TRY(check_type(b, s->name, &s->type));
        const takt_type type = is_many ? takt_batch_type(b, &s->type) : s->type;
        takt_graph_inherit(b->out, &g->nodes[s->value]);
        b->map[s->value] = takt_graph_slot(b->out, s->name, &type, &s->init, s->is_trainable);
        b->is_many[s->value] = is_many;
    }
    const takt_type active = {.dtype = TAKT_BOOL, .rank = 1, .dim = {b->dim}};
    b->out->origin = NULL;
    b->active = b->wants_active ? takt_graph_input(b->out, "active", &active) : TAKT_NONE;
    return b->out->status;
}

/* Whether the next value is the old one with a part replaced: an inactive sample may write beyond
 * the part in use, since that is never read. */
static bool is_appended(const takt_graph *g, const takt_slot *slot)
{
    const takt_node *n = &g->nodes[slot->next];
    return n->op == &takt_op_update_slice && n->in[0] == slot->value;
}

/* The next value of a slot; inactive samples keep the old one. */
static takt_id next_of(takt_batcher *b, const takt_slot *slot)
{
    takt_graph *g = b->out;
    const takt_id next = for_all(b, slot->next);
    if (b->active == TAKT_NONE || is_appended(b->in, slot) || g->status != TAKT_OK)
        return next;
    const takt_type type = *takt_type_of(g, next);
    takt_dim ones[TAKT_MAX_RANK];
    for (int i = 0; i < type.rank; i++)
        ones[i] = i == 0 ? b->dim : 1;
    const takt_id active = takt_reshape(g, b->active, ones, (size_t)type.rank);
    return takt_select(g, active, next, b->map[slot->value]);
}

static takt_status build(takt_batcher *b)
{
    const takt_graph *g = b->in;
    TAKT_TRY(declare(b));
    for (size_t i = 0; i < g->count && b->out->status == TAKT_OK; i++)
        if (b->map[i] == TAKT_NONE)
            b->map[i] = copy(b, (takt_id)i);
    for (size_t i = 0; i < g->output_count && b->out->status == TAKT_OK; i++)
        takt_graph_output(b->out, g->outputs[i].name, for_all(b, g->outputs[i].id));
    for (size_t i = 0; i < g->slot_count && b->out->status == TAKT_OK; i++)
        if (g->slots[i].next != TAKT_NONE)
            takt_graph_set_next(b->out, g->slots[i].name, next_of(b, &g->slots[i]));
    for (size_t i = 0; i < g->check_count && b->out->status == TAKT_OK; i++) {
        takt_check check = g->checks[i];
        check.id = for_all(b, check.id);
        takt_graph_check(b->out, check);
    }
    return b->out->status;
}

static takt_status fail_taken(takt_ctx *ctx, const char *dim)
{
    takt_fail(ctx, TAKT_E_DUPLICATE, "the model has a dimension called %s already", dim);
    return takt_fail_hint(ctx, "give the new one another name; -D %.60s=8 gives that one its size",
                          dim);
}

static takt_status begin(takt_batcher *b, const char *dim)
{
    const takt_graph *g = b->in;
    for (size_t i = 0; i < takt_dims_name_count(g->dims); i++)
        if (strcmp(takt_dims_name(g->dims, i), dim) == 0)
            return fail_taken(g->ctx, dim);
    b->map = takt_arena_array(&b->arena, g->count, sizeof *b->map);
    b->is_many = takt_arena_array(&b->arena, g->count, 1);
    if (b->map == NULL || b->is_many == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < g->count; i++)
        b->map[i] = TAKT_NONE;
    TAKT_TRY(takt_graph_create(g->ctx, g, &b->out));
    TAKT_TRY(takt_dim_name(b->out->dims, (takt_span){dim, strlen(dim)}, &b->dim));
    return build(b);
}

/* Einsums are resolved as in a plan; ops that only rename elements become the primitives that rules
 * know. */
static bool keeps(void *user, const takt_graph *g, const takt_node *n)
{
    (void)user;
    (void)g;
    return n->op != &takt_op_einsum && n->op != &takt_op_stack && (n->op->traits & TAKT_VIEW) == 0;
}

takt_status takt_graph_batch(const takt_graph *in, const char *dim, bool with_active,
                             takt_graph **out)
{
    takt_graph *plain;
    *out = NULL;
    TAKT_TRY(takt_graph_lower(in, keeps, NULL, &plain));
    takt_batcher b = {.in = plain, .wants_active = with_active};
    takt_arena_init(&b.arena, in->ctx);
    const takt_status status = begin(&b, dim);
    takt_arena_deinit(&b.arena);
    if (status == TAKT_OK)
        *out = b.out;
    else
        takt_graph_destroy(b.out);
    takt_graph_destroy(plain);
    return status;
}
