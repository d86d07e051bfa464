/* program.c - a graph built here, planned and ready to run. */
#include "verify/program.h"

#include "api/model.h"
#include "api/opts.h"
#include "api/session/session.h"
#include "base/mem.h"

takt_status takt_program_graph(const takt_model *m, const takt_plan_options *options,
                               takt_graph **g)
{
    takt_plan_settings settings = {0};
    takt_arena arena;
    takt_size_range *ranges;
    size_t count;
    *g = NULL;
    TAKT_TRY(takt_plan_settle(m, options, &settings));
    takt_arena_init(&arena, m->ctx);
    takt_status status = takt_plan_ranges(m, options, &arena, &ranges, &count);
    int64_t *sizes = status == TAKT_OK ? takt_arena_array(&arena, count, sizeof *sizes) : NULL;
    if (status == TAKT_OK && sizes == NULL)
        status = TAKT_ERR_MEMORY;
    for (size_t i = 0; status == TAKT_OK && i < count; i++)
        sizes[i] = ranges[i].top;
    if (status == TAKT_OK)
        status = takt_plan_stages(
            &(takt_plan_request){.model = m, .options = options, .settings = &settings}, sizes,
            count, g);
    takt_arena_deinit(&arena);
    return status;
}

takt_status takt_program_model(takt_graph *graph, takt_model **model)
{
    void *block = NULL;
    takt_ctx *ctx = graph->ctx;
    takt_status status = graph->status;
    *model = NULL;
    if (status == TAKT_OK)
        status = takt_mem_zero(ctx, 1, sizeof(takt_model), "model", &block);
    if (status != TAKT_OK) {
        takt_graph_destroy(graph);
        return status;
    }
    takt_model *m = block;
    m->ctx = ctx;
    m->graph = graph;
    takt_arena_init(&m->arena, ctx);
    status = takt_describe_ports(&m->arena, graph, graph->inputs, graph->input_count, &m->inputs);
    if (status == TAKT_OK)
        status =
            takt_describe_ports(&m->arena, graph, graph->outputs, graph->output_count, &m->outputs);
    if (status == TAKT_OK)
        *model = m;
    else
        takt_model_destroy(m);
    return status;
}

takt_status takt_program_init(takt_graph *graph, int threads, takt_program *p)
{
    takt_model *model = NULL;
    *p = (takt_program){0};
    const takt_plan_options options = {
        .passes = "-licensed", .threads = threads, .checks = "off", .backend = "cpu"};
    if (graph->name == NULL)
        graph->name = "bounds";
    takt_status status = takt_program_model(graph, &model);
    if (status == TAKT_OK)
        status = takt_plan_create(model, &options, &p->plan);
    if (status == TAKT_OK)
        status = takt_session_create(p->plan, NULL, &p->session);
    takt_model_destroy(model);
    if (status != TAKT_OK)
        takt_program_deinit(p);
    return status;
}

void takt_program_deinit(takt_program *p)
{
    takt_session_destroy(p->session);
    takt_plan_destroy(p->plan);
    *p = (takt_program){0};
}

void *takt_program_input(takt_program *p, size_t index)
{
    const takt_tensor_view *v = takt_session_input(p->session, index);
    return v != NULL ? v->data : NULL;
}

const double *takt_program_output(takt_program *p, size_t index)
{
    const takt_tensor_view *v = takt_session_output(p->session, index);
    return v != NULL ? v->data : NULL;
}

takt_status takt_program_run(takt_program *p)
{
    const takt_status status = takt_session_run(p->session);
    if (status != TAKT_OK)
        p->session->ctx->error = p->session->error;
    return status;
}
