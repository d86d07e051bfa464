/* system_rates.c - disk, loopback network and thread scaling: measured once, kept in a file. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "io/read.h"
#include "measure/ceilings.h"
#include "os/os.h"
#include "os/pool.h"
#include "os/traffic.h"

enum { BYTES = 64 << 20, TRIES = 4 };

/* ---- measuring ---- */

/* 1, 2, 4, ... and all. */
static int next_count(int threads, int all)
{
    return 2 * threads < all ? 2 * threads : threads < all ? all : 0;
}

/* The best of a few: if other processes need a processor meanwhile, threads help less. */
static void measure_rates(const takt_probe *p, const takt_kernel *k, takt_thread_rates *to)
{
    for (int i = 0; i < TRIES; i++) {
        if (k != NULL)
            to->f32_gflops = fmax(to->f32_gflops, takt_probe_peak(p, "peak_f32", k));
        to->read_gbs = fmax(to->read_gbs, takt_probe_read(p, BYTES / (size_t)p->threads));
    }
}

static takt_status measure_scaling(takt_ctx *ctx, takt_system_rates *r)
{
    const takt_kernel *k = takt_kernel_find("peak_f32", takt_isa_detect(), NULL, 0, NULL);
    takt_cpu_facts facts;
    takt_probe p = {.ctx = ctx, .bytes = BYTES};
    takt_cpu_read(&facts);
    const int all = takt_cpu_threads(&facts);
    TAKT_TRY(takt_mem_get(ctx, BYTES, "the bandwidth measurement", &p.memory));
    memset(p.memory, 0, BYTES);
    takt_status status = TAKT_OK;
    for (int threads = 1; threads > 0 && r->scaling_count < TAKT_SCALING && status == TAKT_OK;
         threads = next_count(threads, all)) {
        p.threads = threads;
        p.pool = NULL;
        if (threads > 1)
            status = takt_pool_create(ctx, threads, NULL, &p.pool);
        if (status != TAKT_OK)
            break;
        takt_thread_rates *to = &r->scaling[r->scaling_count++];
        to->threads = threads;
        measure_rates(&p, k, to);
        takt_pool_destroy(p.pool);
    }
    takt_mem_put(ctx, p.memory, BYTES);
    return status;
}

static takt_status measure_peaks(takt_ctx *ctx, takt_system_rates *r)
{
    takt_cpu_facts facts;
    takt_cpu_read(&facts);
    const takt_probe one = {.ctx = ctx, .threads = 1};
    takt_probe all = {.ctx = ctx, .threads = takt_cpu_threads(&facts)};
    if (all.threads > 1)
        TAKT_TRY(takt_pool_create(ctx, all.threads, NULL, &all.pool));
    takt_isa_peaks_measure(&one, &all, r);
    takt_pool_destroy(all.pool);
    return TAKT_OK;
}

static takt_status measure(takt_ctx *ctx, const char *folder, takt_system_rates *r)
{
    takt_disk_rates disk;
    takt_loopback_rates net;
    *r = (takt_system_rates){.from_file = false};
    takt_machine_fingerprint(r->fingerprint);
    const int disk_error = takt_disk_measure(ctx, folder, &disk);
    if (disk_error == 0) {
        r->disk_write_mbs = disk.write_mbs;
        r->disk_read_mbs = disk.read_mbs;
        r->disk_sync_ms = disk.sync_ms;
        r->disk_is_cached = disk.is_cached;
    } else {
        takt_os_reason(disk_error, r->disk_reason, sizeof r->disk_reason);
    }
    const int net_error = takt_loopback_measure(ctx, &net);
    if (net_error == 0) {
        r->loopback_mbs = net.mbs;
        r->loopback_us = net.round_trip_us;
    } else {
        takt_os_reason(net_error, r->loopback_reason, sizeof r->loopback_reason);
    }
    TAKT_TRY(measure_scaling(ctx, r));
    return measure_peaks(ctx, r);
}

/* ---- JSON ---- */

static void number(takt_json_writer *w, const char *key, double value)
{
    takt_json_key(w, key);
    if (value > 0)
        takt_json_number(w, value);
    else
        takt_json_null(w);
}

