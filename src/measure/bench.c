/* bench.c - making and reading a benchmark's result, and what it says about the noise. */
#include "measure/bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/options.h"
#include "base/sha256.h"
#include "io/read.h"
#include "os/cpu.h"
#include "os/facts.h"
#include "stats/compare.h"

/* ---- the process and the machine ---- */

/* ---- making one ---- */

static const char *copy(takt_bench *b, const char *text)
{
    return text != NULL ? takt_arena_text(&b->arena, text, strlen(text)) : "";
}

/* The model's digest; a model that cannot be read has none, and reports that itself. */
static const char *digest(takt_bench *b, const char *path)
{
    void *bytes;
    size_t length;
    uint8_t sum[TAKT_SHA256_BYTES];
    char text[TAKT_SHA256_TEXT];
    takt_sha256 sha;
    if (path == NULL || takt_read_file(b->ctx, path, &bytes, &length) != TAKT_OK)
        return "";
    takt_sha256_init(&sha);
    takt_sha256_add(&sha, bytes, length);
    takt_sha256_end(&sha, sum);
    takt_sha256_text(sum, text);
    takt_mem_put(b->ctx, bytes, length);
    return copy(b, text);
}

static takt_status fill(takt_bench *b, const takt_bench_info *info)
{
    char fingerprint[17];
    takt_cpu_facts facts;
    takt_machine_fingerprint(fingerprint);
    takt_cpu_read(&facts);
    b->usable = facts.usable;
    b->model = copy(b, info->model);
    b->model_sha256 = digest(b, info->model);
    b->type = copy(b, info->type != NULL ? info->type : "inference");
    b->timestamp = copy(b, info->timestamp);
    b->fingerprint = copy(b, fingerprint);
    b->command = takt_arena_array(&b->arena, info->command_count, sizeof *b->command);
    if (b->command == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < info->command_count; i++)
        b->command[i] = copy(b, info->command[i]);
    b->command_count = info->command_count;
    const bool all = !info->latency && !info->throughput && !info->memory;
    b->latency = all || info->latency;
    b->throughput = all || info->throughput;
    b->memory_usage = all || info->memory;
    b->energy = info->energy;
    b->is_debug = takt_build_is_debug();
    b->has_ceilings = info->ceilings != NULL;
    if (b->has_ceilings)
        b->ceilings = *info->ceilings;
    takt_process_memory(&b->rss_before, &b->peak_before);
    takt_ticks_read(&b->ticks);
    return b->model != NULL && b->type != NULL && b->timestamp != NULL && b->fingerprint != NULL
               ? TAKT_OK
               : TAKT_ERR_MEMORY;
}

takt_status takt_bench_create(takt_ctx *ctx, const takt_bench_info *info, takt_bench **bench)
{
    takt_bench_info given;
    void *block;
    *bench = NULL;
    TAKT_TRY(takt_options_read(ctx, "takt_bench_info", info, &given, sizeof given));
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof(takt_bench), "a benchmark", &block));
    takt_bench *b = block;
    b->ctx = ctx;
    takt_arena_init(&b->arena, ctx);
    const takt_status status = fill(b, &given);
    if (status != TAKT_OK) {
        takt_bench_destroy(b);
        return status;
    }
    *bench = b;
    return TAKT_OK;
}

void takt_bench_destroy(takt_bench *b)
{
    if (b == NULL)
        return;
    for (size_t i = 0; i < b->count; i++)
        takt_timing_free(b->ctx, &b->rows[i].timing);
    takt_mem_put(b->ctx, b->rows, b->capacity * sizeof *b->rows);
    takt_arena_deinit(&b->arena);
    takt_mem_put(b->ctx, b, sizeof *b);
}

takt_status takt_bench_push(takt_bench *b, takt_bench_row **row)
{
    void *rows = b->rows;
    TAKT_TRY(takt_mem_grow(b->ctx, &rows, &b->capacity, b->count + 1, sizeof *b->rows));
    b->rows = rows;
    *row = &b->rows[b->count++];
    **row = (takt_bench_row){.batch = 1, .threads = 1, .usage = {.streams = 1, .cpu_pct = -1}};
    return TAKT_OK;
}

/* ---- asking ---- */

bool takt_build_is_debug(void)
{
#if !defined __OPTIMIZE__ || defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    return true;
#elif defined __has_feature
    return __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
    return false;
#endif
}

double takt_bench_rate(const takt_bench_row *r)
{
    const takt_bench_usage *m = &r->usage;
    const size_t each = m->scenario == TAKT_MULTI_STREAM ? m->streams : 1;
    return m->scenario == TAKT_SINGLE_STREAM ? r->throughput.median
                                             : m->qps * (double)r->batch * (double)each;
}

void takt_bench_label(takt_text *text, const takt_bench_row *r)
{
    const takt_bench_usage *m = &r->usage;
    takt_text_add(text, "batch %lld, %d thread%s", (long long)r->batch, r->threads,
                  r->threads == 1 ? "" : "s");
    if (m->scenario != TAKT_SINGLE_STREAM)
        takt_text_add(text, ", %s of %zu stream%s", takt_scenario_name(m->scenario), m->streams,
                      m->streams == 1 ? "" : "s");
    if (r->config.precision != NULL && strcmp(r->config.precision, "f32") != 0)
        takt_text_add(text, ", weights in %s", r->config.precision);
}

