/* machine.c - `takt benchmark system`: a description of the machine, for people and programs. */
#include <stdio.h>
#include <string.h>

#include "api/backends.h"
#include "base/mem.h"
#include "measure/session/measure.h"
#include "os/facts.h"

static void line(takt_table *t, const char *what, const char *value)
{
    takt_table_cell(t, "%s", what);
    takt_table_cell(t, "%s", value);
}

static void specs(takt_table *t, const takt_cpu_facts *f, const takt_topology *topology)
{
    char text[256], a[TAKT_FIGURE_TEXT], fingerprint[17], quota[64], memory[64];
    snprintf(quota, sizeof quota, "%.2f processors of time", f->quota);
    snprintf(memory, sizeof memory, "%s of memory", takt_figure_bytes(f->memory_limit, a));
    line(t, "processor", f->model);
    takt_table_cell(t, "processors");
    takt_table_cell(t, "%d online, %d usable here, %d cores%s", f->logical, f->usable,
                    f->usable_cores, f->is_hybrid ? " of different strength" : "");
    takt_table_cell(t, "cgroup limits");
    takt_table_cell(t, "%s, %s", f->quota > 0 ? quota : "no quota of time",
                    f->memory_limit > 0 ? memory : "none of memory");
    takt_isa_text(text, sizeof text);
    line(t, "instruction sets", text);
    takt_topology_rows(t, f, topology);
    line(t, "memory", takt_figure_bytes(f->memory_bytes, a));
    line(t, "huge pages", f->huge_pages[0] != '\0' ? f->huge_pages : "unknown");
    takt_system_text(text, sizeof text);
    line(t, "system", text);
    if (!takt_fact_text("", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", text,
                        sizeof text))
        strcpy(text, "unavailable");
    line(t, "governor", text);
    takt_gpu_rows(t);
    takt_fingerprint_of(f, fingerprint);
    line(t, "fingerprint", fingerprint);
}

static void rate_row(takt_table *t, const char *what, double one, double all, const char *unit)
{
    char a[TAKT_FIGURE_TEXT];
    takt_table_cell(t, "%s", what);
    takt_table_cell(t, "%s", one > 0 ? takt_figure_scaled(one * 1e9, unit, a) : "unknown");
    takt_table_cell(t, "%s", all > 0 ? takt_figure_scaled(all * 1e9, unit, a) : "unknown");
}

static void ceilings(takt_table *t, const takt_ceilings *c)
{
    char what[64];
    takt_table_cell(t, "measured ceilings%s", c->from_file ? " (kept)" : "");
    takt_table_cell(t, "1 thread");
    takt_table_cell(t, "%d threads", c->all.threads);
    takt_table_rule(t);
    rate_row(t, "f32 multiply-add", c->one.f32_gflops, c->all.f32_gflops, "FLOP/s");
    rate_row(t, "f64 multiply-add", c->one.f64_gflops, c->all.f64_gflops, "FLOP/s");
    rate_row(t, "int8 multiply-add", c->one.int8_gops, c->all.int8_gops, "OP/s");
    rate_row(t, "f16 multiply-add", c->one.f16_gflops, c->all.f16_gflops, "FLOP/s");
    rate_row(t, "bf16 multiply-add", c->one.bf16_gflops, c->all.bf16_gflops, "FLOP/s");
    for (int i = 0; i < TAKT_LEVELS; i++) {
        snprintf(what, sizeof what, "%s read", takt_level_names[i]);
        rate_row(t, what, c->one.read_gbs[i], c->all.read_gbs[i], "B/s");
        snprintf(what, sizeof what, "%s copy (both ways)", takt_level_names[i]);
        rate_row(t, what, c->one.copy_gbs[i], c->all.copy_gbs[i], "B/s");
    }
}

/* One row for each type and instruction set. */
static void peaks(takt_table *t, const takt_system_rates *r)
{
    char what[48];
    takt_table_cell(t, "peaks by instruction set");
    takt_table_cell(t, "1 thread");
    takt_table_cell(t, "%d threads", r->peak_count > 0 ? r->peaks[0].threads : 1);
    takt_table_rule(t);
    for (int i = 0; i < r->peak_count; i++) {
        const takt_isa_peak *p = &r->peaks[i];
        snprintf(what, sizeof what, "%s by %s", p->type, p->isa);
        rate_row(t, what, p->one_thread, p->all_threads,
                 strcmp(p->type, "int8") == 0 ? "OP/s" : "FLOP/s");
    }
}

static void moving_row(takt_table *t, const char *what, double value, const char *unit,
                       const char *reason)
{
    takt_table_cell(t, "%s", what);
    if (value > 0)
        takt_table_cell(t, "%.4g %s", value, unit);
    else
        takt_table_cell(t, "unavailable%s%s", reason[0] != '\0' ? ": " : "", reason);
}

static void moving(takt_table *t, const takt_system_rates *r)
{
    takt_table_cell(t, "measured traffic%s", r->from_file ? " (kept)" : "");
    takt_table_cell(t, " ");
    takt_table_rule(t);
    moving_row(t, "disk write, until it is there", r->disk_write_mbs, "MB/s", r->disk_reason);
    moving_row(t, r->disk_is_cached ? "disk read (from memory)" : "disk read", r->disk_read_mbs,
               "MB/s", r->disk_reason);
    moving_row(t, "disk, one page until it is there", r->disk_sync_ms, "ms", r->disk_reason);
    moving_row(t, "loopback network", r->loopback_mbs, "MB/s", r->loopback_reason);
    moving_row(t, "loopback, there and back", r->loopback_us, "us", r->loopback_reason);
    for (int i = 0; i < r->scaling_count; i++) {
        const takt_thread_rates *one = &r->scaling[0], *s = &r->scaling[i];
        takt_table_cell(t, "efficiency of %d thread%s", s->threads, s->threads == 1 ? "" : "s");
        takt_table_cell(t, "%.0f %% computing, %.0f %% reading memory",
                        one->f32_gflops > 0 ? 100 * s->f32_gflops / s->threads / one->f32_gflops
                                            : 0,
                        one->read_gbs > 0 ? 100 * s->read_gbs / s->threads / one->read_gbs : 0);
    }
}

