/* bench_lengths.c - `takt benchmark run --lengths`: a stream of requests of different sizes.
 *
 * Every request binds inputs of its size to one session, whose plan has the whole range. The work
 * before a run that a change of size causes is timed separately.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench_lengths.h"

enum { REQUESTS = 1000, REQUESTS_MOST = 1000000 };

/* ---- which lengths ---- */

static int bad_lengths(const takt_tool *t, const char *text)
{
    return tool_usage_error(t, 1003, "write --lengths 1-512, --lengths seq=1-512, or a file",
                            "--lengths %s is neither a range nor a file of sizes", text);
}

static bool add_length(tool_stream *s, int64_t length)
{
    if (length < 0 || length > INT32_MAX || s->count >= REQUESTS_MOST)
        return false;
    if (s->count % REQUESTS == 0) {
        int64_t *more = realloc(s->lengths, (s->count + REQUESTS) * sizeof *more);
        if (more == NULL)
            return false;
        s->lengths = more;
    }
    s->low = s->count == 0 || length < s->low ? length : s->low;
    s->high = s->count == 0 || length > s->high ? length : s->high;
    s->lengths[s->count++] = length;
    return true;
}

/* Numbers separated by white space. */
static bool read_file(tool_stream *s, const char *path)
{
    FILE *file = fopen(path, "r");
    char word[32];
    bool is_good = file != NULL;
    while (is_good && fscanf(file, "%31s", word) == 1) {
        char *end;
        const long long length = strtoll(word, &end, 10);
        is_good = *end == '\0' && add_length(s, length);
    }
    if (file != NULL)
        fclose(file);
    return is_good && s->count > 0;
}

/* "1-512": as many as --iterations says, uniformly distributed. */
static bool draw(tool_stream *s, const char *text, size_t requests)
{
    char *end;
    const long long low = strtoll(text, &end, 10);
    if (end == text || *end != '-' || low < 0)
        return false;
    const char *second = end + 1;
    const long long high = strtoll(second, &end, 10);
    if (end == second || *end != '\0' || high < low || high > INT32_MAX)
        return false;
    uint64_t state = tool_number_of(s->t, TAKT_F_SEED, 0) * 2 + 1;
    bool is_good = true;
    for (size_t i = 0; i < requests && is_good; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        is_good = add_length(s, low + (int64_t)((state >> 33) % (uint64_t)(high - low + 1)));
    }
    s->low = low; /* one plan for all of them */
    s->high = high;
    return is_good;
}

static bool take_lengths(tool_stream *s)
{
    const char *text = tool_text_of(s->t, TAKT_F_LENGTHS), *rest;
    const char *said = tool_text_of(s->t, TAKT_F_ITERATIONS);
    uint64_t requests = REQUESTS;
    if (said != NULL && (!tool_read_number(TAKT_FLAG_NUMBER, said, &requests) || requests < 1 ||
                         requests > REQUESTS_MOST))
        return tool_usage_error(s->t, 1003, "write a number of requests", "--iterations %s is none",
                                said),
               false;
    rest = tool_after_name(text, '=', false, s->name);
    if (rest == NULL)
        s->name[0] = '\0';
    else
        text = rest;
    if (draw(s, text, (size_t)requests))
        return true;
    s->count = 0;
    if (read_file(s, text))
        return true;
    bad_lengths(s->t, text);
    return false;
}

/* ---- which dimension ---- */

static bool is_plain(const char *text)
{
    char name[TOOL_NAME];
    return text != NULL && takt_name_read(text, " +-*/(,", name, sizeof name) == strlen(text);
}

/* Without a name: the only one that is not the batch, or else the batch. */
static bool find_name(tool_stream *s)
{
    const char *batch = tool_batch_name(s->model), *found = NULL;
    bool is_only = true;
    for (size_t i = 0; i < takt_model_input_count(s->model); i++) {
        const takt_desc *d = takt_model_input(s->model, i);
        for (int k = 0; k < d->rank; k++) {
            const char *name = d->dim_names[k];
            if (!is_plain(name) || (batch != NULL && strcmp(name, batch) == 0))
                continue;
            is_only = is_only && (found == NULL || strcmp(found, name) == 0);
            found = name;
        }
    }
    found = found != NULL ? found : batch;
    if (found != NULL && is_only) {
        snprintf(s->name, sizeof s->name, "%s", found);
        return true;
    }
    if (found == NULL)
        tool_usage_error(s->t, 1003, "its inputs have fixed sizes",
                         "the model has no dimension that --lengths could mean");
    else
        tool_usage_error(s->t, 1003, "write --lengths NAME=1-512",
                         "the model has several dimensions that --lengths could mean, %.100s is "
                         "one",
                         found);
    return false;
}

