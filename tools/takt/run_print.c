/* run_print.c - the result of a run. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

static void print_type(const takt_desc *d)
{
    printf("%s: %s[", d->name, takt_dtype_name(d->dtype));
    for (int i = 0; i < d->rank; i++)
        printf("%s%lld", i > 0 ? ", " : "", (long long)d->dims[i]);
    printf("]");
}

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static bool digest(tool_run *r, takt_session *s, char text[TAKT_DIGEST_TEXT])
{
    const size_t count = takt_session_output_count(s);
    takt_tensor_view *views = calloc(count + 1, sizeof *views);
    for (size_t i = 0; views != NULL && i < count; i++)
        views[i] = *takt_session_output(s, i);
    const bool good = views != NULL && takt_view_digest(r->t->ctx, views, count, text) == TAKT_OK;
    free(views);
    return good;
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

static void print_inputs(const tool_run *r, takt_session *s)
{
    if (r->random_count > 0)
        printf("random inputs, seed %llu:",
               (unsigned long long)tool_number_of(r->t, TAKT_F_SEED, 0));
    const char *before = " ";
    for (size_t i = 0; i < r->input_count && r->random_count > 0; i++) {
        if (r->inputs[i].data != NULL)
            continue;
        printf("%s", before);
        print_type(takt_session_input_desc(s, i));
        before = ", ";
    }
    if (r->random_count > 0)
        printf("\n");
}

static int print_text(tool_run *r, takt_plan *plan, takt_session *s, const char *sha)
{
    takt_plan_info info;
    takt_plan_query(plan, &info);
    const bool quiet = tool_on(r->t, TAKT_F_QUIET);
    if (!quiet)
        print_inputs(r, s);
    for (size_t i = 0; i < takt_session_output_count(s); i++) {
        print_type(takt_session_output_desc(s, i));
        printf("\n");
        const takt_status status =
            takt_view_print(r->t->ctx, takt_session_output(s, i), TAKT_FORMAT_TEXT, indented, NULL);
        if (status != TAKT_OK)
            return tool_finish(r->t, status);
        printf("\n");
    }
    printf("digest: sha256:%s\n", sha);
    if (quiet)
        return TAKT_EXIT_OK;
    const double us = (double)r->times_ns[r->runs / 2] / 1e3;
    char backend[256];
    takt_plan_backend(plan, backend, sizeof backend);
    if (strcmp(backend, "cpu") != 0)
        printf("%s\n", backend);
    printf("%zu steps, %d thread%s, %llu bytes; ", info.steps, info.threads,
           info.threads == 1 ? "" : "s", (unsigned long long)info.peak);
    if (r->runs == 1)
        printf("the run took %.1f us\n", us);
    else
        printf("%zu runs took %.1f us each (median; %.1f to %.1f)\n", r->runs, us,
               (double)r->times_ns[0] / 1e3, (double)r->times_ns[r->runs - 1] / 1e3);
    return TAKT_EXIT_OK;
}

static int print_json(tool_run *r, takt_plan *plan, takt_session *s, const char *sha)
{
    takt_plan_info info;
    takt_plan_query(plan, &info);
    printf("{\"model\": ");
    tool_print_string(stdout, takt_model_name(r->model));
    printf(", \"random_inputs\": %zu, \"seed\": %llu, \"outputs\": {", r->random_count,
           (unsigned long long)tool_number_of(r->t, TAKT_F_SEED, 0));
    for (size_t i = 0; i < takt_session_output_count(s); i++) {
        printf("%s", i > 0 ? ", " : "");
        tool_print_string(stdout, takt_session_output_desc(s, i)->name);
        printf(": ");
        const takt_status status = takt_view_print(r->t->ctx, takt_session_output(s, i),
                                                   TAKT_FORMAT_JSON, tool_to_stdout, NULL);
        if (status != TAKT_OK)
            return tool_finish(r->t, status);
    }
    char backend[256];
    takt_plan_backend(plan, backend, sizeof backend);
    printf("}, \"backend\": ");
    tool_print_string(stdout, backend);
    printf(", \"digest\": \"sha256:%s\", \"steps\": %zu, \"threads\": %d, \"peak_bytes\": %llu, "
           "\"runs\": %zu, \"time_ns\": {\"median\": %llu, \"min\": %llu, \"max\": %llu}}\n",
           sha, info.steps, info.threads, (unsigned long long)info.peak, r->runs,
           (unsigned long long)r->times_ns[r->runs / 2], (unsigned long long)r->times_ns[0],
           (unsigned long long)r->times_ns[r->runs - 1]);
    return TAKT_EXIT_OK;
}

int tool_print_result(tool_run *r, takt_plan *plan, takt_session *s)
{
    char sha[TAKT_DIGEST_TEXT];
    if (!digest(r, s, sha))
        return tool_finish(r->t, TAKT_ERR_MEMORY);
    qsort(r->times_ns, r->runs, sizeof *r->times_ns, ascending);
    return tool_on(r->t, TAKT_F_JSON) ? print_json(r, plan, s, sha) : print_text(r, plan, s, sha);
}
