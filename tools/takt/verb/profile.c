/* profile.c - where the time of a run goes, and suggestions. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "cache_use.h"
#include "measure.h"
#include "signals.h"

static int save(takt_tool *t, const takt_profile *p, takt_profile_view view, tool_flag_id flag)
{
    const char *path = tool_file_of(t, flag, 0);
    tool_buffer text = {0};
    if (path == NULL)
        return TAKT_EXIT_OK;
    const takt_status status =
        takt_profile_print(p, view, 0, TAKT_FORMAT_JSON, tool_to_buffer, &text);
    const int code = tool_finish(t, status);
    const int saved = tool_buffer_save(t, &text, path);
    return code != TAKT_EXIT_OK ? code : saved;
}

/* ---- which runs ---- */

typedef struct schedule {
    uint64_t wait, warmup, active; /* active 0: not given */
} schedule;

/* "wait=1,warmup=1,active=3", any of them, as in PyTorch's profiler. */
static bool take_schedule(const takt_tool *t, schedule *s)
{
    const char *text = tool_text_of(t, TAKT_F_SCHEDULE);
    const struct {
        const char *key;
        uint64_t *to;
    } parts[] = {{"wait=", &s->wait}, {"warmup=", &s->warmup}, {"active=", &s->active}};
    *s = (schedule){0};
    for (const char *at = text; at != NULL && *at != '\0';) {
        char number[24];
        size_t i = 0;
        while (i < 3 && strncmp(at, parts[i].key, strlen(parts[i].key)) != 0)
            i++;
        at += i < 3 ? strlen(parts[i].key) : 0;
        const size_t length = strcspn(at, ",");
        snprintf(number, sizeof number, "%.*s", (int)length, at);
        if (i == 3 || !tool_read_number(TAKT_FLAG_NUMBER, number, parts[i].to)) {
            s->active = 0;
            break;
        }
        at += length + (at[length] == ',');
    }
    if (text == NULL || s->active > 0)
        return true;
    tool_usage_error(t, 1003, "write --schedule wait=1,warmup=1,active=3",
                     "--schedule %s does not say which runs to look at", text);
    return false;
}

/* The runs that are not profiled. */
static takt_status run_before(takt_session *session, const schedule *s)
{
    takt_status status = TAKT_OK;
    for (uint64_t i = 0; i < s->wait + s->warmup && status == TAKT_OK; i++)
        status = takt_session_run(session);
    return status;
}

/* ---- the page ---- */

static int impact(takt_tool *t, takt_sink_fn *sink, void *user);

/* Into HTML: a text table stays preformatted. */
static int add_escaped(tool_buffer *to, const tool_buffer *from)
{
    for (size_t i = 0; i < from->length; i++) {
        const char c = from->at[i];
        const char *word = c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : NULL;
        if (tool_to_buffer(to, word != NULL ? word : &c, word != NULL ? strlen(word) : 1) != 0)
            return 1;
    }
    return 0;
}

/* Before the end of the page: the effect of each optimisation, measured now. */
static int add_impact(takt_tool *t, tool_buffer *page)
{
    static const char end[] = "</body></html>\n";
    static const char title[] = "<h2>What each optimisation is worth</h2>\n<pre>";
    tool_buffer text = {0};
    int code = impact(t, tool_to_buffer, &text);
    if (code == TAKT_EXIT_OK) {
        page->length -= page->length >= sizeof end - 1 ? sizeof end - 1 : 0;
        const int bad = tool_to_buffer(page, title, sizeof title - 1) + add_escaped(page, &text) +
                        tool_to_buffer(page, "</pre>\n", 7) +
                        tool_to_buffer(page, end, sizeof end - 1);
        code = bad != 0 ? tool_finish(t, TAKT_ERR_MEMORY) : TAKT_EXIT_OK;
    }
    free(text.at);
    return code;
}

static int save_page(takt_tool *t, const takt_profile *p)
{
    const char *path = tool_text_of(t, TAKT_F_PAGE_FILE);
    tool_buffer page = {0};
    if (path == NULL)
        return TAKT_EXIT_OK;
    int code = tool_finish(
        t, takt_profile_print(p, TAKT_PROFILE_PAGE, 0, TAKT_FORMAT_TEXT, tool_to_buffer, &page));
    if (code == TAKT_EXIT_OK && tool_on(t, TAKT_F_IMPACT))
        code = add_impact(t, &page);
    if (code == TAKT_EXIT_OK)
        return tool_buffer_save(t, &page, path);
    free(page.at);
    return code;
}

static bool check_page(const takt_tool *t, int *code)
{
    const char *path = tool_text_of(t, TAKT_F_PAGE_FILE);
    const char *dot = path != NULL ? strrchr(path, '.') : NULL;
    if (path == NULL || (dot != NULL && strcmp(dot, ".html") == 0))
        return path == NULL || tool_can_write(t, path, code);
    *code = tool_usage_error(t, 1003, "write -o profile.html; --json prints the figures",
                             "a profile is written as a page, not as %s", path);
    return false;
}

