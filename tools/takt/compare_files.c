/* compare_files.c - two result files, and event counts: from files, or counted here. */
#include <math.h>
#include <string.h>

#include "bench_job.h"
#include "compare.h"

bool compare_is_result(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL && (strcmp(dot, ".json") == 0 || strcmp(dot, ".html") == 0);
}

int compare_mixed(const takt_tool *t, const char *sentence)
{
    takt_error e = {.status = TAKT_ERR_REQUIREMENT, .id = 8003, .offset = -1};
    snprintf(e.message, sizeof e.message, "%s", sentence);
    return tool_report_error(t, &e);
}

static int load_both(compare_job *j, size_t other, takt_bench *benches[2])
{
    const size_t index[2] = {0, other};
    int code = TAKT_EXIT_OK;
    benches[0] = benches[1] = NULL;
    for (int i = 0; i < 2 && code == TAKT_EXIT_OK; i++) {
        code = tool_finish(j->t, takt_bench_load(j->t->ctx, j->sides[index[i]].path, &benches[i]));
        if (code != TAKT_EXIT_OK)
            break;
        compare_side *side = &j->sides[index[i]];
        side->is_incomplete = takt_bench_is_incomplete(benches[i]);
        snprintf(side->grade, sizeof side->grade, "%s", takt_bench_grade(benches[i]));
        if (i == 1 || other == 1) /* the first is read for each other */
            tool_note_incomplete(j->t, benches[i], side->path);
    }
    if (code == TAKT_EXIT_OK &&
        strcmp(takt_bench_fingerprint(benches[0]), takt_bench_fingerprint(benches[1])) != 0)
        code = compare_mixed(
            j->t, "the results are of different machines: a difference would say nothing");
    return code;
}

/* One case of both, by its name if there are several. */
static int compare_case(compare_job *j, size_t other, takt_bench *const benches[2],
                        const size_t at[2])
{
    takt_comparison c;
    char name[64];
    const takt_timing *a = takt_bench_timing(benches[0], at[0]);
    const takt_timing *b = takt_bench_timing(benches[1], at[1]);
    const bool several = takt_bench_count(benches[0]) > 1 || takt_bench_count(benches[1]) > 1;
    takt_bench_case_name(benches[0], at[0], name, sizeof name);
    j->case_name = several ? name : NULL;
    takt_run_config config;
    for (int i = 0; i < 2; i++)
        if (takt_bench_config(benches[i], at[i], &config))
            compare_keep_config(&j->sides[i == 0 ? 0 : other], &config);
    int code =
        tool_finish(j->t, takt_bench_compare(benches[0], at[0], benches[1], at[1], j->margin, &c));
    if (code != TAKT_EXIT_OK && takt_last_error_info(j->t->ctx)->id == 8001)
        code = TAKT_EXIT_INCONCLUSIVE; /* too few times */
    if (code == TAKT_EXIT_OK)
        code = compare_report(j, other, &c, a, b);
    j->case_name = NULL;
    return code;
}

/* Cases that only one result has are listed without a verdict. */
static int compare_cases(compare_job *j, size_t other, takt_bench *const benches[2])
{
    int worst = TAKT_EXIT_OK;
    size_t compared = 0;
    char name[64], sentence[400];
    for (size_t i = 0; i < takt_bench_count(benches[0]); i++) {
        const size_t at[2] = {i, takt_bench_find_case(benches[1], benches[0], i)};
        takt_bench_case_name(benches[0], i, name, sizeof name);
        if (at[1] < takt_bench_count(benches[1])) {
            worst = compare_worse(worst, compare_case(j, other, benches, at));
            compared++;
        } else if (takt_bench_count(benches[0]) > 1) {
            fprintf(stderr, "note: %s holds nothing of %s\n", j->sides[other].name, name);
        }
    }
    if (compared > 0)
        return worst;
    char theirs[64];
    takt_bench_case_name(benches[0], 0, name, sizeof name);
    takt_bench_case_name(benches[1], 0, theirs, sizeof theirs);
    snprintf(sentence, sizeof sentence,
             "the results have no case in common: %.80s is of %s, %.80s of %s", j->sides[0].name,
             name, j->sides[other].name, theirs);
    return compare_mixed(j->t, sentence);
}

