/* run_memory.c - plans that take over their models, and the memory of the process. */
#include <math.h>

#include "run.h"

/* Outputs are looked up and saved by the model, deviations measured with another plan of it. */
static bool needs_model(const takt_tool *t)
{
    uint64_t every = 0;
    const char *word;
    return tool_item_of(t, TAKT_F_OUTPUT, 0) != NULL || tool_deviates(t) ||
           tool_text_of(t, TAKT_F_PREPARE) != NULL || tool_on(t, TAKT_F_STATIC_SHAPES) ||
           !tool_checks(t, &word, &every) || every > 0;
}

takt_plan *tool_take_plan(tool_run *r, int *code)
{
    takt_tool *t = r->t;
    tool_request request;
    takt_plan *plan = NULL;
    if (needs_model(t))
        return tool_make_plan(t, r->model, &r->sizes, false, code);
    *code = tool_request_init(t, r->sizes.text, &request);
    if (*code != TAKT_EXIT_OK)
        return NULL;
    takt_model *model = (takt_model *)(uintptr_t)r->model; /* the verb opened it for itself */
    r->model = NULL;
    *code = tool_finish(t, takt_plan_take(model, &request.options, &plan));
    tool_request_free(&request);
    return plan;
}

void tool_drop_model(tool_run *r)
{
    takt_model_destroy((takt_model *)(uintptr_t)r->model);
    r->model = NULL;
}

void tool_print_process(const takt_tool *t)
{
    takt_usage usage;
    takt_resource_usage(t->ctx, &usage);
    const uint64_t most = usage.resident_peak_bytes;
    const uint64_t ours = usage.peak_bytes < most ? usage.peak_bytes : most;
    if (tool_on(t, TAKT_F_QUIET) || most == 0)
        return;
    printf("process: peak %.0f MB resident, %.0f MB of it allocated by Takt; the rest is code, "
           "libraries, stacks and files\n",
           ceil((double)most / 1e6), ceil((double)ours / 1e6));
}