/* Everything besides the table, determined before anything is measured. */
static bool check_files(const takt_tool *t, int *code)
{
    static const tool_flag_id files[] = {TAKT_F_TRACE_FILE, TAKT_F_FOLDED, TAKT_F_FLAME,
                                         TAKT_F_MEMORY};
    const char *flame = tool_text_of(t, TAKT_F_FLAME);
    const char *dot = flame != NULL ? strrchr(flame, '.') : NULL;
    const bool is_impact = tool_on(t, TAKT_F_IMPACT) && tool_text_of(t, TAKT_F_PAGE_FILE) == NULL;
    if (flame != NULL && strcmp(flame, "-") != 0 && (dot == NULL || strcmp(dot, ".svg") != 0)) {
        *code = tool_usage_error(t, 1003, "write --flame flame.svg",
                                 "a flame graph is a picture in SVG, not %s", flame);
        return false;
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *path = tool_file_of(t, files[i], 0);
        if (path != NULL && is_impact) {
            *code = tool_usage_error(t, 1003, "ask for one of the two, or add -o profile.html",
                                     "--impact looks at no steps, which --%s asks for",
                                     tool_flags[files[i]].name);
            return false;
        }
        if (path != NULL && !tool_can_write(t, path, code))
            return false;
    }
    return true;
}

static int print(takt_tool *t, const takt_profile *p)
{
    const takt_profile_view view = tool_on(t, TAKT_F_LAYERS)   ? TAKT_PROFILE_LAYERS
                                   : tool_on(t, TAKT_F_MEMORY) ? TAKT_PROFILE_MEMORY
                                   : tool_on(t, TAKT_F_BRIEF)  ? TAKT_PROFILE_BRIEF
                                                               : TAKT_PROFILE_STEPS;
    static const struct {
        takt_profile_view view;
        tool_flag_id flag;
    } files[] = {{TAKT_PROFILE_TRACE, TAKT_F_TRACE_FILE},
                 {TAKT_PROFILE_MEMORY, TAKT_F_MEMORY},
                 {TAKT_PROFILE_FOLDED, TAKT_F_FOLDED},
                 {TAKT_PROFILE_FLAME, TAKT_F_FLAME}};
    int code = save_page(t, p);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const int saved = save(t, p, files[i].view, files[i].flag);
        code = code != TAKT_EXIT_OK ? code : saved;
    }
    /* A full disk must not lose measurements. */
    const int shown =
        tool_finish(t, takt_profile_print(p, view, (size_t)tool_number_of(t, TAKT_F_TOP, 0),
                                          tool_format_of(t), tool_to_screen, t));
    return code != TAKT_EXIT_OK ? code : shown;
}

static int profile(takt_tool *t, tool_bench *b, const schedule *s)
{
    takt_ceilings ceilings;
    takt_profile *p = NULL;
    uint64_t max_ns;
    const uint64_t usual = tool_on(t, TAKT_F_BRIEF) ? 200000000 : 1000000000;
    if (!tool_duration(t, TAKT_F_DURATION, usual, &max_ns))
        return TAKT_EXIT_USAGE;
    int code = tool_ceilings(t, false, &ceilings);
    if (code != TAKT_EXIT_OK)
        return code;
    const char *path = tool_text_of(t, TAKT_F_MODEL), *name = tool_text_of(t, TAKT_F_SELECT);
    char now[32], model[512];
    tool_timestamp(now);
    snprintf(model, sizeof model, "%.400s%s%.80s", path != NULL ? path : t->args[0],
             name != NULL ? ", " : "", name != NULL ? name : "");
    const takt_profile_options options = {.ceilings = &ceilings,
                                          .model = model,
                                          .timestamp = now,
                                          .max_ns = max_ns,
                                          .runs = s->active,
                                          .whole = tool_text_of(t, TAKT_F_DURATION) != NULL,
                                          .load_ns = (uint64_t)b->load_ns};
    tool_signals signals;
    tool_interrupts_catch(&signals);
    tool_interrupts_watch(b->session, NULL);
    takt_status status = run_before(b->session, s);
    if (status == TAKT_OK)
        status = takt_profile_create(b->session, &options, &p);
    tool_interrupts_watch(NULL, NULL);
    tool_signals_restore(&signals);
    if (status != TAKT_OK && takt_session_error(b->session)->status == status)
        return tool_report_error(t, takt_session_error(b->session));
    code = tool_finish(t, status);
    const bool is_cut = code == TAKT_EXIT_OK && tool_is_interrupted();
    if (is_cut)
        fprintf(stderr, "note: interrupted: the figures are of what was measured until then\n");
    if (code == TAKT_EXIT_OK && !is_cut)
        code = tool_profile_cache(t, b, p);
    if (code == TAKT_EXIT_OK)
        code = print(t, p);
    takt_profile_destroy(p);
    return code == TAKT_EXIT_OK && is_cut ? TAKT_EXIT_INTERRUPTED : code;
}

