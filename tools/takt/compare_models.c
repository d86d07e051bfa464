/* compare_models.c - two models, or one on two backends, run alternately in this process. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "signals.h"

typedef struct side {
    compare_side *of;
    takt_model *model;
    takt_plan *plan;
    takt_session *session;
    tool_sizes sizes;
} side;

enum { BALLASTS = 2, BALLAST_PAGES = 1024, PAGE = 4096 };

typedef struct both {
    compare_job *j;
    void *ballast[BALLASTS];
    uint32_t dice;
    side side[2];
    int threads;
    int code; /* of a failure while sessions were made */
} both;

static int open_model(both *b, int index)
{
    takt_tool *t = b->j->t;
    side *s = &b->side[index];
    uint64_t list[TAKT_TOOL_LIST];
    size_t count;
    int code;
    t->args[0] = s->of->path;
    s->model = tool_open_model(t, &code);
    if (s->model == NULL)
        return code;
    if (!tool_numbers(t, TAKT_F_THREAD_LIST, list, &count))
        return TAKT_EXIT_USAGE;
    b->threads = count > 0 ? (int)list[0] : 0;
    const char *name = tool_batch_name(s->model);
    if (!tool_numbers(t, TAKT_F_BATCH_SIZES, list, &count) ||
        !tool_sizes_given(t, s->model, &s->sizes))
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
    takt_tool *t = b->j->t;
    takt_plan_info info;
    takt_run_config config;
    int code = tool_planned(
        t, tool_plan_on(t, s->model, s->of->backend, s->sizes.text, b->threads, &s->plan));
    if (code != TAKT_EXIT_OK)
        return code;
    takt_plan_query(s->plan, &info);
    takt_plan_config(s->plan, &config);
    if (s->of->words[0][0] == '\0')
        tool_note_config(t, s->plan);
    compare_keep_config(s->of, &config);
    if (b->j->pool == NULL && info.threads > 1)
        code = tool_finish(t, takt_pool_open(t->ctx, info.threads, &b->j->pool));
    if (code != TAKT_EXIT_OK)
        return code;
    const takt_session_options options = {.pool = info.threads > 1 ? b->j->pool : NULL};
    code = tool_finish(t, takt_session_create(s->plan, &options, &s->session));
    return code != TAKT_EXIT_OK ? code : tool_fill_inputs(t, s->session);
}

/* A new session gets the same pages that the last one had, and with them the same cache behaviour:
 * a bias of 1 % and more that does not average out. So a random amount of memory is allocated
 * before each session, and held. If out of memory, this is skipped. */
static void shift_memory(both *x, int which)
{
    x->dice = x->dice * 1664525u + 1013904223u;
    const size_t pages = 1 + (x->dice >> 8) % BALLAST_PAGES, odd = (x->dice >> 20) % 64 * 64;
    free(x->ballast[which]);
    unsigned char *at = malloc(pages * PAGE + odd);
    for (size_t i = 0; at != NULL && i < pages; i++)
        at[i * PAGE] = 1; /* untouched pages are not allocated */
    x->ballast[which] = at;
}

static takt_status renew(void *user, bool b_first, takt_session **a, takt_session **b)
{
    both *x = user;
    tool_interrupts_watch(NULL, NULL);
    close_session(&x->side[b_first ? 1 : 0]);
    close_session(&x->side[b_first ? 0 : 1]);
    shift_memory(x, 0);
    x->code = open_session(x, &x->side[b_first ? 1 : 0]);
    shift_memory(x, 1);
    if (x->code == TAKT_EXIT_OK)
        x->code = open_session(x, &x->side[b_first ? 0 : 1]);
    *a = x->side[0].session;
    *b = x->side[1].session;
    tool_interrupts_watch(*a, *b);
    return x->code == TAKT_EXIT_OK ? TAKT_OK : TAKT_ERR_STATE;
}

static int fight(both *b, size_t other)
{
    compare_job *j = b->j;
    takt_comparison c;
    takt_session *first, *second;
    takt_timing blocks[2] = {{0}, {0}};
    takt_compare_options options = {.margin = j->margin,
                                    .blocks = (size_t)tool_number_of(j->t, TAKT_F_BLOCKS, 0),
                                    .inject = j->inject,
                                    .renew = renew,
                                    .user = b,
                                    .a_blocks = &blocks[0],
                                    .b_blocks = &blocks[1]};
    if (!tool_duration(j->t, TAKT_F_DURATION, 3000000000, &options.max_ns))
        return TAKT_EXIT_USAGE;
    if (renew(b, false, &first, &second) != TAKT_OK)
        return b->code;
    takt_status status = takt_session_compare(first, second, &options, &c);
    int code = b->code;
    tool_interrupts_watch(NULL, NULL);
    const bool is_cut = status == TAKT_ERR_CANCELLED && c.blocks > 0;
    if (is_cut) {
        fprintf(stderr, "note: interrupted after %zu blocks\n", c.blocks);
        status = TAKT_OK;
    }
    for (int i = 0; i < 2 && status != TAKT_OK && code == TAKT_EXIT_OK; i++)
        if (takt_session_error(b->side[i].session)->status == status)
            code = tool_report_error(j->t, takt_session_error(b->side[i].session));
    if (code == TAKT_EXIT_OK)
        code = tool_finish(j->t, status);
    if (code == TAKT_EXIT_OK)
        code = compare_report(j, other, &c, &blocks[0], &blocks[1]);
    if (is_cut && compare_is_verdict(code))
        code = TAKT_EXIT_INTERRUPTED;
    takt_timing_free(j->t->ctx, &blocks[0]);
    takt_timing_free(j->t->ctx, &blocks[1]);
    return code;
}

int compare_models(compare_job *j, size_t other)
{
    both b = {.j = j,
              .dice = (uint32_t)tool_now_ns(),
              .side = {{.of = &j->sides[0]}, {.of = &j->sides[other]}}};
    const char *none[2] = {NULL, NULL};
    const char **kept = j->t->args;
    j->t->args = none; /* tool_open_model takes the path from there */
    int code = open_model(&b, 0);
    if (code == TAKT_EXIT_OK)
        code = open_model(&b, 1);
    tool_signals signals;
    tool_interrupts_catch(&signals);
    if (code == TAKT_EXIT_OK)
        code = fight(&b, other);
    tool_signals_restore(&signals);
    j->t->args = kept;
    for (int i = 0; i < 2; i++) {
        close_session(&b.side[i]);
        takt_model_destroy(b.side[i].model);
    }
    for (int i = 0; i < BALLASTS; i++)
        free(b.ballast[i]);
    takt_pool_close(j->pool);
    j->pool = NULL;
    return code;
}