static int sizes_of(tool_stream *s, char range[TOOL_SIZES])
{
    tool_sizes sizes;
    if (s->name[0] == '\0' && !find_name(s))
        return TAKT_EXIT_USAGE;
    if (!tool_sizes_init(s->t, s->model, &sizes))
        return TAKT_EXIT_USAGE;
    if (tool_size_of(&sizes, s->name) >= 0)
        return tool_usage_error(s->t, 1003, "leave one of them out",
                                "both -D and --lengths say what %.100s is", s->name);
    snprintf(s->base, sizeof s->base, "%s", sizes.text);
    const int length =
        snprintf(range, TOOL_SIZES, "%.*s%s%.*s=%" PRId64 "..%" PRId64, TOOL_SIZES / 2, sizes.text,
                 sizes.length > 0 ? "," : "", TOOL_SIZES / 3, s->name, s->low, s->high);
    if (length < 0 || length >= TOOL_SIZES || sizes.length >= TOOL_SIZES / 2)
        return tool_usage_error(s->t, 1003, NULL, "names and sizes are too long");
    return TAKT_EXIT_OK;
}

/* ---- inputs ---- */

static int64_t *dims_of(const tool_stream *s, int64_t length, size_t input)
{
    return s->dims + ((size_t)(length - s->low) * s->inputs + input) * TAKT_MAX_RANK;
}

/* A separate plan gives the shapes of a length: the measured one must not have seen them. */
static int find_dims(tool_stream *s, const char *range)
{
    takt_plan *plan;
    takt_session *probe = NULL;
    char text[TOOL_SIZES];
    const size_t lengths = (size_t)(s->high - s->low + 1);
    s->inputs = takt_model_input_count(s->model);
    s->dims = calloc(lengths * s->inputs + 1, TAKT_MAX_RANK * sizeof *s->dims);
    if (s->dims == NULL)
        return tool_finish(s->t, TAKT_ERR_MEMORY);
    takt_status status = tool_try_plan(s->t, s->model, range, 1, &plan);
    if (status == TAKT_OK)
        status = takt_session_create(plan, NULL, &probe);
    takt_plan_destroy(plan);
    for (size_t k = 0; k < s->count && status == TAKT_OK; k++) {
        const int64_t length = s->lengths[k];
        if (!tool_sizes_with(s->base, s->name, length, text))
            status = TAKT_ERR_ARGUMENT;
        else if (s->inputs > 0 && dims_of(s, length, 0)[TAKT_MAX_RANK - 1] == 0)
            status = takt_session_reshape(probe, s->model, text);
        else
            continue;
        for (size_t i = 0; i < s->inputs && status == TAKT_OK; i++) {
            const takt_desc *d = takt_session_input_desc(probe, i);
            int64_t *to = dims_of(s, length, i);
            memcpy(to, d->dims, (size_t)d->rank * sizeof *to);
            if (d->rank < TAKT_MAX_RANK)
                to[TAKT_MAX_RANK - 1] = 1; /* seen */
        }
    }
    takt_session_destroy(probe);
    return tool_planned(s->t, status);
}

/* The session's own memory at the largest size is kept: bound views are parts of it. */
static int keep_inputs(tool_stream *s)
{
    int code = tool_fill_inputs(s->t, s->session);
    s->data = calloc(s->inputs + 1, sizeof *s->data);
    if (s->data == NULL)
        code = tool_finish(s->t, TAKT_ERR_MEMORY);
    for (size_t i = 0; i < s->inputs && code == TAKT_EXIT_OK; i++) {
        const takt_tensor_view *v = takt_session_input(s->session, i);
        size_t bits = (size_t)takt_dtype_bits(v->dtype);
        for (int d = 0; d < v->rank; d++)
            bits *= (size_t)v->dims[d];
        s->data[i] = malloc(bits / 8 + 64);
        if (s->data[i] == NULL)
            code = tool_finish(s->t, TAKT_ERR_MEMORY);
        else
            memcpy(s->data[i], v->data, (bits + 7) / 8);
    }
    return code;
}

