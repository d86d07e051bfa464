/* benchmark_compare.c - is B faster than A? Models in turns, or result files. */
#include <stdlib.h>
#include <string.h>

#include "measure.h"

enum { EXIT_REGRESSION = 3, EXIT_INCONCLUSIVE = 5 };

typedef struct pair {
    takt_tool *t;
    const char *path[2];
    double margin, limit; /* limit: 0 if nothing is to fail */
    takt_pool *pool;
} pair;

/* --models a b, --results a b, or two arguments: all words count. */
static bool take_paths(pair *p)
{
    takt_tool *t = p->t;
    const tool_flag_id lists[] = {TAKT_F_MODELS, TAKT_F_RESULTS};
    size_t count = 0;
    for (size_t l = 0; l < 2; l++) {
        const char *item;
        for (size_t i = 0; (item = tool_item_of(t, lists[l], i)) != NULL; i++, count++)
            if (count < 2)
                p->path[count] = item;
    }
    for (size_t i = 0; i < t->arg_count; i++, count++)
        if (count < 2)
            p->path[count] = t->args[i];
    if (count != 2)
        tool_usage_error(t, 1003, "takt benchmark compare A B", "%zu things to compare: give two",
                         count);
    return count == 2;
}

/* slower:2% */
static bool take_limit(pair *p)
{
    const char *text = tool_text_of(p->t, TAKT_F_FAIL_ON);
    char *end;
    if (text == NULL)
        return true;
    if (strncmp(text, "slower", 6) == 0 && (text[6] == ':' || text[6] == '\0')) {
        const double value = text[6] == ':' ? strtod(text + 7, &end) : 1e-7;
        const bool percent = text[6] == ':' && *end == '%';
        if (text[6] == '\0' || (end > text + 7 && end[percent] == '\0' && value > 0)) {
            p->limit = percent ? value / 100 : value;
            return true;
        }
    }
    tool_usage_error(p->t, 1003, "write --fail-on slower:2%", "--fail-on %s is no condition", text);
    return false;
}

static bool is_result(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL && (strcmp(dot, ".json") == 0 || strcmp(dot, ".html") == 0);
}

static int report(pair *p, const takt_comparison *c, const takt_timing *a, const takt_timing *b)
{
    takt_bench_format format;
    const char *path;
    tool_buffer text = {0};
    if (!tool_bench_format_of(p->t, &format, &path))
        return TAKT_EXIT_USAGE;
    if (format != TAKT_BENCH_TEXT && format != TAKT_BENCH_JSON && format != TAKT_BENCH_HTML)
        return tool_usage_error(p->t, 1003, "there are text, json and html",
                                "a comparison has no such format");
    takt_compared of = {p->path[0], p->path[1], a, b, format};
    int code = tool_finish(p->t, takt_comparison_write(p->t->ctx, c, &of, tool_to_buffer, &text));
    const int saved = tool_buffer_save(p->t, &text, path);
    code = code != TAKT_EXIT_OK ? code : saved;
    of.format = TAKT_BENCH_TEXT;
    if (code == TAKT_EXIT_OK && strcmp(path, "-") != 0 && !tool_on(p->t, TAKT_F_QUIET))
        code = tool_finish(p->t, takt_comparison_write(p->t->ctx, c, &of, tool_to_stdout, NULL));
    if (code != TAKT_EXIT_OK)
        return code;
    if (p->limit > 0 && c->verdict == TAKT_SLOWER && c->ratio >= 1 + p->limit)
        return EXIT_REGRESSION;
    return c->verdict == TAKT_INCONCLUSIVE ? EXIT_INCONCLUSIVE : TAKT_EXIT_OK;
}

/* ---- models ---- */

typedef struct side {
    takt_model *model;
    takt_plan *plan;
    takt_session *session;
    tool_sizes sizes;
} side;

typedef struct both {
    pair *p;
    side side[2];
    int threads;
    int code; /* of what went wrong while sessions were made */
} both;

static int open_model(both *b, int index)
{
    takt_tool *t = b->p->t;
    side *s = &b->side[index];
    uint64_t list[TAKT_TOOL_LIST];
    size_t count;
    int code;
    t->args[0] = b->p->path[index];
    s->model = tool_open_model(t, &code);
    if (s->model == NULL)
        return code;
    if (!tool_numbers(t, TAKT_F_THREAD_LIST, list, &count))
        return TAKT_EXIT_USAGE;
    b->threads = count > 0 ? (int)list[0] : 0;
    const char *name = tool_batch_name(s->model);
    if (!tool_numbers(t, TAKT_F_BATCH_SIZES, list, &count) ||
        !tool_sizes_init(t, s->model, &s->sizes))
        return TAKT_EXIT_USAGE;
    if (count > 0 && name != NULL &&
        !tool_sizes_add(t, &s->sizes, name, (int64_t)list[0], "--batch-size"))
        return TAKT_EXIT_USAGE;
    return TAKT_EXIT_OK;
}

static void close_session(side *s)
{
    takt_session_destroy(s->session);
    takt_plan_destroy(s->plan);
    s->session = NULL;
    s->plan = NULL;
}

/* Both sides share one pool: workers that wait for one must not disturb the other. */
static int open_session(both *b, side *s)
{
    takt_tool *t = b->p->t;
    takt_plan_info info;
    int code;
    s->plan = tool_plan_for(t, s->model, s->sizes.text, b->threads, &code);
    if (s->plan == NULL)
        return code;
    takt_plan_query(s->plan, &info);
    if (b->p->pool == NULL && info.threads > 1)
        code = tool_finish(t, takt_pool_open(t->ctx, info.threads, &b->p->pool));
    if (code != TAKT_EXIT_OK)
        return code;
    const takt_session_options options = {.pool = b->p->pool};
    code = tool_finish(t, takt_session_create(s->plan, &options, &s->session));
    return code != TAKT_EXIT_OK ? code : tool_fill_inputs(t, s->session);
}

