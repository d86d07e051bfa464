/* run_stream.c - a recording that goes through a model chunk by chunk, in one session.
 *
 * A chunk is as long as the model's input. State carries over from one chunk to the next; results
 * of all chunks are stacked along a new first dimension, and everything that shows or writes
 * results sees one run.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "media.h"
#include "run.h"

struct tool_stream {
    takt_tensor_view sound; /* all samples */
    int64_t samples, rate, chunk, chunks;
    const float *from;
    float *to; /* the input's memory */
    tool_results results;
};

static int no_input(const tool_run *r, const char *path)
{
    return tool_usage_error(r->t, 1003, "write --stream NAME=FILE",
                            "the model has %zu inputs: which one takes %s?", r->input_count, path);
}

/* The input that receives the recording. If -1, an error was printed and `*code` is the exit
 * code. */
static int find_input(const tool_run *r, const char **path, int *code)
{
    char name[TOOL_NAME];
    const char *item = tool_text_of(r->t, TAKT_F_STREAM);
    const char *file = tool_after_name(item, '=', false, name);
    *path = file != NULL ? file : item;
    for (size_t i = 0; i < r->input_count; i++)
        if (file == NULL ? r->input_count == 1 : strcmp(r->names[i], name) == 0)
            return (int)i;
    *code = file != NULL ? tool_no_such_port(r, "input", name, true) : no_input(r, *path);
    return -1;
}

/* The length of the input, from its type or from -D. If -1, an error was printed. */
static int64_t chunk_of(const tool_run *r, const takt_desc *d)
{
    char hint[160];
    const char *open = d->rank > 0 ? d->dim_names[d->rank - 1] : NULL;
    const int64_t size = d->rank == 0   ? 1
                         : open != NULL ? tool_size_of(&r->sizes, open)
                                        : d->dims[d->rank - 1];
    if (size > 0)
        return size;
    snprintf(hint, sizeof hint, "-D %.60s=160 makes chunks of 160 samples",
             open != NULL ? open : "n");
    tool_usage_error(r->t, 1003, hint, "the model leaves the length of input %s open", d->name);
    return -1;
}

static int describe(const tool_run *r, char **said)
{
    const tool_stream *s = r->stream;
    const int64_t zeros = s->chunks * s->chunk - s->samples;
    char *text = malloc(MEDIA_SAID), tail[64] = "";
    if (text == NULL)
        return tool_finish(r->t, TAKT_ERR_MEMORY);
    if (zeros > 0)
        snprintf(tail, sizeof tail, ", the last filled up with %lld zero%s", (long long)zeros,
                 zeros == 1 ? "" : "s");
    const size_t length = media_describe_sound(text, s->samples, s->rate);
    snprintf(text + length, MEDIA_SAID - length, " in %lld chunk%s of %lld%s", (long long)s->chunks,
             s->chunks == 1 ? "" : "s", (long long)s->chunk, tail);
    *said = text;
    return TAKT_EXIT_OK;
}

/* Memory of one chunk, which the session reads. */
static int make_input(tool_run *r, size_t index, const char *path)
{
    const takt_desc *d = takt_model_input(r->model, index);
    takt_tensor_view *v = &r->inputs[index];
    *v = (takt_tensor_view){.dtype = TAKT_F32, .rank = d->rank};
    for (int i = 0; i < d->rank; i++)
        v->dims[i] = i + 1 < d->rank ? 1 : r->stream->chunk;
    const int code = tool_finish(r->t, takt_view_alloc(r->t->ctx, v));
    r->stream->to = v->data;
    return code != TAKT_EXIT_OK                                          ? code
           : tool_sizes_from(r->t, &r->sizes, d, v->rank, v->dims, path) ? TAKT_EXIT_OK
                                                                         : TAKT_EXIT_USAGE;
}

static int cut(tool_run *r, size_t index, const char *path)
{
    tool_stream *s = r->stream;
    s->samples = s->sound.dims[s->sound.rank - 1];
    s->from = s->sound.data;
    s->chunk = chunk_of(r, takt_model_input(r->model, index));
    if (s->chunk < 0)
        return TAKT_EXIT_USAGE;
    s->chunks = s->samples / s->chunk + (s->samples % s->chunk != 0);
    const int code = make_input(r, index, path);
    return code == TAKT_EXIT_OK ? describe(r, &r->said[index]) : code;
}

int tool_stream_open(tool_run *r)
{
    if (tool_text_of(r->t, TAKT_F_STREAM) == NULL)
        return TAKT_EXIT_OK;
    int code = TAKT_EXIT_OK;
    const char *path;
    const int index = find_input(r, &path, &code);
    if (index < 0)
        return code;
    if (tool_input_given(r, (size_t)index))
        return tool_usage_error(r->t, 1003, NULL, "input %s is given by -i and --stream",
                                r->names[index]);
    r->stream = calloc(1, sizeof *r->stream);
    if (r->stream == NULL)
        return tool_finish(r->t, TAKT_ERR_MEMORY);
    const media_file f = {r->t, r->model, takt_model_input(r->model, (size_t)index), path};
    code = tool_load_sound(&f, &r->stream->sound, &r->stream->rate);
    return code == TAKT_EXIT_OK ? cut(r, (size_t)index, path) : code;
}