void takt_system_rates_json(takt_json_writer *w, const takt_system_rates *r)
{
    takt_json_key(w, "disk");
    takt_json_open(w, '{');
    number(w, "write_mbs", r->disk_write_mbs);
    number(w, "read_mbs", r->disk_read_mbs);
    number(w, "sync_ms", r->disk_sync_ms);
    takt_json_key(w, "is_cached");
    takt_json_bool(w, r->disk_is_cached);
    takt_json_close(w, '}');
    takt_json_key(w, "network");
    takt_json_open(w, '{');
    number(w, "loopback_mbs", r->loopback_mbs);
    number(w, "round_trip_us", r->loopback_us);
    takt_json_close(w, '}');
    takt_json_key(w, "thread_efficiency");
    takt_json_open(w, '[');
    for (int i = 0; i < r->scaling_count; i++) {
        const takt_thread_rates *t = &r->scaling[i], *one = &r->scaling[0];
        takt_json_open(w, '{');
        takt_json_key(w, "threads");
        takt_json_integer(w, t->threads);
        number(w, "f32_gflops", t->f32_gflops);
        number(w, "dram_gbs", t->read_gbs);
        number(w, "compute_pct", 100 * t->f32_gflops / fmax(1e-9, one->f32_gflops * t->threads));
        number(w, "bandwidth_pct", 100 * t->read_gbs / fmax(1e-9, one->read_gbs * t->threads));
        takt_json_close(w, '}');
    }
    takt_json_close(w, ']');
    takt_isa_peaks_write(w, r);
}

static const takt_json *member(const takt_json *object, const char *key)
{
    return object != NULL && object->kind == TAKT_JSON_OBJECT ? takt_json_get(object, key) : NULL;
}

static double value(const takt_json *object, const char *key)
{
    const takt_json *v = member(object, key);
    return v != NULL && v->kind == TAKT_JSON_NUMBER && v->number > 0 ? v->number : 0;
}

static bool read(const takt_json *root, takt_system_rates *r)
{
    const takt_json *disk = member(root, "disk"), *net = member(root, "network");
    const takt_json *list = member(root, "thread_efficiency"), *print = member(root, "fingerprint");
    *r = (takt_system_rates){.from_file = true};
    if (disk == NULL || net == NULL || list == NULL || list->kind != TAKT_JSON_ARRAY ||
        print == NULL || print->kind != TAKT_JSON_STRING || print->text_length != 16)
        return false;
    memcpy(r->fingerprint, print->text, 17);
    r->disk_write_mbs = value(disk, "write_mbs");
    r->disk_read_mbs = value(disk, "read_mbs");
    r->disk_sync_ms = value(disk, "sync_ms");
    const takt_json *cached = member(disk, "is_cached");
    r->disk_is_cached = cached != NULL && cached->boolean;
    r->loopback_mbs = value(net, "loopback_mbs");
    r->loopback_us = value(net, "round_trip_us");
    for (const takt_json *t = takt_json_first(list); t != NULL && r->scaling_count < TAKT_SCALING;
         t = takt_json_next(t))
        r->scaling[r->scaling_count++] =
            (takt_thread_rates){.threads = (int)fmin(1e6, value(t, "threads")),
                                .f32_gflops = value(t, "f32_gflops"),
                                .read_gbs = value(t, "dram_gbs")};
    return r->scaling_count > 0 && takt_isa_peaks_read(member(root, "peaks"), r);
}

static bool load(takt_ctx *ctx, const char *path, takt_system_rates *r)
{
    char fingerprint[17];
    takt_arena arena;
    const takt_json *root;
    void *bytes;
    size_t length;
    if (takt_read_file(ctx, path, &bytes, &length) != TAKT_OK)
        return false;
    takt_machine_fingerprint(fingerprint);
    takt_arena_init(&arena, ctx);
    const bool good = takt_json_parse(ctx, &arena, bytes, length, &root) == TAKT_OK &&
                      read(root, r) && strcmp(r->fingerprint, fingerprint) == 0;
    takt_arena_deinit(&arena);
    takt_mem_put(ctx, bytes, length);
    return good;
}

static takt_status save(takt_ctx *ctx, const char *path, const takt_system_rates *r)
{
    takt_text text;
    takt_json_writer w;
    takt_text_init(&text, ctx);
    takt_json_begin(&w, &text, true);
    takt_json_open(&w, '{');
    takt_json_key(&w, "schema");
    takt_json_string(&w, "takt-system/1");
    takt_json_key(&w, "fingerprint");
    takt_json_string(&w, r->fingerprint);
    takt_system_rates_json(&w, r);
    takt_json_close(&w, '}');
    const takt_status status = takt_write_text(ctx, path, &text);
    takt_text_deinit(&text);
    return status;
}

takt_status takt_system_rates_get(takt_ctx *ctx, const char *folder, const char *path, bool again,
                                  takt_system_rates *r)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, r);
    if (path != NULL && !again && load(ctx, path, r))
        return TAKT_OK;
    TAKT_TRY(measure(ctx, folder, r));
    if (path != NULL && save(ctx, path, r) != TAKT_OK)
        takt_log(ctx, TAKT_LOG_WARNING, "the rates were not kept: %s", takt_last_error(ctx));
    return TAKT_OK;
}
