/* plan.c - the steps of a plan and its memory, before anything runs. */
#include "run.h"
#include "text.h"

/* Describes the plan with the files of -i bound, without copying them first. */
static int describe_bound(const tool_run *r, takt_plan *plan)
{
    takt_session *s;
    int code = tool_finish(r->t, takt_session_create(plan, NULL, &s));
    for (size_t i = 0; code == TAKT_EXIT_OK && i < r->input_count; i++)
        if (r->inputs[i].data != NULL &&
            takt_session_bind(s, r->names[i], &r->inputs[i]) != TAKT_OK)
            code = tool_report_error(r->t, takt_session_error(s));
    if (code == TAKT_EXIT_OK)
        code =
            tool_finish(r->t, takt_session_describe(s, tool_format_of(r->t), tool_to_screen, r->t));
    takt_session_destroy(s);
    return code;
}

static bool is_picture(const takt_tool *t)
{
    return tool_on(t, TAKT_F_SVG) || tool_on(t, TAKT_F_GRAPH);
}

static int describe(tool_run *r)
{
    takt_tool *t = r->t;
    const takt_format format = tool_format_of(t);
    const bool is_bound = tool_item_of(t, TAKT_F_INPUT, 0) != NULL;
    int code = TAKT_EXIT_OK;
    /* The compiled rules, then the steps; JSON has only the plan, `takt query` the rules. */
    if (!is_picture(t) && !is_bound && format == TAKT_FORMAT_TEXT)
        code = tool_finish(t, takt_model_rules(r->model, format, tool_to_screen, t));
    takt_plan *plan = code == TAKT_EXIT_OK ? tool_take_plan(r, &code) : NULL;
    if (plan == NULL)
        return code;
    if (tool_on(t, TAKT_F_SVG))
        code = tool_finish(t, takt_plan_draw(plan, tool_to_stdout, NULL));
    else if (tool_on(t, TAKT_F_GRAPH))
        code = tool_finish(t, takt_plan_draw_graph(plan, tool_to_stdout, NULL));
    else if (is_bound)
        code = describe_bound(r, plan);
    else
        code = tool_finish(t, takt_plan_describe(plan, format, tool_to_screen, t));
    if (code == TAKT_EXIT_OK && !is_picture(t) && format == TAKT_FORMAT_TEXT)
        tool_print_process(t);
    takt_plan_destroy(plan);
    return code;
}

/* TAKT_PARALLEL and a configuration also serve takt serve: they do not decide what is printed about
 * a model, which may not be a language model. */
static bool asks_server(const takt_tool *t)
{
    for (size_t i = 0; i < t->value_count; i++) {
        const tool_value *v = &t->values[i];
        if (v->from == TAKT_FROM_FLAG && (v->id == TAKT_F_PARALLEL || v->id == TAKT_F_KV_POOL) &&
            tool_number_of(t, v->id, 0) > 0)
            return true;
    }
    return false;
}

/* With --parallel or --kv-pool: the memory of takt serve. */
static int plan_server(takt_tool *t)
{
    static const tool_flag_id others[] = {TAKT_F_SVG, TAKT_F_GRAPH, TAKT_F_TRAIN,
                                          TAKT_F_DIM, TAKT_F_SHAPE, TAKT_F_INPUT};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (i < 3 ? tool_on(t, others[i]) : tool_item_of(t, others[i], 0) != NULL)
            return tool_usage_error(t, 1003, "leave it out, or --parallel and --kv-pool",
                                    "--%s is not for the memory of a server",
                                    tool_flags[others[i]].name);
    const takt_server_options how = {.size = sizeof how,
                                     .parallel = (int)tool_number_of(t, TAKT_F_PARALLEL, 0),
                                     .pool_bytes = tool_number_of(t, TAKT_F_KV_POOL, 0),
                                     .text = tool_text_options(t)};
    takt_server_memory memory;
    const int code =
        tool_finish(t, takt_server_plan(t->ctx, tool_readable(t->args[0]), &how, &memory));
    if (code == TAKT_EXIT_OK)
        tool_print_server(&memory, tool_on(t, TAKT_F_JSON));
    return code;
}

static int run(takt_tool *t)
{
    int code;
    if (tool_on(t, TAKT_F_SVG) && tool_on(t, TAKT_F_GRAPH))
        return tool_usage_error(t, 1003, "leave one of them out",
                                "--svg and --graph are two pictures");
    if (is_picture(t) && tool_on(t, TAKT_F_JSON))
        return tool_usage_error(t, 1003, "leave one of them out", "a picture of --%s is not JSON",
                                tool_on(t, TAKT_F_SVG) ? "svg" : "graph");
    if (asks_server(t))
        return plan_server(t);
    takt_model *model = tool_open_model(t, &code);
    if (model == NULL)
        return code;
    tool_run r = {.t = t, .model = model, .may_lack = true};
    code = tool_load_inputs(&r);
    if (code == TAKT_EXIT_OK)
        code = describe(&r);
    tool_free_inputs(&r);
    tool_drop_model(&r);
    return code;
}

const takt_verb takt_verb_plan = {
    .name = "plan",
    .task = TAKT_TASK_RUN,
    .is_main = true,
    .summary = "show steps in order and memory to the byte, before a run",
    .arguments = "MODEL",
    .arg_min = 1,
    .arg_max = 1,
    .about =
        "--graph prints an SVG picture of the steps; --svg one of the memory, with steps from\n"
        "left to right and bytes of the arena from bottom to top.\n"
        "With --parallel or --kv-pool, prints the memory that takt serve would need.\n"
        "With -i, shows how a session reads the files: an .npy in Fortran order is read in\n"
        "place, or costs a copy.",
    .example = "takt plan -D batch=32 --graph examples/cnn.takt > cnn.svg",
    .often = (const tool_flag_id[]){TAKT_F_DIM, TAKT_F_SHAPE, TAKT_F_THREADS, TAKT_F_BACKEND,
                                    TAKT_F_LEVEL, TAKT_F_MEMORY_LIMIT, TAKT_F_TRAIN, TAKT_F_GRAPH,
                                    TAKT_F_SVG, TAKT_FLAG_IDS},
    .flags = {TAKT_F_MODEL,         TAKT_F_SELECT,       TAKT_F_WEIGHTS,
              TAKT_F_ALLOW_LINKS,   TAKT_F_DENSE_LIMIT,  TAKT_F_MMAP,
              TAKT_F_INPUT,         TAKT_F_SHAPE,        TAKT_F_DIM,
              TAKT_F_TEXT_CONTEXT,  TAKT_F_CACHE_TYPE_K, TAKT_F_CACHE_TYPE_V,
              TAKT_F_PARALLEL,      TAKT_F_TEXT_BATCH,   TAKT_F_TEXT_UBATCH,
              TAKT_F_THREADS_BATCH, TAKT_F_ACTIVATIONS,  TAKT_F_KV_POOL,
              TAKT_F_SVG,           TAKT_F_GRAPH,        TAKT_F_THREADS,
              TOOL_PLAN_FLAGS,      TAKT_F_DONATE,       TAKT_F_CPU_MASK,
              TAKT_F_TRAIN,         TAKT_F_OPTIMIZER,    TAKT_F_LOSS,
              TAKT_F_AMP,           TAKT_F_TRADEOFF,     TAKT_F_ACTIVATION_LIMIT,
              TAKT_F_STATE_AUTO,    TAKT_FLAG_IDS},
    .run = run,
};
