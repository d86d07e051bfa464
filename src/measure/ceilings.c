/* ceilings.c - measures the machine once, and keeps the result in a file. */
#include "measure/ceilings.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "io/read.h"

const char *const takt_level_names[TAKT_LEVELS] = {"L1", "L2", "L3", "DRAM"};

enum { DRAM = TAKT_LEVELS - 1 };

/* ---- measuring ---- */

enum { PEAKS = 5 };

static double *peak_of(takt_ceiling *c, int i)
{
    double *const all[PEAKS] = {&c->f32_gflops, &c->f64_gflops, &c->int8_gops, &c->f16_gflops,
                                &c->bf16_gflops};
    return all[i];
}

/* Portable code has no 16-bit arithmetic: its peak there would be meaningless. */
static double best_peak(const takt_probe *p, int i)
{
    static const struct {
        const char *family;
        bool is_half;
    } peaks[PEAKS] = {{"peak_f32", false},
                      {"peak_f64", false},
                      {"peak_i8", false},
                      {"peak_f16", true},
                      {"peak_bf16", true}};
    const takt_kernel *k = takt_kernel_find(peaks[i].family, takt_isa_detect(), NULL, 0, NULL);
    return k != NULL && (k->rank > 0 || !peaks[i].is_half) ? takt_probe_peak(p, peaks[i].family, k)
                                                           : 0;
}

/* Bytes per thread that fit `level` but no smaller one; 0 if there is no such level. */
static size_t set_size(const takt_cpu_facts *f, int level, int threads, size_t most)
{
    if (level == DRAM)
        return most / (size_t)threads;
    const uint64_t here = f->data[level].bytes;
    const uint64_t above = level > 0 ? f->data[level - 1].bytes : 0;
    if (here == 0)
        return 0;
    const uint64_t sharers = level == 2 ? (uint64_t)threads : 1;
    const uint64_t want = here / 2 / sharers;
    return (size_t)(want > 2 * above ? want : 2 * above);
}

static void measure_one(const takt_probe *p, const takt_cpu_facts *f, takt_ceiling *c)
{
    c->threads = p->threads;
    for (int i = 0; i < PEAKS; i++)
        *peak_of(c, i) = best_peak(p, i);
    for (int level = 0; level < TAKT_LEVELS; level++) {
        const size_t bytes = set_size(f, level, p->threads, p->bytes);
        c->read_gbs[level] = bytes > 0 ? takt_probe_read(p, bytes) : 0;
        c->copy_gbs[level] = bytes > 0 ? takt_probe_copy(p, bytes) : 0;
    }
}