static takt_status renew(void *user, bool b_first, takt_session **a, takt_session **b)
{
    both *x = user;
    close_session(&x->side[b_first ? 1 : 0]);
    close_session(&x->side[b_first ? 0 : 1]);
    x->code = open_session(x, &x->side[b_first ? 1 : 0]);
    if (x->code == TAKT_EXIT_OK)
        x->code = open_session(x, &x->side[b_first ? 0 : 1]);
    *a = x->side[0].session;
    *b = x->side[1].session;
    return x->code == TAKT_EXIT_OK ? TAKT_OK : TAKT_ERR_STATE;
}

static int compare_sessions(both *b)
{
    pair *p = b->p;
    takt_comparison c;
    takt_session *first, *second;
    takt_compare_options options = {.margin = p->margin, .renew = renew, .user = b};
    if (!tool_duration(p->t, TAKT_F_DURATION, 3000000000, &options.max_ns))
        return TAKT_EXIT_USAGE;
    if (renew(b, false, &first, &second) != TAKT_OK)
        return b->code;
    const takt_status status = takt_session_compare(first, second, &options, &c);
    if (b->code != TAKT_EXIT_OK)
        return b->code;
    for (int i = 0; i < 2 && status != TAKT_OK; i++)
        if (takt_session_error(b->side[i].session)->status == status)
            return tool_report_error(p->t, takt_session_error(b->side[i].session));
    const int code = tool_finish(p->t, status);
    return code != TAKT_EXIT_OK ? code : report(p, &c, NULL, NULL);
}

static int compare_models(pair *p)
{
    both b = {.p = p};
    const char *none[2] = {NULL, NULL};
    const char **kept = p->t->args;
    p->t->args = none; /* tool_open_model takes the path from there */
    int code = open_model(&b, 0);
    if (code == TAKT_EXIT_OK)
        code = open_model(&b, 1);
    if (code == TAKT_EXIT_OK)
        code = compare_sessions(&b);
    p->t->args = kept;
    for (int i = 0; i < 2; i++) {
        close_session(&b.side[i]);
        takt_model_destroy(b.side[i].model);
    }
    takt_pool_close(p->pool);
    return code;
}

/* ---- files ---- */

static int mixed(const takt_tool *t)
{
    takt_error e = {.status = TAKT_ERR_REQUIREMENT, .id = 8003, .offset = -1};
    snprintf(e.message, sizeof e.message,
             "the results are of different machines: a difference would say nothing");
    return tool_report_error(t, &e);
}

static int compare_files(pair *p)
{
    takt_bench *benches[2] = {NULL, NULL};
    takt_comparison c;
    int code = TAKT_EXIT_OK;
    for (int i = 0; i < 2 && code == TAKT_EXIT_OK; i++)
        code = tool_finish(p->t, takt_bench_load(p->t->ctx, p->path[i], &benches[i]));
    if (code == TAKT_EXIT_OK &&
        strcmp(takt_bench_fingerprint(benches[0]), takt_bench_fingerprint(benches[1])) != 0)
        code = mixed(p->t);
    if (code == TAKT_EXIT_OK) {
        const takt_timing *a = takt_bench_timing(benches[0], 0);
        const takt_timing *b = takt_bench_timing(benches[1], 0);
        code = tool_finish(p->t, takt_timing_compare(p->t->ctx, a, b, p->margin, &c));
        if (code == TAKT_EXIT_OK)
            code = report(p, &c, a, b);
    }
    takt_bench_destroy(benches[0]);
    takt_bench_destroy(benches[1]);
    return code;
}

static int run(takt_tool *t)
{
    pair p = {.t = t};
    const char *type = tool_text_of(t, TAKT_F_TYPE);
    if (type != NULL && strcmp(type, "inference") != 0)
        return tool_usage_error(t, 1003, "there is inference", "nothing of type %s can be compared",
                                type);
    if (!take_paths(&p) || !take_limit(&p) || !tool_percent(t, TAKT_F_MARGIN, 0.01, &p.margin))
        return TAKT_EXIT_USAGE;
    if (is_result(p.path[0]) != is_result(p.path[1]))
        return tool_usage_error(t, 1003, NULL, "a model cannot be compared with a result file");
    return is_result(p.path[0]) ? compare_files(&p) : compare_models(&p);
}

const takt_verb takt_verb_benchmark_compare = {
    .name = "benchmark-compare",
    .summary = "which of two models or results is faster, and how sure that is",
    .arguments = "A B",
    .arg_min = 0,
    .arg_max = 64,
    .about =
        "Models are run in turns, A B B A, until the verdict is clear: faster, slower, same or\n"
        "inconclusive. Exit status 3: slower than --fail-on allows; 5: inconclusive.",
    .example = "takt benchmark compare old.takt new.takt --fail-on slower:2%",
    .flags = {TAKT_F_MODELS, TAKT_F_RESULTS, TAKT_F_SELECT, TAKT_F_SHAPE, TAKT_F_DIM, TAKT_F_SEED,
              TAKT_F_THREAD_LIST, TAKT_F_BATCH_SIZES, TOOL_PLAN_FLAGS, TAKT_F_TYPE, TAKT_F_DURATION,
              TAKT_F_MARGIN, TAKT_F_FAIL_ON, TAKT_F_FORMAT, TAKT_F_FILE, TAKT_FLAG_IDS},
    .run = run,
};
