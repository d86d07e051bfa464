/* run_print.c - the result of a run. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

static void print_type(const char *name, const takt_tensor_view *v)
{
    printf("%s: %s[", name, takt_dtype_name(v->dtype));
    for (int i = 0; i < v->rank; i++)
        printf("%s%lld", i > 0 ? ", " : "", (long long)v->dims[i]);
    printf("]");
}

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Results that went to a file are read back, piece by piece. */
static takt_status digest_file(takt_ctx *ctx, const char *path, takt_digest *d)
{
    enum { PIECE = 1 << 20 };
    takt_npy *file;
    takt_tensor_view view, row;
    takt_status status = takt_npy_open(ctx, path, &file, &view);
    if (status != TAKT_OK)
        return status;
    row = view;
    int64_t bytes = takt_dtype_bits(view.dtype) / 8;
    for (int i = 1; i < view.rank; i++)
        bytes *= view.dims[i];
    const int64_t rows = view.rank > 0 ? view.dims[0] : 1;
    const int64_t most = bytes > 0 && bytes < PIECE ? PIECE / bytes : 1;
    row.dims[0] = view.rank > 0 && rows > most ? most : rows;
    status = takt_view_alloc(ctx, &row);
    const int64_t room = row.dims[0];
    takt_tensor_view part = row;
    for (int64_t at = 0; at < rows && status == TAKT_OK; at += room) {
        if (view.rank > 0)
            part.dims[0] = rows - at < room ? rows - at : room;
        status = takt_npy_read_rows(file, at, view.rank > 0 ? part.dims[0] : 1, part.data);
        if (status == TAKT_OK)
            status = takt_digest_add(d, &part);
    }
    takt_view_free(ctx, &row);
    takt_npy_close(file);
    return status;
}

static takt_status digest(tool_run *r, const tool_results *o, char text[TAKT_DIGEST_TEXT])
{
    takt_digest *d;
    takt_status status = takt_digest_create(r->t->ctx, &d);
    if (status != TAKT_OK)
        return status;
    for (size_t i = 0; i < o->count && status == TAKT_OK; i++)
        status = o->paths[i][0] != '\0' ? digest_file(r->t->ctx, o->paths[i], d)
                                        : takt_digest_add(d, &o->views[i]);
    takt_digest_end(d, text);
    return status;
}

/* Some space before every line of a printed tensor. */
static int indented(void *user, const char *text, size_t length)
{
    (void)user;
    for (size_t i = 0; i < length; i++) {
        if (i == 0 || text[i - 1] == '\n')
            fputs("  ", stdout);
        if (putchar(text[i]) == EOF)
            return 1;
    }
    return 0;
}

static void print_inputs(const tool_run *r)
{
    for (size_t i = 0; i < r->input_count; i++)
        if (r->said[i] != NULL)
            printf("%s: %s\n", r->names[i], r->said[i]);
    if (r->random_count > 0)
        printf("random inputs, seed %llu:",
               (unsigned long long)tool_number_of(r->t, TAKT_F_SEED, 0));
    const char *before = " ";
    for (size_t i = 0; i < r->input_count && r->random_count > 0; i++) {
        if (!r->is_random[i])
            continue;
        printf("%s", before);
        print_type(r->names[i], &r->inputs[i]);
        before = ", ";
    }
    if (r->random_count > 0)
        printf("\n");
}

static int print_values(tool_run *r, const tool_results *o)
{
    for (size_t i = 0; i < o->count; i++) {
        print_type(o->names[i], &o->views[i]);
        if (o->paths[i][0] != '\0') {
            printf(" -> %s\n", o->paths[i]);
            continue;
        }
        printf("\n");
        const takt_status status =
            takt_view_print(r->t->ctx, &o->views[i], TAKT_FORMAT_TEXT, indented, NULL);
        if (status != TAKT_OK)
            return tool_finish(r->t, status);
        printf("\n");
    }
    return TAKT_EXIT_OK;
}

static void print_deviation(const tool_run *r, FILE *to)
{
    if (r->deviation == NULL)
        return;
    if (r->deviation_of != NULL)
        fprintf(to, "%s: ", r->deviation_of);
    tool_print_deviation(r->t, r->deviation, to);
}

