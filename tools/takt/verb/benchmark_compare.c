/* benchmark_compare.c - is B faster than A? Models, backends and builds, alternately, or result
 * files. */
#include <stdlib.h>
#include <string.h>

#include "compare.h"

/* ---- what is compared ---- */

static bool add_side(compare_job *j, compare_side side)
{
    if (j->count < COMPARE_SIDES)
        j->sides[j->count] = side;
    return j->count++ < COMPARE_SIDES;
}

/* --models a b, --results a b, or arguments: all words count. */
static void take_paths(compare_job *j)
{
    const tool_flag_id lists[] = {TAKT_F_MODELS, TAKT_F_RESULTS};
    const char *item;
    for (size_t l = 0; l < 2; l++)
        for (size_t i = 0; (item = tool_item_of(j->t, lists[l], i)) != NULL; i++)
            add_side(j, (compare_side){.name = item, .path = item});
    for (size_t i = 0; i < j->t->arg_count; i++)
        add_side(j, (compare_side){.name = j->t->args[i], .path = j->t->args[i]});
}

static int wrong_count(const compare_job *j, const char *what, const char *hint)
{
    return tool_usage_error(j->t, 1003, hint, "%zu thing%s to compare: give %s", j->count,
                            j->count == 1 ? "" : "s", what);
}

/* One model on every backend of the list. */
static int take_backends(compare_job *j, const char *list)
{
    const char *path = j->sides[0].path;
    if (j->count != 1)
        return wrong_count(j, "one model", "takt benchmark compare MODEL --backends cpu,ref");
    j->count = 0;
    snprintf(j->backends, sizeof j->backends, "%s", list);
    for (char *at = j->backends; *at != '\0';) {
        const size_t length = strcspn(at, ",");
        const bool more = at[length] == ',';
        at[length] = '\0';
        add_side(j, (compare_side){.name = at, .path = path, .backend = at});
        at += length + more;
    }
    return TAKT_EXIT_OK;
}

static int take_programs(compare_job *j, const char *a, const char *b)
{
    const char *path = j->sides[0].path;
    if (a == NULL || b == NULL)
        return tool_usage_error(j->t, 1003, "--bin-a old/takt --bin-b new/takt",
                                "two builds take two programs");
    if (j->count != 1)
        return wrong_count(j, "one model", "takt benchmark compare --bin-a A --bin-b B MODEL");
    j->count = 0;
    add_side(j, (compare_side){.name = a, .path = path, .program = a});
    add_side(j, (compare_side){.name = b, .path = path, .program = b});
    return TAKT_EXIT_OK;
}

static int take_sides(compare_job *j)
{
    const char *backends = tool_text_of(j->t, TAKT_F_BACKENDS);
    const char *a = tool_text_of(j->t, TAKT_F_BIN_A), *b = tool_text_of(j->t, TAKT_F_BIN_B);
    int code = TAKT_EXIT_OK;
    take_paths(j);
    if (backends != NULL)
        code = take_backends(j, backends);
    else if (a != NULL || b != NULL)
        code = take_programs(j, a, b);
    if (code != TAKT_EXIT_OK)
        return code;
    if (j->count < 2 || j->count > COMPARE_SIDES)
        return wrong_count(j, "two or more", "takt benchmark compare A B");
    for (size_t i = 1; i < j->count; i++)
        if (compare_is_result(j->sides[0].path) != compare_is_result(j->sides[i].path))
            return tool_usage_error(j->t, 1003, NULL,
                                    "a model cannot be compared with a result file");
    return TAKT_EXIT_OK;
}

/* slower:2% */
static bool take_limit(compare_job *j)
{
    const char *text = tool_text_of(j->t, TAKT_F_FAIL_ON);
    char *end;
    if (text == NULL)
        return true;
    if (strncmp(text, "slower", 6) == 0 && (text[6] == ':' || text[6] == '\0')) {
        const double value = text[6] == ':' ? strtod(text + 7, &end) : 1e-7;
        const bool percent = text[6] == ':' && *end == '%';
        if (text[6] == '\0' || (end > text + 7 && end[percent] == '\0' && value > 0)) {
            j->limit = percent ? value / 100 : value;
            return true;
        }
    }
    tool_usage_error(j->t, 1003, "write --fail-on slower:2%", "--fail-on %s is not a condition",
                     text);
    return false;
}

/* ---- the report ---- */

static int save(compare_job *j, const takt_comparison *c, takt_compared *of, size_t count)
{
    takt_bench_format format;
    const char *path;
    tool_buffer text = {0};
    if (!tool_bench_format_of(j->t, &format, &path))
        return TAKT_EXIT_USAGE;
    of[0].format = format;
    int code =
        tool_finish(j->t, takt_comparisons_write(j->t->ctx, c, of, count, tool_to_buffer, &text));
    const int saved = tool_buffer_save(j->t, &text, path);
    code = code != TAKT_EXIT_OK ? code : saved;
    of[0].format = TAKT_BENCH_TEXT;
    if (code == TAKT_EXIT_OK && strcmp(path, "-") != 0 && !tool_on(j->t, TAKT_F_QUIET))
        code = tool_finish(j->t,
                           takt_comparisons_write(j->t->ctx, c, of, count, tool_to_screen, j->t));
    return code;
}