/* It makes its own plans, so no session is needed. */
static int impact(takt_tool *t, takt_sink_fn *sink, void *user)
{
    tool_sizes sizes;
    uint64_t max_ns;
    int code;
    if (!tool_duration(t, TAKT_F_DURATION, 100000000, &max_ns))
        return TAKT_EXIT_USAGE;
    takt_model *model = tool_open_model(t, &code);
    if (model == NULL)
        return code;
    tool_request r;
    code =
        tool_sizes_init(t, model, &sizes) ? tool_request_init(t, sizes.text, &r) : TAKT_EXIT_USAGE;
    if (code == TAKT_EXIT_OK) {
        code = tool_finish(
            t, takt_profile_impact(model, &r.options, max_ns, tool_format_of(t), sink, user));
        tool_request_free(&r);
    }
    takt_model_destroy(model);
    return code;
}

static int run(takt_tool *t)
{
    tool_bench b;
    schedule s;
    if (!tool_cache_flag(t) || !take_schedule(t, &s))
        return TAKT_EXIT_USAGE;
    if (tool_on(t, TAKT_F_IMPACT) && tool_text_of(t, TAKT_F_COUNTERS) != NULL)
        return tool_usage_error(t, 1003, "ask for one of the two",
                                "--impact shows no cache figures, which --counters asks for");
    int code;
    if (!check_page(t, &code) || !check_files(t, &code))
        return code;
    if (tool_on(t, TAKT_F_IMPACT) && tool_text_of(t, TAKT_F_PAGE_FILE) == NULL)
        return impact(t, tool_to_screen, t);
    code = tool_bench_open(t, &b);
    if (code != TAKT_EXIT_OK)
        return code;
    code = profile(t, &b, &s);
    tool_bench_close(&b);
    return code;
}

const takt_verb takt_verb_profile = {
    .name = "profile",
    .task = TAKT_TASK_MEASURE,
    .is_main = true,
    .summary = "measure each step and compare it with the machine's limits",
    .arguments = "MODEL",
    .arg_min = 1,
    .arg_max = 1,
    .about =
        "Every time has a 95 % confidence interval. The ceilings of this machine are measured\n"
        "once and stored in ~/.cache/takt; `takt benchmark system --measure` measures them\n"
        "again. -o profile.html also writes a page with roofline and memory; --impact adds\n"
        "its table.\n\n"
        "--counters perf uses the processor's counters, where the kernel allows it;\n"
        "cachegrind runs the model in valgrind, about 80 times slower; model estimates from\n"
        "the plan's bytes and the cache sizes. auto uses the first that is available,\n"
        "cachegrind only if it takes less than about 10 s. perf and cachegrind use one\n"
        "thread.",
    .example = "takt profile examples/mlp.takt -D batch=32 --trace trace.json",
    .often =
        (const tool_flag_id[]){TAKT_F_INPUT, TAKT_F_DIM, TAKT_F_SHAPE, TAKT_F_THREADS,
                               TAKT_F_BACKEND, TAKT_F_LEVEL, TAKT_F_DURATION, TAKT_F_TRACE_FILE,
                               TAKT_F_TOP, TAKT_F_MEMORY, TAKT_F_PAGE_FILE, TAKT_FLAG_IDS},
    .flags = {TAKT_F_MODEL,       TAKT_F_SELECT,     TAKT_F_WEIGHTS,  TAKT_F_ALLOW_LINKS,
              TAKT_F_DENSE_LIMIT, TAKT_F_MMAP,       TAKT_F_INPUT,    TAKT_F_SHAPE,
              TAKT_F_DIM,         TAKT_F_SEED,       TAKT_F_RANDOM,   TAKT_F_THREADS,
              TOOL_PLAN_FLAGS,    TAKT_F_DURATION,   TAKT_F_SCHEDULE, TAKT_F_TRACE_FILE,
              TAKT_F_FOLDED,      TAKT_F_FLAME,      TAKT_F_LAYERS,   TAKT_F_MEMORY,
              TAKT_F_TOP,         TAKT_F_BRIEF,      TAKT_F_IMPACT,   TAKT_F_COUNTERS,
              TAKT_F_PAGE_FILE,   TOOL_THREAD_FLAGS, TAKT_F_TRAIN,    TAKT_F_OPTIMIZER,
              TAKT_F_LOSS,        TAKT_F_AMP,        TAKT_F_TRADEOFF, TAKT_F_ACTIVATION_LIMIT,
              TAKT_F_STATE_AUTO,  TAKT_FLAG_IDS},
    .run = run,
};
