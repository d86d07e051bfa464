/* facts.c - why a fact of a model's rules holds or does not. */
#include "facts.h"

#include <stdlib.h>
#include <string.h>

#include "run.h"

typedef struct buffer {
    char *at;
    size_t length;
} buffer;

static int keep(void *user, const char *text, size_t length)
{
    buffer *b = user;
    char *more = realloc(b->at, b->length + length + 1);
    if (more == NULL)
        return 1;
    memcpy(more + b->length, text, length);
    b->at = more;
    b->length += length;
    more[b->length] = '\0';
    return 0;
}

static int print_proof(const takt_tool *t, const takt_model *model, takt_session *s)
{
    const char *fact = tool_text_of(t, TAKT_F_FACT);
    takt_derivation *proof;
    if (tool_on(t, TAKT_F_WHY_NOT))
        return tool_finish(
            t, takt_fact_why_not(model, fact, s, tool_format_of(t), tool_to_stdout, NULL));
    const int code = tool_finish(t, takt_fact_prove(model, fact, s, &proof));
    if (code != TAKT_EXIT_OK)
        return code;
    if (proof == NULL) {
        printf(tool_on(t, TAKT_F_JSON) ? "{\"holds\": false, \"steps\": []}\n"
                                       : "%s does not hold: --why-not tells why\n",
               fact);
        return TAKT_EXIT_OK;
    }
    const takt_status status =
        takt_derivation_write(proof, tool_format_of(t), tool_to_stdout, NULL);
    takt_derivation_free(proof);
    return tool_finish(t, status);
}

static int run_session(tool_run *r, takt_session *s)
{
    const int code = tool_bind_inputs(r, s);
    if (code != TAKT_EXIT_OK)
        return code;
    if (takt_session_run(s) != TAKT_OK)
        return tool_report_error(r->t, takt_session_error(s));
    return print_proof(r->t, r->model, s);
}

int tool_explain_fact(takt_tool *t, const takt_model *model)
{
    tool_run r = {.t = t, .model = model};
    buffer outputs = {0};
    tool_request request;
    const char *fact = tool_text_of(t, TAKT_F_FACT);
    int code = tool_finish(t, takt_fact_outputs(model, fact, keep, &outputs));
    if (code == TAKT_EXIT_OK)
        code = tool_load_inputs(&r);
    if (code == TAKT_EXIT_OK)
        code = tool_request_init(t, r.sizes.text, &request);
    if (code == TAKT_EXIT_OK) {
        request.options.outputs = outputs.at;
        takt_plan *plan = tool_request_plan(t, model, &request, &code);
        takt_session *s = plan != NULL ? tool_make_session(t, plan, &code) : NULL;
        if (s != NULL)
            code = run_session(&r, s);
        takt_session_destroy(s);
        takt_plan_destroy(plan);
    }
    free(outputs.at);
    tool_free_inputs(&r);
    return code;
}