void tool_stream_close(tool_run *r)
{
    if (r->stream == NULL)
        return;
    tool_results *o = &r->stream->results;
    for (size_t i = 0; o->views != NULL && i < o->count; i++)
        takt_view_free(r->t->ctx, &o->views[i]);
    tool_results_free(o);
    takt_view_free(r->t->ctx, &r->stream->sound);
    free(r->stream);
    r->stream = NULL;
}

size_t tool_stream_chunks(const tool_stream *s)
{
    return (size_t)s->chunks;
}

tool_results *tool_stream_results(tool_stream *s)
{
    return &s->results;
}

/* ---- running ---- */

int tool_stream_begin(tool_run *r, takt_session *s)
{
    tool_results *o = &r->stream->results;
    if (!tool_results_init(o, takt_session_output_count(s)))
        return tool_finish(r->t, TAKT_ERR_MEMORY);
    int code = TAKT_EXIT_OK;
    for (size_t i = 0; i < o->count && code == TAKT_EXIT_OK; i++) {
        const takt_desc *d = takt_session_output_desc(s, i);
        takt_tensor_view *v = &o->views[i];
        if (d->rank == TAKT_MAX_RANK || takt_dtype_bits(d->dtype) % 8 != 0)
            return tool_usage_error(r->t, 1003, NULL,
                                    "results of chunks cannot be stacked: output %s is %s of rank "
                                    "%d",
                                    d->name, takt_dtype_name(d->dtype), d->rank);
        o->names[i] = d->name;
        *v = (takt_tensor_view){.dtype = d->dtype, .rank = d->rank + 1};
        v->dims[0] = r->stream->chunks;
        memcpy(v->dims + 1, d->dims, (size_t)d->rank * sizeof *v->dims);
        code = tool_finish(r->t, takt_view_alloc(r->t->ctx, v));
    }
    if (code == TAKT_EXIT_OK && takt_session_state_count(s) == 0 && !tool_on(r->t, TAKT_F_QUIET))
        fprintf(stderr, "takt: the model has no state: it sees every chunk on its own\n");
    return code;
}

/* The position of this chunk's results among all. */
static takt_status bind_outputs(const tool_results *o, takt_session *s, size_t at)
{
    takt_status status = TAKT_OK;
    for (size_t i = 0; i < o->count && status == TAKT_OK; i++) {
        const takt_tensor_view *all = &o->views[i];
        takt_tensor_view one = {.dtype = all->dtype, .rank = all->rank - 1};
        size_t bytes = (size_t)takt_dtype_bits(all->dtype) / 8;
        for (int k = 0; k < one.rank; k++) {
            one.dims[k] = all->dims[k + 1];
            bytes *= (size_t)one.dims[k];
        }
        one.data = (char *)all->data + at * bytes;
        status = takt_session_bind(s, o->names[i], &one);
    }
    return status;
}

takt_status tool_stream_feed(tool_stream *stream, takt_session *s, size_t at)
{
    const int64_t first = (int64_t)at * stream->chunk, left = stream->samples - first;
    const int64_t count = left < stream->chunk ? left : stream->chunk;
    memcpy(stream->to, stream->from + first, (size_t)count * sizeof(float));
    memset(stream->to + count, 0, (size_t)(stream->chunk - count) * sizeof(float));
    return bind_outputs(&stream->results, s, at);
}

/* ---- flags that exclude it ---- */

int tool_stream_check(const takt_tool *t)
{
    static const tool_flag_id not [] = {TAKT_F_REPEAT, TAKT_F_BATCH_SIZE, TAKT_F_TEST,
                                        TAKT_F_DONATE, TAKT_F_PREPARE,    TAKT_F_STATIC_SHAPES};
    if (tool_text_of(t, TAKT_F_STREAM) == NULL)
        return TAKT_EXIT_OK;
    for (size_t i = 0; i < sizeof not / sizeof *not ; i++)
        if (tool_text_of(t, not [i]) != NULL || tool_item_of(t, not [i], 0) != NULL)
            return tool_usage_error(t, 1003, NULL, "--stream and --%s do not go together",
                                    tool_flags[not [i]].name);
    return TAKT_EXIT_OK;
}

void tool_stream_json(const tool_stream *s)
{
    if (s != NULL)
        printf("\"stream\": {\"samples\": %lld, \"chunk\": %lld, \"chunks\": %lld}, ",
               (long long)s->samples, (long long)s->chunk, (long long)s->chunks);
}
