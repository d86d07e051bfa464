/* query.c - the tuples of a relation that match a query, or a list of the relations. */
#include <stdlib.h>
#include <string.h>

#include "run.h"

static takt_format format_of(const takt_tool *t)
{
    const char *kind = tool_text_of(t, TAKT_F_ANSWER_FORMAT);
    return kind != NULL && strcmp(kind, "json") == 0 ? TAKT_FORMAT_JSON : tool_format_of(t);
}

static int ask(tool_run *r, takt_session *s)
{
    const takt_query_options options = {.size = sizeof options,
                                        .limit = (size_t)tool_number_of(r->t, TAKT_F_LIMIT, 0),
                                        .format = format_of(r->t)};
    int code = tool_bind_inputs(r, s);
    if (code != TAKT_EXIT_OK)
        return code;
    if (takt_session_run(s) != TAKT_OK)
        return tool_report_error(r->t, takt_session_error(s));
    tool_notes_begin(r->t);
    const takt_status status = takt_query(r->model, r->t->args[1], takt_session_output(s, 0),
                                          &options, tool_to_stdout, NULL);
    tool_notes_end(r->t, status == TAKT_OK);
    return tool_finish(r->t, status);
}

/* Only the part that the relation needs is computed. */
static int answer(tool_run *r)
{
    char name[256];
    tool_request request;
    int code = tool_finish(r->t, takt_query_relation(r->model, r->t->args[1], name, sizeof name));
    if (code == TAKT_EXIT_OK)
        code = tool_load_inputs(r);
    if (code == TAKT_EXIT_OK)
        code = tool_request_init(r->t, r->sizes.text, &request);
    if (code != TAKT_EXIT_OK)
        return code;
    request.options.outputs = name;
    takt_plan *plan = tool_request_plan(r->t, r->model, &request, &code);
    takt_session *s = plan != NULL ? tool_make_session(r->t, plan, &code) : NULL;
    if (s != NULL)
        code = ask(r, s);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    return code;
}

static int run(takt_tool *t)
{
    int code;
    const char *kind = tool_text_of(t, TAKT_F_ANSWER_FORMAT);
    if (kind != NULL && strcmp(kind, "tsv") != 0 && strcmp(kind, "json") != 0)
        return tool_usage_error(t, 1003, NULL, "answers are tsv or json, not %s", kind);
    takt_model *model = tool_open_model(t, &code);
    if (model == NULL)
        return code;
    tool_run r = {.t = t, .model = model};
    if (t->arg_count > 1)
        code = answer(&r);
    else if (takt_model_relation_count(model) == 0)
        code = tool_usage_error(t, 1002, "docs/logic.md says how rules are written",
                                "the model has no relations");
    else
        code = tool_finish(t, takt_model_rules(model, format_of(t), tool_to_screen, t));
    tool_free_inputs(&r);
    takt_model_destroy(model);
    return code;
}

const takt_verb takt_verb_query = {
    .name = "query",
    .task = TAKT_TASK_RUN,
    .summary = "list the tuples of a model's relation that match a question",
    .arguments = "MODEL [QUESTION]",
    .arg_min = 1,
    .arg_max = 2,
    .about = "A question is a relation with names, numbers, variables and _ for anything:\n"
             "\"ancestor(ann, x)\". Without variables the answer is true or false. Without a\n"
             "question, lists the relations, rules and constraints.",
    .example = "takt query examples/family.takt \"ancestor(ann, x)\" --limit 3",
    .often = (const tool_flag_id[]){TAKT_F_INPUT, TAKT_F_LIMIT, TAKT_F_ANSWER_FORMAT,
                                    TAKT_F_WEIGHTS, TAKT_F_DIM, TAKT_F_SEED, TAKT_F_RANDOM,
                                    TAKT_F_THREADS, TAKT_F_BACKEND, TAKT_FLAG_IDS},
    .flags = {TAKT_F_SELECT, TAKT_F_WEIGHTS, TAKT_F_ALLOW_LINKS, TAKT_F_DENSE_LIMIT, TAKT_F_INPUT,
              TAKT_F_SHAPE, TAKT_F_DIM, TAKT_F_SEED, TAKT_F_RANDOM, TAKT_F_LIMIT,
              TAKT_F_ANSWER_FORMAT, TAKT_F_THREADS, TAKT_F_BACKEND, TAKT_F_ISA, TAKT_F_MEMORY_LIMIT,
              TAKT_FLAG_IDS},
    .run = run,
};
