/* eval_rules.c - the fraction of samples that satisfy a model's constraints, and the first that do
 * not. A truth of one half or more satisfies. */
#include "eval_rules.h"

#include <stdlib.h>
#include <string.h>

#include <takt/logic.h>

#include "kept.h"

bool tool_constraints_init(const takt_tool *t, const takt_model *model, uint64_t samples,
                           tool_constraints *c)
{
    const size_t all = takt_model_relation_count(model);
    *c = (tool_constraints){.ctx = t->ctx, .model = model, .samples = samples};
    c->at = calloc(all + 1, sizeof *c->at);
    for (size_t i = 0; i < all && c->at != NULL; i++) {
        takt_relation r;
        /* rules have a stratum, and facts no semantics */
        if (takt_model_relation(model, i, &r) == TAKT_OK && r.semantics != NULL && r.stratum < 0)
            c->at[c->count++] = (tool_constraint){.name = r.name, .output = SIZE_MAX};
    }
    return c->at != NULL;
}

void tool_constraints_free(tool_constraints *c)
{
    free(c->at);
    *c = (tool_constraints){.count = 0};
}

static double truth_of(const takt_tensor_view *v)
{
    float narrow;
    double wide;
    if (v->dtype == TAKT_BOOL)
        return *(const unsigned char *)v->data != 0;
    if (v->dtype == TAKT_F64) {
        memcpy(&wide, v->data, sizeof wide);
        return wide;
    }
    memcpy(&narrow, v->data, sizeof narrow);
    return (double)narrow;
}

takt_plan *tool_constraints_plan(takt_tool *t, const tool_constraints *c, const tool_sizes *sizes,
                                 int *code)
{
    tool_kept outputs = {0};
    tool_request request;
    takt_plan *plan = NULL;
    *code = tool_finish(t, takt_constraint_outputs(c->model, tool_keep_text, &outputs));
    if (*code == TAKT_EXIT_OK)
        *code = tool_request_init(t, sizes->text, &request);
    if (*code == TAKT_EXIT_OK) {
        request.options.outputs = outputs.at;
        plan = tool_request_plan(t, c->model, &request, code);
    }
    free(outputs.at);
    return plan;
}

/* Where the session holds the constraint's truth. */
static size_t output_of(const takt_session *session, const char *name)
{
    size_t i = 0;
    while (i < takt_session_output_count(session) &&
           strcmp(takt_session_output_desc(session, i)->name, name) != 0)
        i++;
    return i;
}

/* The tuples of the sample that break the constraint; the sample itself if none is known. */
static takt_status add_examples(const tool_constraints *c, tool_constraint *k,
                                takt_session *session, uint64_t sample, double truth)
{
    takt_tuples tuples;
    const size_t left = TOOL_EXAMPLES - k->example_count;
    if (left == 0)
        return TAKT_OK;
    const takt_status status = takt_constraint_broken(c->model, k->name, session, left, &tuples);
    if (status != TAKT_OK)
        return status;
    for (size_t i = 0; i < tuples.count || i == 0; i++) {
        const size_t at = k->example_count++, arity = (size_t)tuples.arity;
        k->example[at].sample = sample;
        k->example[at].truth = tuples.count > 0 ? tuples.values[i] : truth;
        k->example[at].arity = tuples.count > 0 ? tuples.arity : 0;
        if (tuples.count > 0)
            memcpy(k->example[at].entry, tuples.entries + i * arity, arity * sizeof(uint32_t));
    }
    takt_tuples_free(c->ctx, &tuples);
    return TAKT_OK;
}

takt_status tool_constraints_add(tool_constraints *c, takt_session *session, uint64_t sample)
{
    for (size_t i = 0; i < c->count; i++) {
        tool_constraint *k = &c->at[i];
        if (k->output == SIZE_MAX)
            k->output = output_of(session, k->name);
        const takt_tensor_view *v = takt_session_output(session, k->output);
        const double truth = v != NULL ? truth_of(v) : 0;
        const bool holds = truth >= 0.5;
        k->sum += truth;
        k->held += holds;
        if (holds)
            continue;
        const takt_status status = add_examples(c, k, session, sample, truth);
        if (status != TAKT_OK)
            return status;
    }
    c->runs++;
    return TAKT_OK;
}

static void write_name(const char *name, size_t length, bool is_json)
{
    char *copy = is_json ? malloc(length + 1) : NULL;
    if (copy == NULL) {
        printf("%.*s", is_json ? 4 : (int)length, is_json ? "null" : name);
        return;
    }
    memcpy(copy, name, length);
    copy[length] = '\0';
    tool_print_string(stdout, copy);
    free(copy);
}

/* Names or numbers of a tuple. */
static void write_tuple(const tool_constraints *c, const tool_constraint *k, size_t n, bool is_json)
{
    for (int i = 0; i < k->example[n].arity; i++) {
        size_t length;
        const uint32_t entry = k->example[n].entry[i];
        const char *name = takt_relation_entry(c->model, k->name, i, entry, &length);
        printf("%s", i > 0 ? ", " : "");
        if (name != NULL)
            write_name(name, length, is_json);
        else
            printf("%lu", (unsigned long)entry);
    }
}

static void write_json(const tool_constraints *c, double runs)
{
    printf("{\"runs\": %llu, \"samples_a_run\": %llu, \"constraints\": [",
           (unsigned long long)c->runs, (unsigned long long)c->samples);
    for (size_t i = 0; i < c->count; i++) {
        const tool_constraint *k = &c->at[i];
        printf("%s{\"name\": \"%s\", \"satisfied\": %.9g, \"mean_truth\": %.9g, "
               "\"counterexamples\": [",
               i > 0 ? ", " : "", k->name, (double)k->held / runs, k->sum / runs);
        for (size_t n = 0; n < k->example_count; n++) {
            printf("%s{\"sample\": %llu, \"tuple\": [", n > 0 ? ", " : "",
                   (unsigned long long)k->example[n].sample);
            write_tuple(c, k, n, true);
            printf("], \"truth\": %.9g}", k->example[n].truth);
        }
        printf("]}");
    }
    puts("]}");
}

void tool_constraints_write(const tool_constraints *c, takt_format format)
{
    const double runs = c->runs > 0 ? (double)c->runs : 1;
    if (format == TAKT_FORMAT_JSON) {
        write_json(c, runs);
        return;
    }
    printf("%-24s %10s %11s  %s\n", "constraint", "satisfied", "mean truth",
           c->samples > 1 ? "of batches" : "of samples");
    for (size_t i = 0; i < c->count; i++)
        printf("%-24s %8.2f %% %11.6f  %llu\n", c->at[i].name, 100 * (double)c->at[i].held / runs,
               c->at[i].sum / runs, (unsigned long long)c->runs);
    for (size_t i = 0; i < c->count; i++)
        for (size_t n = 0; n < c->at[i].example_count; n++) {
            printf("%s of %s: sample %llu", "counterexample", c->at[i].name,
                   (unsigned long long)c->at[i].example[n].sample);
            if (c->at[i].example[n].arity > 0) {
                printf(", (");
                write_tuple(c, &c->at[i], n, false);
                printf(")");
            }
            printf(", truth %.6f\n", c->at[i].example[n].truth);
        }
}
