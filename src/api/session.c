/* session.c - memory and bindings for running a plan. */
#include "api/session.h"

#include <string.h>

#include "api/model.h"
#include "base/mem.h"
#include "base/size.h"

/* ---- making one ---- */

static takt_status get_block(takt_session *s, size_t bytes, const char *what, void **block)
{
    return takt_mem_get(s->ctx, bytes, what, block);
}

static takt_status make_port(takt_session *s, const takt_desc *desc, takt_session_port *port)
{
    takt_type type = {.dtype = desc->dtype, .rank = desc->rank};
    memcpy(type.dim, desc->dims, sizeof desc->dims);
    if (!takt_type_bytes(&type, &port->bytes))
        return takt_fail(s->ctx, TAKT_E_OVERFLOW, "%s is too large", desc->name);
    port->view = (takt_tensor_view){.dtype = desc->dtype, .rank = desc->rank};
    memcpy(port->view.dims, desc->dims, sizeof desc->dims);
    return TAKT_OK;
}

static takt_status make_ports(takt_session *s)
{
    const takt_graph *g = s->plan->graph;
    TAKT_TRY(takt_describe_ports(&s->arena_facts, g, g->inputs, g->input_count, &s->input_descs));
    TAKT_TRY(
        takt_describe_ports(&s->arena_facts, g, g->outputs, g->output_count, &s->output_descs));
    s->inputs = takt_arena_array(&s->arena_facts, g->input_count, sizeof *s->inputs);
    s->outputs = takt_arena_array(&s->arena_facts, g->output_count, sizeof *s->outputs);
    s->base = takt_arena_array(&s->arena_facts, s->plan->buffer_count, sizeof *s->base);
    s->state = takt_arena_array(&s->arena_facts, g->slot_count, sizeof *s->state);
    if (s->inputs == NULL || s->outputs == NULL || s->base == NULL || s->state == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < g->input_count; i++)
        TAKT_TRY(make_port(s, &s->input_descs[i], &s->inputs[i]));
    for (size_t i = 0; i < g->output_count; i++)
        TAKT_TRY(make_port(s, &s->output_descs[i], &s->outputs[i]));
    return TAKT_OK;
}

static takt_status make_state(takt_session *s)
{
    for (size_t i = 0; i < s->plan->graph->slot_count; i++)
        TAKT_TRY(takt_tensor_create(s->ctx, &s->plan->graph->slots[i].type, &s->state[i]));
    takt_session_reset(s);
    return TAKT_OK;
}

static void set_base(takt_session *s, takt_place_kind place, size_t index, void *data)
{
    for (size_t i = 0; i < s->plan->buffer_count; i++)
        if (s->plan->buffers[i].place == place && s->plan->buffers[i].index == index)
            s->base[i] = data;
}

static void set_bases(takt_session *s)
{
    const takt_plan *plan = s->plan;
    for (size_t i = 0; i < plan->buffer_count; i++) {
        const takt_buffer *b = &plan->buffers[i];
        if (b->place == TAKT_PLACE_ARENA)
            s->base[i] = s->arena + b->offset;
        else if (b->place == TAKT_PLACE_CONSTANT && plan->constants[b->index].storage != NULL)
            s->base[i] = takt_tensor_data(&plan->constants[b->index]);
        else if (b->place == TAKT_PLACE_STATE)
            s->base[i] = takt_tensor_data(&s->state[b->index]);
    }
}

static takt_status make_arena(takt_session *s, const takt_session_options *options)
{
    if (options->arena == NULL) {
        void *block;
        TAKT_TRY(get_block(s, s->plan->arena_bytes, "arena", &block));
        s->arena = block;
        s->owns_arena = true;
        return TAKT_OK;
    }
    if (options->arena_bytes < s->plan->arena_bytes || (uintptr_t)options->arena % TAKT_ALIGN != 0)
        return takt_fail(s->ctx, TAKT_E_BINDING, "the arena has %llu bytes%s; the plan needs %zu",
                         (unsigned long long)options->arena_bytes,
                         (uintptr_t)options->arena % TAKT_ALIGN != 0 ? " and is not 64-byte aligned"
                                                                     : "",
                         s->plan->arena_bytes);
    s->arena = options->arena;
    return TAKT_OK;
}