/* ---- running ---- */

static takt_status request(tool_stream *s, size_t k)
{
    const int64_t length = s->lengths[k];
    const uint64_t start = tool_now_ns();
    for (size_t i = 0; i < s->inputs; i++) {
        const takt_desc *d = takt_session_input_desc(s->session, i);
        takt_tensor_view v = {.dtype = d->dtype, .rank = d->rank, .data = s->data[i]};
        memcpy(v.dims, dims_of(s, length, i), (size_t)d->rank * sizeof *v.dims);
        const takt_status status = takt_session_bind(s->session, d->name, &v);
        if (status != TAKT_OK)
            return status;
    }
    const uint64_t bound = tool_now_ns();
    if (takt_session_output(s->session, 0) == NULL) /* settles the sizes */
        return takt_session_error(s->session)->status;
    const uint64_t sized = tool_now_ns();
    const takt_status status = takt_session_run(s->session);
    s->total[k] = (double)(tool_now_ns() - start);
    s->sizing[k] = (double)(sized - bound);
    return status;
}

static int run_all(tool_stream *s)
{
    s->total = calloc(2 * s->count, sizeof *s->total);
    if (s->total == NULL)
        return tool_finish(s->t, TAKT_ERR_MEMORY);
    s->sizing = s->total + s->count;
    takt_status status = takt_session_run(s->session); /* of the largest size: pages are touched */
    for (size_t k = 0; k < s->count && status == TAKT_OK; k++)
        status = request(s, k);
    if (status != TAKT_OK && takt_session_error(s->session)->status == status)
        return tool_report_error(s->t, takt_session_error(s->session));
    return tool_finish(s->t, status);
}

/* ---- all of it ---- */

static int measure(tool_stream *s)
{
    char range[TOOL_SIZES];
    uint64_t threads[TAKT_TOOL_LIST] = {0};
    size_t thread_count = 0;
    takt_plan *plan = NULL;
    int code = sizes_of(s, range);
    if (code == TAKT_EXIT_OK && !tool_numbers(s->t, TAKT_F_THREAD_LIST, threads, &thread_count))
        code = TAKT_EXIT_USAGE;
    if (code == TAKT_EXIT_OK && thread_count > 1)
        code = tool_usage_error(s->t, 1003, NULL, "--lengths takes one number of threads");
    if (code == TAKT_EXIT_OK)
        code = find_dims(s, range);
    if (code == TAKT_EXIT_OK)
        code = tool_planned(s->t, tool_try_plan(s->t, s->model, range, (int)threads[0], &plan));
    if (code == TAKT_EXIT_OK)
        s->session = tool_make_session(s->t, plan, &code);
    takt_plan_destroy(plan);
    if (s->session == NULL)
        return code;
    code = keep_inputs(s);
    if (code == TAKT_EXIT_OK)
        code = run_all(s);
    return code == TAKT_EXIT_OK ? tool_stream_tell(s) : code;
}

static void release(tool_stream *s)
{
    for (size_t i = 0; s->data != NULL && i < s->inputs; i++)
        free(s->data[i]);
    free(s->data);
    free(s->dims);
    free(s->total);
    free(s->lengths);
    takt_session_destroy(s->session);
    takt_model_destroy(s->model);
    free(s);
}

int tool_bench_lengths(takt_tool *t)
{
    tool_stream *s = calloc(1, sizeof *s);
    int code = TAKT_EXIT_USAGE;
    if (s == NULL)
        return tool_finish(t, TAKT_ERR_MEMORY);
    s->t = t;
    if (tool_item_of(t, TAKT_F_INPUT, 0) != NULL)
        tool_usage_error(t, 1003, "leave out -i", "inputs of different sizes are random");
    else if (tool_text_of(t, TAKT_F_FILE) != NULL)
        tool_usage_error(t, 1003, "write --json > F", "--lengths prints a table and has no -o");
    else if (tool_text_of(t, TAKT_F_MODEL) == NULL && t->arg_count == 0)
        tool_usage_error(t, 1003, "takt benchmark run MODEL", "there is no model to measure");
    else if (take_lengths(s) && (s->model = tool_open_model(t, &code)) != NULL)
        code = measure(s);
    release(s);
    return code;
}