/* A copy in this program's memory: the owner of the times is destroyed before the report is
 * written. */
static bool keep_times(const takt_timing *from, takt_timing *to)
{
    *to = (takt_timing){0};
    if (from == NULL || from->count == 0)
        return true;
    *to = *from;
    to->samples = malloc(from->count * sizeof *to->samples);
    if (to->samples != NULL)
        memcpy(to->samples, from->samples, from->count * sizeof *to->samples);
    return to->samples != NULL;
}

void compare_keep_config(compare_side *side, const takt_run_config *c)
{
    const char *const words[] = {c->backend, c->precision, c->numerics};
    for (size_t i = 0; i < 3; i++)
        snprintf(side->words[i], sizeof side->words[i], "%s", words[i] != NULL ? words[i] : "");
}

static takt_run_config config_of(const compare_side *s)
{
    const bool is_known = s->words[0][0] != '\0';
    return (takt_run_config){.backend = is_known ? s->words[0] : NULL,
                             .precision = is_known ? s->words[1] : NULL,
                             .numerics = is_known ? s->words[2] : NULL};
}

static const char *grade_of(const compare_side *s)
{
    return s->grade[0] != '\0' ? s->grade : NULL;
}

static void name_of(const compare_job *j, size_t side, char to[static 160])
{
    snprintf(to, 160, "%.100s%s%.50s", j->sides[side].name, j->case_name != NULL ? ", " : "",
             j->case_name != NULL ? j->case_name : "");
}

int compare_report(compare_job *j, size_t other, const takt_comparison *c, const takt_timing *a,
                   const takt_timing *b)
{
    char first[160], second[160];
    name_of(j, 0, first);
    name_of(j, other, second);
    takt_compared of = {.a = first,
                        .b = second,
                        .a_timing = a,
                        .b_timing = b,
                        .a_config = config_of(&j->sides[0]),
                        .b_config = config_of(&j->sides[other]),
                        .a_incomplete = j->sides[0].is_incomplete,
                        .b_incomplete = j->sides[other].is_incomplete,
                        .a_grade = grade_of(&j->sides[0]),
                        .b_grade = grade_of(&j->sides[other])};
    int code = TAKT_EXIT_OK;
    if (j->gathers && j->found_count < COMPARE_FOUND) {
        const size_t at = j->found_count++;
        j->found[at] = *c;
        memcpy(j->names[at][0], first, sizeof first);
        memcpy(j->names[at][1], second, sizeof second);
        j->kept[at][0] = j->sides[0];
        j->kept[at][1] = j->sides[other];
        if (!keep_times(a, &j->times[at][0]) || !keep_times(b, &j->times[at][1]))
            code = tool_finish(j->t, TAKT_ERR_MEMORY);
    } else {
        code = save(j, c, &of, 1);
    }
    if (code != TAKT_EXIT_OK)
        return code;
    if (j->limit > 0 && c->verdict == TAKT_SLOWER && c->ratio >= 1 + j->limit)
        return TAKT_EXIT_REGRESSION;
    return c->verdict == TAKT_INCONCLUSIVE ? TAKT_EXIT_INCONCLUSIVE : TAKT_EXIT_OK;
}

/* All comparisons in one report. */
static int save_all(compare_job *j)
{
    takt_compared *of = j->of;
    for (size_t i = 0; i < j->found_count; i++) {
        const takt_timing *a = &j->times[i][0], *b = &j->times[i][1];
        of[i] = (takt_compared){.a = j->names[i][0],
                                .b = j->names[i][1],
                                .a_timing = a->count > 0 ? a : NULL,
                                .b_timing = b->count > 0 ? b : NULL,
                                .a_config = config_of(&j->kept[i][0]),
                                .b_config = config_of(&j->kept[i][1]),
                                .a_incomplete = j->kept[i][0].is_incomplete,
                                .b_incomplete = j->kept[i][1].is_incomplete,
                                .a_grade = grade_of(&j->kept[i][0]),
                                .b_grade = grade_of(&j->kept[i][1])};
    }
    const int code = j->found_count > 0 ? save(j, j->found, of, j->found_count) : TAKT_EXIT_OK;
    for (size_t i = 0; i < j->found_count; i++) {
        free(j->times[i][0].samples);
        free(j->times[i][1].samples);
    }
    return code;
}

static int check_format(compare_job *j)
{
    takt_bench_format format;
    const char *path;
    if (!tool_bench_format_of(j->t, &format, &path))
        return TAKT_EXIT_USAGE;
    if (format != TAKT_BENCH_TEXT && format != TAKT_BENCH_JSON && format != TAKT_BENCH_HTML)
        return tool_usage_error(j->t, 1003, "there are text, json and html",
                                "a comparison has no such format");
    int code = TAKT_EXIT_OK;
    if (!tool_can_write(j->t, path, &code))
        return code;
    const bool several = j->count > 2 || compare_is_result(j->sides[0].path);
    j->gathers = several && (format != TAKT_BENCH_TEXT || strcmp(path, "-") != 0) &&
                 tool_text_of(j->t, TAKT_F_COUNTER) == NULL;
    return TAKT_EXIT_OK;
}

