/* session.c - memory for running a plan: creating and freeing it, and the initial state. */
#include "api/session/session.h"

#include <string.h>

#include "api/model.h"
#include "base/mem.h"
#include "base/options.h"
#include "base/size.h"
#include "ir/storage.h"

/* ---- tables ---- */

/* Offsets of the tables in their one block; with `block` NULL only the size is computed. */
static size_t lay_tables(const takt_plan *plan, char *block, takt_session *s)
{
    const takt_graph *g = plan->graph;
    const size_t sizes[] = {
        g->input_count * sizeof *s->input_descs,
        g->output_count * sizeof *s->output_descs,
        g->input_count * sizeof *s->inputs,
        g->output_count * sizeof *s->outputs,
        g->slot_count * sizeof *s->state,
        g->slot_count * sizeof *s->slots,
        plan->form_count * sizeof *s->forms,
        plan->buffer_count * sizeof *s->base,
        g->input_count * sizeof *s->strides,
        (g->input_count + g->output_count) * sizeof *s->port_first,
        plan->buffer_count * sizeof *s->port_next,
    };
    void *at[11];
    size_t total = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        at[i] = block != NULL ? block + total : NULL;
        total += takt_round_up(sizes[i], 16);
    }
    if (block != NULL) {
        s->input_descs = at[0];
        s->output_descs = at[1];
        s->inputs = at[2];
        s->outputs = at[3];
        s->state = at[4];
        s->slots = at[5];
        s->forms = at[6];
        s->base = at[7];
        s->strides = at[8];
        s->port_first = at[9];
        s->port_next = at[10];
    }
    return total > 0 ? total : 1;
}

size_t takt_session_overhead(const takt_plan *plan)
{
    return sizeof(takt_session) + lay_tables(plan, NULL, NULL) + takt_session_range_bytes(plan) +
           takt_session_state_overhead(plan);
}

static takt_status make_port(takt_session *s, const takt_port *from, takt_desc *desc,
                             takt_session_port *port)
{
    const takt_type *type = takt_type_of(s->plan->graph, from->id);
    *desc = (takt_desc){.name = from->name, .dtype = type->dtype, .rank = type->rank};
    for (int d = 0; d < type->rank; d++) {
        takt_dim dim;
        TAKT_TRY(takt_dim_resolve(s->plan->graph->dims, type->dim[d], &dim));
        desc->dims[d] = dim;
    }
    if (!takt_type_bytes(type, &port->bytes))
        return takt_fail(s->ctx, TAKT_E_OVERFLOW, "%s is too large", desc->name);
    size_t most = port->bytes;
    if (s->plan->widest != NULL) /* own memory has room for the largest size */
        (void)takt_type_bytes(takt_type_of(s->plan->widest->graph, from->id), &most);
    most = most < port->bytes ? port->bytes : most;
    port->own_bytes = takt_round_up(most, TAKT_ALIGN);
    port->view = (takt_tensor_view){.dtype = desc->dtype, .rank = desc->rank};
    memcpy(port->view.dims, desc->dims, sizeof desc->dims);
    return TAKT_OK;
}

/* The buffers of every input and output, so that binding one need not search all buffers. */
static void chain_ports(takt_session *s)
{
    const takt_plan *plan = s->plan;
    for (size_t i = 0; i < plan->buffer_count; i++) {
        const takt_buffer *b = &plan->buffers[i];
        if (b->place != TAKT_PLACE_INPUT && b->place != TAKT_PLACE_OUTPUT)
            continue;
        const bool is_output = b->place == TAKT_PLACE_OUTPUT;
        uint32_t *first = &s->port_first[b->index + (is_output ? plan->graph->input_count : 0)];
        s->port_next[i] = *first;
        *first = (uint32_t)i + 1;
    }
}

/* Names stay in the plan's graph, which lives as long as the session. */
static takt_status make_tables(takt_session *s)
{
    const takt_graph *g = s->plan->graph;
    TAKT_TRY(takt_mem_zero(s->ctx, 1, lay_tables(s->plan, NULL, NULL), "session", &s->tables));
    lay_tables(s->plan, s->tables, s);
    chain_ports(s);
    for (size_t i = 0; i < g->input_count; i++)
        TAKT_TRY(make_port(s, &g->inputs[i], &s->input_descs[i], &s->inputs[i]));
    for (size_t i = 0; i < g->output_count; i++)
        TAKT_TRY(make_port(s, &g->outputs[i], &s->output_descs[i], &s->outputs[i]));
    return TAKT_OK;
}

/* False: it has this size already. */
static bool size_port(const takt_session *s, const takt_port *from, takt_desc *desc,
                      takt_session_port *port)
{
    const takt_type *type = takt_type_of(s->plan->graph, from->id);
    const size_t bytes = (size_t)type->rank * sizeof *desc->dims;
    if (memcmp(desc->dims, type->dim, bytes) == 0 && memcmp(port->view.dims, type->dim, bytes) == 0)
        return false;
    memcpy(desc->dims, type->dim, bytes);
    memcpy(port->view.dims, type->dim, bytes);
    (void)takt_type_bytes(type, &port->bytes); /* at most what it is at the largest size */
    return true;
}

void takt_session_resized(takt_session *s)
{
    const takt_graph *g = s->plan->graph;
    for (size_t i = 0; i < g->input_count; i++)
        if (size_port(s, &g->inputs[i], &s->input_descs[i], &s->inputs[i]) && s->range->is_own[i])
            memset(s->inputs[i].own, 0, s->inputs[i].bytes);
    for (size_t i = 0; i < g->output_count; i++)
        (void)size_port(s, &g->outputs[i], &s->output_descs[i], &s->outputs[i]);
}