int compare_files(compare_job *j, size_t other)
{
    takt_bench *benches[2];
    int code = load_both(j, other, benches);
    if (code == TAKT_EXIT_OK)
        code = compare_cases(j, other, benches);
    takt_bench_destroy(benches[0]);
    takt_bench_destroy(benches[1]);
    return code;
}

/* ---- counts ---- */

/* Counts vary by far less than times: a thousandth is a difference. */
static int report_counts(compare_job *j, size_t other, const double count[2], const char *source)
{
    const double ratio = count[1] / count[0];
    const double margin = tool_text_of(j->t, TAKT_F_MARGIN) != NULL ? j->margin : 0.001;
    const bool is_more = ratio > 1 + margin, is_fewer = ratio < 1 / (1 + margin);
    const char *verdict = is_more ? "more" : is_fewer ? "fewer" : "same";
    if (tool_on(j->t, TAKT_F_JSON)) {
        printf("{\"schema\": \"takt-compare/1\", \"a\": ");
        tool_print_string(stdout, j->sides[0].name);
        printf(", \"b\": ");
        tool_print_string(stdout, j->sides[other].name);
        printf(", \"metric\": \"instructions\", \"source\": \"%s\", \"a_count\": %.0f, "
               "\"b_count\": %.0f, \"ratio\": %.9g, \"margin\": %g, \"verdict\": \"%s\"}\n",
               source, count[0], count[1], ratio, margin, verdict);
    } else {
        printf("%s runs %.0f instructions, %s %.0f (%s): ", j->sides[0].name, count[0],
               j->sides[other].name, count[1], source);
        if (!is_more && !is_fewer)
            printf("the same, within %g %%\n", 100 * margin);
        else
            printf("%.3g %% %s\n", 100 * fabs(ratio - 1), verdict);
    }
    return j->limit > 0 && ratio >= 1 + j->limit && ratio > 1 + margin ? TAKT_EXIT_REGRESSION
                                                                       : TAKT_EXIT_OK;
}

static int uncounted(const takt_tool *t, const char *name)
{
    takt_error e = {.status = TAKT_ERR_UNSUPPORTED, .id = 8004, .offset = -1};
    snprintf(e.message, sizeof e.message, "there is no count of instructions of %s", name);
    snprintf(e.hint, sizeof e.hint,
             "takt benchmark run MODEL --counter instructions -o r.json; "
             "it needs perf or valgrind");
    return tool_report_error(t, &e);
}

static int count_files(compare_job *j, size_t other)
{
    takt_bench *benches[2];
    const char *source[2] = {NULL, NULL};
    double count[2] = {0, 0};
    int code = load_both(j, other, benches);
    for (int i = 0; i < 2 && code == TAKT_EXIT_OK; i++) {
        count[i] = takt_bench_counter(benches[i], 0, &source[i]);
        if (!(count[i] > 0))
            code = uncounted(j->t, j->sides[i == 0 ? 0 : other].name);
    }
    if (code == TAKT_EXIT_OK && strcmp(source[0], source[1]) != 0)
        code = compare_mixed(j->t, "one result was measured and the other simulated: they cannot "
                                   "be compared");
    if (code == TAKT_EXIT_OK)
        code = report_counts(j, other, count, source[0]);
    takt_bench_destroy(benches[0]);
    takt_bench_destroy(benches[1]);
    return code;
}

/* Models are simulated on both sides, so that the two figures are always of the same kind. */
int compare_counts(compare_job *j, size_t other)
{
    const size_t index[2] = {0, other};
    double count[2] = {0, 0};
    if (compare_is_result(j->sides[0].path))
        return count_files(j, other);
    for (int i = 0; i < 2; i++) {
        const char *path = j->sides[index[i]].path;
        FILE *file = fopen(path, "rb");
        if (file != NULL)
            fclose(file);
        count[i] = file != NULL ? bench_simulate(j->t, path, NULL) : 0;
        if (!(count[i] > 0))
            return uncounted(j->t, path);
    }
    return report_counts(j, other, count, "simulated");
}