/* Where printed results were also written; results of batches have it next to their names. */
static void print_files(const tool_run *r, const tool_results *o)
{
    const char *item;
    char path[1024];
    bool in_names = false;
    for (size_t i = 0; i < o->count; i++)
        in_names |= o->paths[i][0] != '\0';
    for (size_t i = 0; !in_names && (item = tool_item_of(r->t, TAKT_F_OUTPUT, i)) != NULL; i++)
        if (tool_set_name(r, tool_file_in(TAKT_F_OUTPUT, item), path))
            printf("written to %s\n", path);
}

/* "45.9 us", "4.78 ms": in a suitable unit. */
static const char *duration(uint64_t ns, char text[static 24])
{
    const double us = (double)ns / 1e3;
    if (us < 1000)
        snprintf(text, 24, "%.1f us", us);
    else if (us < 1e6)
        snprintf(text, 24, "%.2f ms", us / 1e3);
    else
        snprintf(text, 24, "%.2f s", us / 1e6);
    return text;
}

static int print_set(tool_run *r, const tool_results *o, const char *sha)
{
    const bool quiet = tool_on(r->t, TAKT_F_QUIET);
    if (!quiet)
        print_inputs(r);
    const int code = print_values(r, o);
    if (code != TAKT_EXIT_OK)
        return code;
    tool_print_labels(r->t, r->labels, o);
    printf("digest: sha256:%s\n", sha);
    return TAKT_EXIT_OK;
}

/* The plan and how long its runs took. */
static void print_plan(const tool_run *r, const takt_plan *plan)
{
    takt_plan_info info;
    takt_plan_query(plan, &info);
    char backend[256], a[24], b[24], c[24];
    takt_plan_backend(plan, backend, sizeof backend);
    if (strcmp(backend, "cpu") != 0)
        printf("%s\n", backend);
    if (info.direct_convs > 0)
        printf("hint memory: %zu convolution%s without Winograd, which changes their bits\n",
               info.direct_convs, info.direct_convs == 1 ? "" : "s");
    printf("%zu step%s, %d thread%s, %llu bytes; ", info.steps, info.steps == 1 ? "" : "s",
           info.threads, info.threads == 1 ? "" : "s", (unsigned long long)info.peak);
    if (r->runs == 1)
        printf("the run took %s\n", duration(r->times_ns[0], a));
    else
        printf("%zu %s took %s each (median; %s to %s)\n", r->runs,
               r->stream != NULL ? "chunks" : "runs", duration(r->times_ns[r->runs / 2], a),
               duration(r->times_ns[0], b), duration(r->times_ns[r->runs - 1], c));
    tool_print_process(r->t);
}

static int print_text(tool_run *r, const takt_plan *plan, const tool_results *o, const char *sha)
{
    const int code = print_set(r, o, sha);
    if (code != TAKT_EXIT_OK || tool_on(r->t, TAKT_F_QUIET))
        return code;
    print_deviation(r, stdout);
    print_files(r, o);
    print_plan(r, plan);
    return TAKT_EXIT_OK;
}

/* ---- for programs ---- */

static void begin_json(const tool_run *r)
{
    printf("{\"model\": ");
    tool_print_string(stdout, r->name);
    printf(", \"random_inputs\": %zu, \"seed\": %llu, ", r->random_count,
           (unsigned long long)tool_number_of(r->t, TAKT_F_SEED, 0));
    tool_stream_json(r->stream);
}

/* "outputs": {...} and labels. */
static int json_values(tool_run *r, const tool_results *o)
{
    printf("\"outputs\": {");
    for (size_t i = 0; i < o->count; i++) {
        printf("%s", i > 0 ? ", " : "");
        tool_print_string(stdout, o->names[i]);
        printf(": ");
        if (o->paths[i][0] != '\0') {
            printf("{\"file\": ");
            tool_print_string(stdout, o->paths[i]);
            printf("}");
            continue;
        }
        const takt_status status =
            takt_view_print(r->t->ctx, &o->views[i], TAKT_FORMAT_JSON, tool_to_stdout, NULL);
        if (status != TAKT_OK)
            return tool_finish(r->t, status);
    }
    printf("}");
    tool_print_labels(r->t, r->labels, o);
    return TAKT_EXIT_OK;
}