static takt_status make_session(takt_session *s, const takt_session_options *options)
{
    if (s->plan->is_dry)
        return takt_fail(s->ctx, TAKT_E_STATE, "the plan is dry: it only tells sizes");
    TAKT_TRY(make_ports(s));
    TAKT_TRY(make_state(s));
    TAKT_TRY(make_arena(s, options));
    set_bases(s);
    s->pool = options->pool;
    if (s->pool == NULL && s->plan->threads > 1 && s->plan->is_parallel) {
        TAKT_TRY(takt_pool_create(s->ctx, s->plan->threads, NULL, &s->pool));
        s->owns_pool = true;
    }
    return TAKT_OK;
}

takt_status takt_session_create(takt_plan *plan, const takt_session_options *options,
                                takt_session **session)
{
    static const takt_session_options defaults = {0};
    *session = NULL;
    void *block;
    TAKT_TRY(takt_mem_zero(plan->ctx, 1, sizeof(takt_session), "session", &block));
    takt_session *s = block;
    s->ctx = plan->ctx;
    s->plan = plan;
    takt_plan_retain_internal(plan);
    takt_arena_init(&s->arena_facts, s->ctx);
    const takt_status status = make_session(s, options != NULL ? options : &defaults);
    if (status != TAKT_OK) {
        takt_session_destroy(s);
        return status;
    }
    *session = s;
    return TAKT_OK;
}

static void free_port(takt_session *s, takt_session_port *port)
{
    takt_mem_put(s->ctx, port->own, port->own != NULL ? port->bytes : 0);
}

void takt_session_destroy(takt_session *s)
{
    if (s == NULL)
        return;
    const takt_graph *g = s->plan->graph;
    if (s->owns_pool)
        takt_pool_destroy(s->pool);
    for (size_t i = 0; s->inputs != NULL && i < g->input_count; i++)
        free_port(s, &s->inputs[i]);
    for (size_t i = 0; s->outputs != NULL && i < g->output_count; i++)
        free_port(s, &s->outputs[i]);
    for (size_t i = 0; s->state != NULL && i < g->slot_count; i++)
        takt_tensor_release(&s->state[i]);
    if (s->owns_arena)
        takt_mem_put(s->ctx, s->arena, s->plan->arena_bytes);
    takt_arena_deinit(&s->arena_facts);
    takt_plan_release_internal(s->plan);
    takt_mem_put(s->ctx, s, sizeof *s);
}

void takt_session_reset(takt_session *s)
{
    for (size_t i = 0; i < s->plan->graph->slot_count; i++) {
        const takt_tensor *from = &s->plan->initial[i];
        if (from->storage != NULL)
            memcpy(takt_tensor_data(&s->state[i]), takt_tensor_data(from), takt_tensor_bytes(from));
    }
}

/* ---- bindings ---- */

static takt_status refuse(takt_session *s, const char *name, const char *what)
{
    return takt_error_set(&s->error, TAKT_E_BINDING, "%s: %s", name, what);
}

static takt_status check_view(takt_session *s, const takt_desc *d, const takt_tensor_view *v)
{
    if (v->dtype != d->dtype)
        return takt_error_set(&s->error, TAKT_E_BINDING, "%s is %s, the buffer is %s", d->name,
                              takt_dtype_name(d->dtype), takt_dtype_name(v->dtype));
    if (v->rank != d->rank)
        return takt_error_set(&s->error, TAKT_E_BINDING, "%s has %d dimensions, the buffer has %d",
                              d->name, d->rank, v->rank);
    int64_t dense = 1;
    for (int i = d->rank - 1; i >= 0; i--) {
        if (v->dims[i] != d->dims[i])
            return takt_error_set(&s->error, TAKT_E_BINDING,
                                  "%s: dimension %d is %lld, the buffer has %lld", d->name, i,
                                  (long long)d->dims[i], (long long)v->dims[i]);
        if (v->strides[i] != 0 && v->strides[i] != dense && d->dims[i] != 1)
            return refuse(s, d->name, "the buffer is not dense row-major");
        dense *= d->dims[i];
    }
    return TAKT_OK;
}

static int find(const takt_desc *descs, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(descs[i].name, name) == 0)
            return (int)i;
    return -1;
}

