/* plan_flags.c - the flags that say how to plan, the same for every verb that plans or runs. */
#include <stdlib.h>

#include "tool.h"

int tool_request_init(takt_tool *t, const char *sizes, tool_request *r)
{
    const int level = (int)tool_number_of(t, TAKT_F_LEVEL, 2);
    char *simd = tool_joined(t, TAKT_F_SIMD);
    r->passes = tool_joined(t, TAKT_F_PASS);
    r->options = (takt_plan_options){
        .size = sizeof r->options,
        .sizes = sizes,
        .threads = (int)tool_number_of(t, TAKT_F_THREADS, 0),
        .backend = tool_text_of(t, TAKT_F_BACKEND),
        .blas = tool_text_of(t, TAKT_F_BLAS),
        .isa = tool_text_of(t, TAKT_F_ISA),
        .passes = r->passes,
        .memory_limit = tool_number_of(t, TAKT_F_MEMORY_LIMIT, 0),
    };
    takt_status status = takt_opts_level(&r->options, level);
    if (status == TAKT_OK)
        status = takt_opts_simd_words(t->ctx, &r->options, simd);
    free(simd);
    const int code = tool_finish(t, status);
    if (code != TAKT_EXIT_OK)
        tool_request_free(r);
    return code;
}

void tool_request_free(tool_request *r)
{
    free(r->passes);
    r->passes = NULL;
}

takt_plan *tool_request_plan(takt_tool *t, const takt_model *m, tool_request *r, int *code)
{
    takt_plan *plan = NULL;
    *code = tool_finish(t, takt_plan_create(m, &r->options, &plan));
    tool_request_free(r);
    return plan;
}

takt_plan *tool_make_plan(takt_tool *t, const takt_model *m, const tool_sizes *sizes, bool dry,
                          int *code)
{
    tool_request r;
    *code = tool_request_init(t, sizes->text, &r);
    if (*code != TAKT_EXIT_OK)
        return NULL;
    r.options.dry = dry;
    return tool_request_plan(t, m, &r, code);
}