/* The common members of one run and several; ends the object. */
static void end_json(const tool_run *r, const takt_plan *plan, const char *sha)
{
    takt_plan_info info;
    takt_usage usage;
    char backend[256];
    takt_plan_query(plan, &info);
    takt_resource_usage(r->t->ctx, &usage);
    takt_plan_backend(plan, backend, sizeof backend);
    if (r->deviation != NULL)
        tool_json_deviation(r->deviation);
    printf(", \"backend\": ");
    tool_print_string(stdout, backend);
    if (info.direct_convs > 0)
        printf(", \"direct_convs\": %zu", info.direct_convs);
    if (sha != NULL)
        printf(", \"digest\": \"sha256:%s\"", sha);
    printf(", \"steps\": %zu, \"threads\": %d, \"peak_bytes\": %llu, "
           "\"held_bytes\": %llu, \"planning_peak_bytes\": %llu, \"process_peak_bytes\": %llu, "
           "\"plan_ns\": %llu, \"runs\": %zu, \"time_ns\": {\"median\": %llu, \"min\": %llu, "
           "\"max\": %llu}}\n",
           info.steps, info.threads, (unsigned long long)info.peak, (unsigned long long)info.held,
           (unsigned long long)info.planning_peak, (unsigned long long)usage.resident_peak_bytes,
           (unsigned long long)info.plan_ns, r->runs, (unsigned long long)r->times_ns[r->runs / 2],
           (unsigned long long)r->times_ns[0], (unsigned long long)r->times_ns[r->runs - 1]);
}

static int print_json(tool_run *r, const takt_plan *plan, const tool_results *o, const char *sha)
{
    begin_json(r);
    const int code = json_values(r, o);
    if (code == TAKT_EXIT_OK)
        end_json(r, plan, sha);
    return code;
}

int tool_print_result(tool_run *r, const takt_plan *plan, const tool_results *o, bool printed)
{
    if (printed) { /* standard output is a file's bytes */
        print_deviation(r, stderr);
        return TAKT_EXIT_OK;
    }
    const int code = tool_check_labels(r->t, r->labels, o);
    if (code != TAKT_EXIT_OK)
        return code;
    char sha[TAKT_DIGEST_TEXT];
    const takt_status status = digest(r, o, sha);
    if (status != TAKT_OK)
        return tool_finish(r->t, status);
    qsort(r->times_ns, r->runs, sizeof *r->times_ns, ascending);
    return tool_on(r->t, TAKT_F_JSON) ? print_json(r, plan, o, sha) : print_text(r, plan, o, sha);
}

/* ---- several files ---- */

static int json_set(tool_run *r, const tool_results *o, uint64_t time_ns, const char *sha)
{
    if (r->set == 0) {
        r->has_begun = true;
        begin_json(r);
        printf("\"files\": [");
    }
    printf("%s{\"file\": ", r->set > 0 ? ", " : "");
    tool_print_string(stdout, r->set_files[r->set]);
    printf(", ");
    const int code = json_values(r, o);
    printf(", \"digest\": \"sha256:%s\", \"time_ns\": %llu}", sha, (unsigned long long)time_ns);
    return code;
}

int tool_print_set(tool_run *r, const tool_results *o, uint64_t time_ns)
{
    char sha[TAKT_DIGEST_TEXT];
    int code = tool_check_labels(r->t, r->labels, o);
    if (code == TAKT_EXIT_OK)
        code = tool_finish(r->t, digest(r, o, sha));
    if (code != TAKT_EXIT_OK)
        return code;
    if (tool_on(r->t, TAKT_F_JSON))
        return json_set(r, o, time_ns, sha);
    printf("%s%s:\n", r->set > 0 ? "\n" : "", r->set_files[r->set]);
    code = print_set(r, o, sha);
    if (code == TAKT_EXIT_OK && !tool_on(r->t, TAKT_F_QUIET))
        print_files(r, o);
    return code;
}

int tool_print_sets_end(tool_run *r, const takt_plan *plan, const char *sizes, int code)
{
    qsort(r->times_ns, r->runs, sizeof *r->times_ns, ascending);
    if (tool_on(r->t, TAKT_F_JSON) && r->has_begun) { /* after a failure the object ends, too */
        printf("], \"sizes\": ");
        tool_print_string(stdout, sizes);
        end_json(r, plan, NULL);
    } else if (code == TAKT_EXIT_OK && !tool_on(r->t, TAKT_F_QUIET)) {
        printf("\n%zu files, one session%s%s\n", r->sets, sizes[0] != '\0' ? ": " : "", sizes);
        print_deviation(r, stdout);
        print_plan(r, plan);
    }
    return code;
}
