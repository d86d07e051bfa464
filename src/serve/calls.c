/* calls.c - tool calls in responses, as OpenAI's clients expect them. */
#include <stdio.h>

#include "base/ctx.h"
#include "serve/serve.h"

takt_status takt_serve_find_calls(takt_job *job, int index)
{
    takt_choice *c = &job->choice[index];
    const takt_span text = {takt_text_get(&c->text), c->text.length};
    takt_calls *calls = takt_arena_array(&job->arena, 1, sizeof *calls);
    if (calls == NULL)
        return takt_fail_memory(job->server->ctx, "calls of tools", sizeof *calls);
    TAKT_TRY(takt_calls_read(job->server->ctx, &job->arena, job->calls, text, calls));
    for (size_t i = 0; i < calls->count; i++)
        if (takt_serve_tool(job, calls->at[i].name) == NULL)
            calls->count = 0; /* not a tool of the request: it is text */
    if (calls->count > 0)
        c->calls = calls;
    return TAKT_OK;
}

void takt_serve_put_calls(takt_json_writer *w, const takt_job *job, int index)
{
    const takt_calls *calls = job->choice[index].calls;
    takt_json_put_open(w, "tool_calls", '[');
    for (size_t i = 0; i < calls->count; i++) {
        char id[64];
        takt_text arguments;
        takt_json_writer inner;
        (void)snprintf(id, sizeof id, "call_%llu_%d_%zu", (unsigned long long)job->number, index,
                       i);
        takt_json_open(w, '{');
        if (job->streams)
            takt_json_put_unsigned(w, "index", i);
        takt_json_put_string(w, "id", id);
        takt_json_put_string(w, "type", "function");
        takt_json_put_open(w, "function", '{');
        takt_json_key(w, "name");
        takt_json_spans(w, calls->at[i].name);
        takt_text_init(&arguments, w->text->ctx);
        takt_json_begin(&inner, &arguments, false);
        takt_json_value(&inner, calls->at[i].arguments);
        takt_json_key(w, "arguments");
        takt_json_spans(w, (takt_span){takt_text_get(&arguments), arguments.length});
        if (arguments.status != TAKT_OK && w->text->status == TAKT_OK)
            w->text->status = arguments.status;
        takt_text_deinit(&arguments);
        takt_json_close(w, '}');
        takt_json_close(w, '}');
    }
    takt_json_close(w, ']');
}

/* Sends the part of a stream that can be shown: not what may be a call. */
void takt_serve_show(takt_job *job, int index, bool is_all)
{
    takt_choice *c = &job->choice[index];
    const takt_span text = {takt_text_get(&c->text), c->text.length};
    size_t end = is_all ? text.length : takt_calls_safe(job->calls, text);
    if (c->calls != NULL)
        end = c->calls->content.length;
    if (end <= c->shown)
        return;
    takt_serve_piece(job, index, &(takt_span){text.at + c->shown, end - c->shown});
    c->shown = end;
}