size_t takt_bench_count(const takt_bench *b)
{
    return b->count;
}

void takt_bench_case_name(const takt_bench *b, size_t index, char *to, size_t size)
{
    takt_text text;
    if (size > 0)
        to[0] = '\0';
    if (index >= b->count || size == 0)
        return;
    takt_text_init(&text, b->ctx);
    takt_bench_label(&text, &b->rows[index]);
    if (text.status == TAKT_OK)
        snprintf(to, size, "%s", takt_text_get(&text));
    takt_text_deinit(&text);
}

static bool are_alike(const takt_bench_row *a, const takt_bench_row *b)
{
    return a->batch == b->batch && a->threads == b->threads &&
           a->usage.scenario == b->usage.scenario && a->usage.streams == b->usage.streams;
}

static bool stored_alike(const takt_bench_row *a, const takt_bench_row *b)
{
    const char *x = a->config.precision, *y = b->config.precision;
    return x == NULL || y == NULL || strcmp(x, y) == 0;
}

static size_t count_alike(const takt_bench *b, const takt_bench_row *like)
{
    size_t count = 0;
    for (size_t i = 0; i < b->count; i++)
        count += are_alike(&b->rows[i], like);
    return count;
}

size_t takt_bench_find_case(const takt_bench *b, const takt_bench *like, size_t index)
{
    if (index >= like->count)
        return SIZE_MAX;
    const takt_bench_row *wanted = &like->rows[index];
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < b->count; i++) {
        if (!are_alike(&b->rows[i], wanted))
            continue;
        if (stored_alike(&b->rows[i], wanted))
            return i;
        found = i;
    }
    /* Weights stored differently are a difference between two results, unless one holds several. */
    return count_alike(b, wanted) == 1 && count_alike(like, wanted) == 1 ? found : SIZE_MAX;
}

void takt_bench_expect(takt_bench *b, size_t cases)
{
    b->expected = cases;
}

void takt_bench_set_incomplete(takt_bench *b, bool is_incomplete)
{
    b->is_cut = is_incomplete;
}

bool takt_bench_is_incomplete(const takt_bench *b)
{
    bool broken = b->is_cut || b->count < b->expected;
    for (size_t i = 0; i < b->count; i++)
        broken = broken || !b->rows[i].timing.is_complete;
    return broken;
}

const takt_timing *takt_bench_timing(const takt_bench *b, size_t index)
{
    return index < b->count ? &b->rows[index].timing : NULL;
}

int64_t takt_bench_batch(const takt_bench *b, size_t index)
{
    return index < b->count ? b->rows[index].batch : 0;
}

bool takt_bench_keeps_slo(const takt_bench *b, size_t index)
{
    if (index >= b->count)
        return false;
    const takt_bench_usage *m = &b->rows[index].usage;
    return !(m->slo.limit_ns > 0) || m->slo_met;
}

const char *takt_bench_fingerprint(const takt_bench *b)
{
    return b->fingerprint != NULL ? b->fingerprint : "";
}

const char *takt_bench_time(const takt_bench *b)
{
    return b->timestamp != NULL ? b->timestamp : "";
}

double takt_bench_noise_pct(const takt_bench *b)
{
    double worst = 0;
    for (size_t i = 0; i < b->count; i++)
        worst = fmax(worst, 100 * b->rows[i].noise);
    return worst;
}

int takt_bench_threads(const takt_bench *b, size_t index)
{
    return index < b->count ? b->rows[index].threads : 0;
}

bool takt_bench_config(const takt_bench *b, size_t index, takt_run_config *config)
{
    *config = index < b->count ? b->rows[index].config : (takt_run_config){0};
    return config->backend != NULL && config->precision != NULL && config->numerics != NULL;
}

char takt_noise_grade(double noise_pct, const takt_other_load *o)
{
    const double noise = noise_pct + o->steal_pct;
    const char by_noise = noise <= 0.5 ? 'A' : noise <= 1.5 ? 'B' : noise <= 5 ? 'C' : 'D';
    const char by_load = o->processors <= 0.05              ? 'A'
                         : o->processors <= 0.25            ? 'B'
                         : o->processors <= 0.5 * o->usable ? 'C'
                                                            : 'D';
    return by_noise > by_load ? by_noise : by_load;
}

bool takt_bench_has_noise(const takt_bench *b)
{
    bool any = false;
    for (size_t i = 0; i < b->count; i++)
        any = any || b->rows[i].timing.count >= TAKT_NOISE_TIMES;
    return any;
}

const char *takt_bench_grade(const takt_bench *b)
{
    static const char *const names[] = {"A", "B", "C", "D"};
    if (!takt_bench_has_noise(b))
        return "unknown";
    return names[takt_noise_grade(takt_bench_noise_pct(b), &b->others) - 'A'];
}

size_t takt_bench_best(const takt_bench *b)
{
    size_t best = 0;
    for (size_t i = 1; i < b->count; i++)
        if (takt_bench_rate(&b->rows[i]) > takt_bench_rate(&b->rows[best]))
            best = i;
    return best;
}