/* ---- memory ---- */

void takt_session_set_base(takt_session *s, takt_place_kind place, size_t index, void *data)
{
    const size_t port = index + (place == TAKT_PLACE_OUTPUT ? s->plan->graph->input_count : 0);
    for (uint32_t i = s->port_first[port]; i != 0; i = s->port_next[i - 1])
        s->base[i - 1] = data;
}

static void set_bases(takt_session *s)
{
    const takt_plan *plan = s->plan;
    for (size_t i = 0; i < plan->buffer_count; i++) {
        const takt_buffer *b = &plan->buffers[i];
        if (b->place == TAKT_PLACE_ARENA)
            s->base[i] = (b->space == TAKT_HOST ? s->arena : s->away[b->space].arena) + b->offset;
        else if (b->place == TAKT_PLACE_CONSTANT && plan->constants[b->index].storage != NULL)
            s->base[i] = takt_tensor_data(&plan->constants[b->index]);
        else if (b->place == TAKT_PLACE_FORM)
            s->base[i] =
                (char *)takt_storage_data(s->forms[b->index]->storage) + s->forms[b->index]->offset;
        else if (b->place == TAKT_PLACE_STATE)
            s->base[i] = takt_tensor_data(&s->state[b->index]);
        else if (b->place == TAKT_PLACE_NEXT)
            s->base[i] = takt_tensor_data(takt_session_spare(s, b->index));
    }
}

/* ---- the whole ---- */

typedef struct state_part {
    const takt_session *of; /* NULL: the state is not part of another's */
    size_t row;
    takt_given_state given;
} state_part;

static takt_status make_session(takt_session *s, const takt_session_options *options,
                                const state_part *part)
{
    if (s->plan->is_dry)
        return takt_fail(s->ctx, TAKT_E_STATE, "the plan is dry: it only tells sizes");
    TAKT_TRY(make_tables(s));
    TAKT_TRY(part->of != NULL            ? takt_session_get_part(s, part->of, part->row)
             : part->given.slots != NULL ? takt_session_get_given(s, part->given)
                                         : takt_session_get_state(s, options->state_of));
    TAKT_TRY(takt_session_get_arena(s, options));
    TAKT_TRY(takt_session_get_spaces(s));
    set_bases(s);
    TAKT_TRY(takt_session_open_parts(s));
    if (options->stream != NULL)
        TAKT_TRY(takt_session_set_stream(s, options->stream));
    TAKT_TRY(takt_session_make_range(s));
    s->static_shapes = options->static_shapes;
    s->wants_pages = options->huge_pages;
    TAKT_TRY(takt_session_get_pool(s, options));
    return options->checked != NULL
               ? takt_session_add_checker(s, options->checked, options->check_every)
               : TAKT_OK;
}

static takt_status create(takt_plan *plan, const takt_session_options *options,
                          const state_part *part, takt_session **session)
{
    TAKT_NEED(NULL, session);
    takt_session_options o;
    *session = NULL;
    void *block;
    if (plan == NULL)
        return TAKT_ERR_ARGUMENT;
    TAKT_TRY(takt_options_read(plan->ctx, "takt_session_options", options, &o, sizeof o));
    TAKT_TRY(takt_mem_zero(plan->ctx, 1, sizeof(takt_session), "session", &block));
    takt_session *s = block;
    s->ctx = plan->ctx;
    s->plan = plan;
    s->error.offset = -1;
    takt_plan_retain_internal(plan);
    const takt_status status = make_session(s, &o, part);
    if (status != TAKT_OK) {
        takt_session_destroy(s);
        return status;
    }
    *session = s;
    return TAKT_OK;
}

takt_status takt_session_create(takt_plan *plan, const takt_session_options *options,
                                takt_session **session)
{
    return create(plan, options, &(state_part){.of = NULL}, session);
}

takt_status takt_session_create_part(takt_plan *plan, const takt_session_options *options,
                                     const takt_session *of, size_t row, takt_session **session)
{
    return create(plan, options, &(state_part){.of = of, .row = row}, session);
}

takt_status takt_session_create_given(takt_plan *plan, const takt_session_options *options,
                                      takt_given_state given, takt_session **session)
{
    return create(plan, options, &(state_part){.given = given}, session);
}

static void free_port(takt_session *s, takt_session_port *port)
{
    if (port->own_bytes > 0 && !port->is_in_arena)
        takt_mem_put(s->ctx, port->own, port->own_bytes);
}

void takt_session_destroy(takt_session *s)
{
    if (s == NULL)
        return;
    const takt_graph *g = s->plan->graph;
    takt_runner_end(s);
    if (takt_session_finish(s) != TAKT_OK)
        s->error.id = 0;              /* no one is left to report it to */
    takt_session_destroy(s->checker); /* has none itself */
    if (s->owns_pool)
        takt_pool_destroy(s->pool);
    for (size_t i = 0; s->tables != NULL && i < g->input_count; i++)
        free_port(s, &s->inputs[i]);
    for (size_t i = 0; s->tables != NULL && i < g->output_count; i++)
        free_port(s, &s->outputs[i]);
    takt_session_put_state(s);
    takt_session_put_spaces(s);
    takt_session_put_arena(s);
    takt_session_put_range(s);
    takt_mem_put(s->ctx, s->tables, lay_tables(s->plan, NULL, NULL));
    takt_plan_release_internal(s->plan);
    takt_mem_put(s->ctx, s, sizeof *s);
}

takt_status takt_pool_open(takt_ctx *ctx, int threads, takt_pool **pool)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, pool);
    return takt_pool_create(ctx, threads, NULL, pool);
}

void takt_pool_close(takt_pool *pool)
{
    takt_pool_destroy(pool);
}