takt_status takt_session_bind(takt_session *s, const char *name, const takt_tensor_view *view)
{
    const takt_graph *g = s->plan->graph;
    int index = find(s->input_descs, g->input_count, name);
    const bool is_input = index >= 0;
    if (!is_input)
        index = find(s->output_descs, g->output_count, name);
    if (index < 0)
        return takt_error_set(&s->error, TAKT_E_NAME, "the model has no input or output called %s",
                              name);
    takt_session_port *port = is_input ? &s->inputs[index] : &s->outputs[index];
    if (view->data != NULL)
        TAKT_TRY(check_view(s, is_input ? &s->input_descs[index] : &s->output_descs[index], view));
    port->view.data = view->data != NULL ? view->data : port->own;
    set_base(s, is_input ? TAKT_PLACE_INPUT : TAKT_PLACE_OUTPUT, (size_t)index, port->view.data);
    return TAKT_OK;
}

/* The session's own memory for a port, made when first asked for. */
static takt_status own_memory(takt_session *s, takt_place_kind place, takt_session_port *port,
                              size_t index)
{
    if (port->view.data != NULL)
        return TAKT_OK;
    TAKT_TRY(get_block(s, port->bytes, "input or output", &port->own));
    memset(port->own, 0, port->bytes);
    port->view.data = port->own;
    set_base(s, place, index, port->own);
    return TAKT_OK;
}

const takt_tensor_view *takt_session_input(takt_session *s, size_t index)
{
    if (index >= s->plan->graph->input_count ||
        own_memory(s, TAKT_PLACE_INPUT, &s->inputs[index], index) != TAKT_OK)
        return NULL;
    return &s->inputs[index].view;
}

const takt_tensor_view *takt_session_output(takt_session *s, size_t index)
{
    if (index >= s->plan->graph->output_count ||
        own_memory(s, TAKT_PLACE_OUTPUT, &s->outputs[index], index) != TAKT_OK)
        return NULL;
    return &s->outputs[index].view;
}

size_t takt_session_input_count(const takt_session *s)
{
    return s->plan->graph->input_count;
}

size_t takt_session_output_count(const takt_session *s)
{
    return s->plan->graph->output_count;
}

const takt_desc *takt_session_input_desc(const takt_session *s, size_t index)
{
    return index < s->plan->graph->input_count ? &s->input_descs[index] : NULL;
}

const takt_desc *takt_session_output_desc(const takt_session *s, size_t index)
{
    return index < s->plan->graph->output_count ? &s->output_descs[index] : NULL;
}

/* ---- running ---- */

static takt_status ready(takt_session *s)
{
    const takt_graph *g = s->plan->graph;
    for (size_t i = 0; i < g->input_count; i++)
        if (s->inputs[i].view.data == NULL)
            return takt_error_set(&s->error, TAKT_E_STATE,
                                  "input %s has no data: bind a buffer to it",
                                  s->input_descs[i].name);
    for (size_t i = 0; i < g->output_count; i++)
        TAKT_TRY(own_memory(s, TAKT_PLACE_OUTPUT, &s->outputs[i], i));
    return TAKT_OK;
}

static takt_status run(takt_session *s, uint64_t deadline_ns)
{
    TAKT_TRY(ready(s));
    const takt_execution x = {.plan = s->plan,
                              .base = s->base,
                              .arena = s->arena,
                              .pool = s->pool,
                              .fault = &s->fault,
                              .error = &s->error,
                              .cancel = &s->cancel,
                              .deadline_ns = deadline_ns,
                              .watch = s->watch};
    const takt_status status = takt_execute(&x);
    atomic_store(&s->cancel, false);
    return status;
}

takt_status takt_session_run(takt_session *s)
{
    return run(s, 0);
}

takt_status takt_session_run_deadline(takt_session *s, uint64_t budget_ns)
{
    const uint64_t now = s->ctx->now_ns(s->ctx->clock_user);
    return run(s, now > UINT64_MAX - budget_ns ? UINT64_MAX : now + budget_ns);
}

void takt_session_cancel(takt_session *s)
{
    atomic_store(&s->cancel, true);
}

const takt_error *takt_session_error(const takt_session *s)
{
    return &s->error;
}

takt_status takt_pool_open(takt_ctx *ctx, int threads, takt_pool **pool)
{
    return takt_pool_create(ctx, threads, NULL, pool);
}

void takt_pool_close(takt_pool *pool)
{
    takt_pool_destroy(pool);
}