/* Rates of devices: measured with the rest, and not stored in a file. */
static size_t device_rates(takt_ctx *ctx, takt_device_rate *to)
{
    const takt_backend *cuda = takt_backend_named("cuda");
    const takt_error before = ctx->error;
    void *state = NULL;
    size_t count = 0;
    if (cuda->rates != NULL && cuda->available() == NULL &&
        takt_opened_get(ctx, cuda, NULL, 1, &state) == TAKT_OK)
        count = cuda->rates(state, to);
    ctx->error = before;
    return count;
}

static void device_json(takt_report *r)
{
    takt_device_rate rates[TAKT_DEVICE_RATES];
    const size_t count = device_rates(r->text.ctx, rates);
    if (count == 0)
        return;
    takt_json_put_open(&r->json, "device_rates", '{');
    for (size_t i = 0; i < count; i++)
        takt_json_put_number(&r->json, rates[i].key, rates[i].value);
    takt_json_close(&r->json, '}');
}

static takt_status device_table(takt_report *r)
{
    takt_device_rate rates[TAKT_DEVICE_RATES];
    const size_t count = device_rates(r->text.ctx, rates);
    takt_table t;
    if (count == 0)
        return TAKT_OK;
    takt_table_init(&t, r->text.ctx, "lr");
    takt_table_cell(&t, "measured on the GPU");
    takt_table_cell(&t, " ");
    takt_table_rule(&t);
    for (size_t i = 0; i < count; i++) {
        char a[TAKT_FIGURE_TEXT];
        const bool is_time = strcmp(rates[i].unit, "s") == 0;
        takt_table_cell(&t, "%s", rates[i].name);
        if (rates[i].value <= 0)
            takt_table_cell(&t, "unknown");
        else if (is_time)
            takt_table_cell(&t, "%.2f us", rates[i].value * 1e6);
        else
            takt_table_cell(&t, "%s", takt_figure_scaled(rates[i].value, rates[i].unit, a));
    }
    takt_text_add(&r->text, "\n");
    takt_table_print(&t, &r->text);
    const takt_status status = t.status;
    takt_table_deinit(&t);
    return status;
}

static takt_status rates_table(takt_report *r, const char *align,
                               void (*fill)(takt_table *, const takt_system_rates *),
                               const takt_system_rates *rates)
{
    takt_table t;
    takt_table_init(&t, r->text.ctx, align);
    fill(&t, rates);
    takt_text_add(&r->text, "\n");
    takt_table_print(&t, &r->text);
    const takt_status status = t.status;
    takt_table_deinit(&t);
    return status;
}

static takt_status describe(takt_report *r, const takt_topology *topology, const takt_ceilings *c,
                            const takt_system_rates *rates)
{
    takt_cpu_facts facts;
    takt_table t;
    takt_cpu_read(&facts);
    if (r->is_json) {
        takt_machine_json(&r->json, &facts, c);
        takt_topology_json(&r->json, topology);
        takt_gpu_json(&r->json);
        if (rates != NULL)
            takt_system_rates_json(&r->json, rates);
        if (rates != NULL && !rates->from_file)
            device_json(r);
        return TAKT_OK;
    }
    takt_table_init(&t, r->text.ctx, "ll");
    specs(&t, &facts, topology);
    takt_table_print(&t, &r->text);
    takt_status status = t.status;
    takt_table_deinit(&t);
    if (c != NULL) {
        takt_text_add(&r->text, "\n");
        takt_table_init(&t, r->text.ctx, "lrr");
        ceilings(&t, c);
        takt_table_print(&t, &r->text);
        status = status != TAKT_OK ? status : t.status;
        takt_table_deinit(&t);
    }
    if (rates != NULL && status == TAKT_OK)
        status = rates_table(r, "lrr", peaks, rates);
    if (rates != NULL && status == TAKT_OK)
        status = rates_table(r, "ll", moving, rates);
    if (rates != NULL && !rates->from_file && status == TAKT_OK)
        status = device_table(r);
    return status;
}

takt_status takt_machine_describe(takt_ctx *ctx, const takt_ceilings *c, takt_format format,
                                  takt_sink_fn *sink, void *user)
{
    return takt_system_describe(ctx, c, NULL, format, sink, user);
}

takt_status takt_system_describe(takt_ctx *ctx, const takt_ceilings *c,
                                 const takt_system_rates *rates, takt_format format,
                                 takt_sink_fn *sink, void *user)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, sink);
    takt_report r;
    void *topology; /* too large for a stack */
    TAKT_TRY(takt_mem_get(ctx, sizeof(takt_topology), "the topology", &topology));
    takt_topology_read("", topology);
    takt_report_begin(&r, ctx, format);
    const takt_status status = describe(&r, topology, c, rates);
    takt_mem_put(ctx, topology, sizeof(takt_topology));
    return takt_report_end(&r, status, sink, user);
}