/* Four times the last cache, within reason. */
static size_t memory_for(const takt_cpu_facts *f)
{
    uint64_t last = 0;
    for (int i = 0; i < TAKT_CACHE_LEVELS; i++)
        last = f->data[i].bytes > last ? f->data[i].bytes : last;
    uint64_t bytes = last > 0 ? 4 * last : 64u << 20;
    const uint64_t least = 16u << 20, most = 256u << 20, allowed = takt_memory_allowed() / 8;
    bytes = bytes < least ? least : bytes > most ? most : bytes;
    return (size_t)(allowed > 0 && bytes > allowed ? allowed : bytes);
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Several threads are never slower than one: if they seem to be, other processes used the
 * processors. */
static void keep_larger(takt_ceiling *all, takt_ceiling *one)
{
    for (int i = 0; i < PEAKS; i++)
        *peak_of(all, i) = larger(*peak_of(all, i), *peak_of(one, i));
    for (int i = 0; i < TAKT_LEVELS; i++) {
        all->read_gbs[i] = larger(all->read_gbs[i], one->read_gbs[i]);
        all->copy_gbs[i] = larger(all->copy_gbs[i], one->copy_gbs[i]);
    }
}

/* Every thread has its own units and inner caches, so all of them must reach this rate. */
static bool is_low(double all, double one, int threads)
{
    return all < 0.75 * threads * one;
}

static bool is_private(const takt_cpu_facts *f, int level)
{
    const int siblings =
        f->usable_cores > 0 ? (f->usable + f->usable_cores - 1) / f->usable_cores : 1;
    return level < 2 && f->data[level].bytes > 0 && f->data[level].shared_by <= siblings;
}

/* In a file that was written under machine load. */
static bool is_implausible(const takt_ceilings *c)
{
    takt_ceiling one = c->one, all = c->all;
    bool low = is_low(all.read_gbs[0], one.read_gbs[0], all.threads);
    for (int i = 0; i < PEAKS; i++)
        low |= is_low(*peak_of(&all, i), *peak_of(&one, i), all.threads);
    return low;
}

/* A measurement taken under machine load is repeated a few times. */
static void measure_low_again(const takt_probe *p, const takt_cpu_facts *f, takt_ceiling *one,
                              takt_ceiling *all)
{
    enum { TIMES = 3 };
    for (int i = 0; i < TIMES; i++) {
        for (int k = 0; k < PEAKS; k++)
            if (is_low(*peak_of(all, k), *peak_of(one, k), p->threads))
                *peak_of(all, k) = larger(*peak_of(all, k), best_peak(p, k));
        for (int level = 0; level < DRAM; level++) {
            const size_t bytes = set_size(f, level, p->threads, p->bytes);
            if (!is_private(f, level) ||
                !is_low(all->read_gbs[level], one->read_gbs[level], p->threads))
                continue;
            all->read_gbs[level] = larger(all->read_gbs[level], takt_probe_read(p, bytes));
            all->copy_gbs[level] = larger(all->copy_gbs[level], takt_probe_copy(p, bytes));
        }
    }
}

/* A rate that stays low is replaced by that of one thread: a ceiling that every step exceeds is
 * meaningless. */
static void raise_low(const takt_cpu_facts *f, takt_ceilings *c)
{
    takt_ceiling *all = &c->all, *one = &c->one;
    const int n = all->threads;
    for (int i = 0; i < PEAKS; i++)
        if (is_low(*peak_of(all, i), *peak_of(one, i), n)) {
            *peak_of(all, i) = n * *peak_of(one, i);
            c->is_scaled = true;
        }
    for (int level = 0; level < DRAM; level++)
        if (is_private(f, level) && is_low(all->read_gbs[level], one->read_gbs[level], n)) {
            all->read_gbs[level] = n * one->read_gbs[level];
            all->copy_gbs[level] = n * one->copy_gbs[level];
            c->is_scaled = true;
        }
}

static takt_status measure_all(takt_probe *p, const takt_cpu_facts *f, takt_ceilings *c)
{
    TAKT_TRY(takt_pool_create(p->ctx, p->threads, NULL, &p->pool));
    measure_one(p, f, &c->all);
    keep_larger(&c->all, &c->one);
    measure_low_again(p, f, &c->one, &c->all);
    raise_low(f, c);
    takt_pool_destroy(p->pool);
    return TAKT_OK;
}

takt_status takt_ceilings_measure(takt_ctx *ctx, const takt_cpu_facts *f, takt_ceilings *c)
{
    takt_probe p = {.ctx = ctx, .threads = 1, .bytes = memory_for(f)};
    *c = (takt_ceilings){.from_file = false};
    takt_fingerprint_of(f, c->fingerprint);
    for (int i = 0; i < DRAM; i++)
        c->cache_bytes[i] = f->data[i].bytes;
    c->cache_bytes[DRAM] = takt_memory_allowed();
    TAKT_TRY(takt_mem_get(ctx, p.bytes, "the bandwidth measurement", &p.memory));
    memset(p.memory, 0, p.bytes);
    measure_one(&p, f, &c->one);
    c->all = c->one;
    p.threads = takt_cpu_threads(f);
    const takt_status status = p.threads > 1 ? measure_all(&p, f, c) : TAKT_OK;
    takt_mem_put(ctx, p.memory, p.bytes);
    return status;
}

/* ---- queries ---- */

int takt_ceilings_level(const takt_ceilings *c, double bytes)
{
    for (int i = 0; i < DRAM; i++)
        if (c->cache_bytes[i] > 0 && bytes <= (double)c->cache_bytes[i])
            return i;
    return DRAM;
}

double takt_ceilings_read_gbs(const takt_ceilings *c, int level, bool all_threads)
{
    const takt_ceiling *of = all_threads ? &c->all : &c->one;
    for (; level < TAKT_LEVELS; level++)
        if (of->read_gbs[level] > 0)
            return of->read_gbs[level];
    return 0;
}

/* ---- the file ---- */

static takt_status load(takt_ctx *ctx, const char *path, const char *fingerprint, takt_ceilings *c)
{
    takt_arena arena;
    const takt_json *root = NULL;
    void *bytes;
    size_t length;
    TAKT_TRY(takt_read_file(ctx, path, &bytes, &length));
    takt_arena_init(&arena, ctx);
    takt_status status = takt_json_parse(ctx, &arena, bytes, length, &root);
    if (status == TAKT_OK &&
        (!takt_ceilings_read(root, c) || strcmp(c->fingerprint, fingerprint) != 0))
        status =
            takt_fail(ctx, TAKT_E_RESULT_FILE, "%s holds the ceilings of another machine", path);
    takt_arena_deinit(&arena);
    takt_mem_put(ctx, bytes, length);
    return status;
}

static takt_status save(takt_ctx *ctx, const char *path, const takt_ceilings *c)
{
    takt_text text;
    takt_json_writer w;
    takt_text_init(&text, ctx);
    takt_json_begin(&w, &text, true);
    takt_json_open(&w, '{');
    takt_json_key(&w, "schema");
    takt_json_string(&w, "takt-ceilings/1");
    takt_ceilings_write(&w, c);
    takt_json_close(&w, '}');
    const takt_status status = takt_write_text(ctx, path, &text);
    takt_text_deinit(&text);
    return status;
}

takt_status takt_ceilings_get(takt_ctx *ctx, const char *path, bool again, takt_ceilings *c)
{
    takt_cpu_facts facts;
    char fingerprint[17];
    takt_cpu_read(&facts);
    takt_fingerprint_of(&facts, fingerprint);
    if (path != NULL && !again && load(ctx, path, fingerprint, c) == TAKT_OK &&
        !is_implausible(c)) {
        c->from_file = true;
        return TAKT_OK;
    }
    TAKT_TRY(takt_ceilings_measure(ctx, &facts, c));
    /* If the folder cannot be written, the next caller measures again for a second; this one loses
     * nothing. */
    if (path != NULL && c->is_scaled) /* by other processes meanwhile */
        takt_log(ctx, TAKT_LOG_WARNING, "the ceilings were not kept: the machine was busy");
    else if (path != NULL && save(ctx, path, c) != TAKT_OK)
        takt_log(ctx, TAKT_LOG_WARNING, "the ceilings were not kept: %s", takt_last_error(ctx));
    return TAKT_OK;
}
