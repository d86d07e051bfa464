/* eval_rules.c - which share of the samples satisfies a model's constraints, and the first that do
 * not. A truth of one half or more satisfies. */
#include "eval_rules.h"

#include <stdlib.h>
#include <string.h>

#include <takt/logic.h>

static bool find_output(const takt_model *m, const char *name, size_t *output)
{
    for (*output = 0; *output < takt_model_output_count(m); ++*output)
        if (strcmp(takt_model_output(m, *output)->name, name) == 0)
            return true;
    return false;
}

bool tool_constraints_init(const takt_model *model, uint64_t samples, tool_constraints *c)
{
    const size_t all = takt_model_relation_count(model);
    *c = (tool_constraints){.samples = samples};
    c->at = calloc(all + 1, sizeof *c->at);
    for (size_t i = 0; i < all && c->at != NULL; i++) {
        takt_relation r;
        size_t output;
        /* rules have a stratum, and facts no semantics */
        if (takt_model_relation(model, i, &r) == TAKT_OK && r.semantics != NULL && r.stratum < 0 &&
            find_output(model, r.name, &output))
            c->at[c->count++] = (tool_constraint){.name = r.name, .output = output};
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

void tool_constraints_add(tool_constraints *c, takt_session *session, uint64_t sample)
{
    for (size_t i = 0; i < c->count; i++) {
        tool_constraint *k = &c->at[i];
        const takt_tensor_view *v = takt_session_output(session, k->output);
        const double truth = v != NULL ? truth_of(v) : 0;
        const bool holds = truth >= 0.5;
        k->sum += truth;
        k->held += holds;
        if (holds || k->example_count == TOOL_EXAMPLES)
            continue;
        k->example[k->example_count].sample = sample;
        k->example[k->example_count++].truth = truth;
    }
    c->runs++;
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
        for (size_t n = 0; n < k->example_count; n++)
            printf("%s{\"sample\": %llu, \"truth\": %.9g}", n > 0 ? ", " : "",
                   (unsigned long long)k->example[n].sample, k->example[n].truth);
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
        for (size_t n = 0; n < c->at[i].example_count; n++)
            printf("%s of %s: sample %llu, truth %.6f\n", "counterexample", c->at[i].name,
                   (unsigned long long)c->at[i].example[n].sample, c->at[i].example[n].truth);
}