static int compare_one(compare_job *j, size_t other)
{
    if (tool_text_of(j->t, TAKT_F_COUNTER) != NULL)
        return compare_counts(j, other);
    if (j->sides[0].program != NULL)
        return compare_programs(j, other);
    return compare_is_result(j->sides[0].path) ? compare_files(j, other) : compare_models(j, other);
}

bool compare_is_verdict(int code)
{
    return code == TAKT_EXIT_OK || code == TAKT_EXIT_REGRESSION || code == TAKT_EXIT_INCONCLUSIVE;
}

int compare_worse(int a, int b)
{
    if (!compare_is_verdict(a) || b == TAKT_EXIT_OK)
        return a;
    return !compare_is_verdict(b) || a != TAKT_EXIT_REGRESSION ? b : a;
}

static int all(compare_job *j)
{
    int worst = TAKT_EXIT_OK;
    for (size_t i = 1; i < j->count && compare_is_verdict(worst); i++)
        worst = compare_worse(worst, compare_one(j, i));
    const int saved = save_all(j); /* including the comparisons before a failure */
    return saved != TAKT_EXIT_OK ? saved : worst;
}

static int run_job(compare_job *j)
{
    const takt_tool *t = j->t;
    const char *type = tool_text_of(t, TAKT_F_TYPE), *event = tool_text_of(t, TAKT_F_COUNTER);
    if (type != NULL && strcmp(type, "inference") != 0)
        return tool_usage_error(t, 1003, "there is inference", "nothing of type %s can be compared",
                                type);
    if (event != NULL && strcmp(event, "instructions") != 0)
        return tool_usage_error(t, 1003, "there is instructions", "there is no counter %s", event);
    int code = take_sides(j);
    if (code == TAKT_EXIT_OK)
        code = check_format(j);
    if (code != TAKT_EXIT_OK)
        return code;
    if (!take_limit(j) || !tool_percent(t, TAKT_F_MARGIN, 0.01, &j->margin) ||
        !tool_percent(t, TAKT_F_INJECT, 0, &j->inject))
        return TAKT_EXIT_USAGE;
    return all(j);
}

static int run(takt_tool *t)
{
    compare_job *j = calloc(1, sizeof *j);
    if (j == NULL)
        return tool_finish(t, TAKT_ERR_MEMORY);
    j->t = t;
    const int code = run_job(j);
    free(j);
    return code;
}

const takt_verb takt_verb_benchmark_compare = {
    .name = "benchmark-compare",
    .task = TAKT_TASK_MEASURE,
    .is_main = true,
    .summary = "compare the speed of models, builds or results",
    .arguments = "A B",
    .arg_min = 0,
    .arg_max = 64,
    .about =
        "Models run alternately (A B B A) until the verdict is clear: faster, slower, same or\n"
        "inconclusive. All are compared with the first one. Stored results were measured at\n"
        "different times: with one process each, changes below 4 % are not detected;\n"
        "--repeat-process detects smaller ones. Exit status 3: slower than --fail-on allows;\n"
        "4: not comparable; 5: inconclusive.",
    .example = "takt benchmark compare old.takt new.takt --fail-on slower:2%",
    .often = (const tool_flag_id[]){TAKT_F_MODELS, TAKT_F_RESULTS, TAKT_F_BACKENDS, TAKT_F_BIN_A,
                                    TAKT_F_BIN_B, TAKT_F_DIM, TAKT_F_THREAD_LIST, TAKT_F_DURATION,
                                    TAKT_F_BLOCKS, TAKT_F_MARGIN, TAKT_F_FAIL_ON, TAKT_F_FORMAT,
                                    TAKT_F_FILE, TAKT_FLAG_IDS},
    .flags = {TAKT_F_MODELS,      TAKT_F_RESULTS,  TAKT_F_BACKENDS,    TAKT_F_BIN_A,
              TAKT_F_BIN_B,       TAKT_F_SELECT,   TAKT_F_ALLOW_LINKS, TAKT_F_INPUT,
              TAKT_F_SHAPE,       TAKT_F_DIM,      TAKT_F_SEED,        TAKT_F_THREAD_LIST,
              TAKT_F_BATCH_SIZES, TOOL_PLAN_FLAGS, TAKT_F_TYPE,        TAKT_F_DURATION,
              TAKT_F_BLOCKS,      TAKT_F_MARGIN,   TAKT_F_FAIL_ON,     TAKT_F_COUNTER,
              TAKT_F_INJECT,      TAKT_F_FORMAT,   TAKT_F_FILE,        TAKT_FLAG_IDS},
    .run = run,
};
