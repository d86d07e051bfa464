/* measure_machine.c - `takt benchmark system`: the machine for people and programs. */
#include <stdio.h>
#include <string.h>

#include "api/measure.h"
#include "os/facts.h"
#include "os/gpu.h"

static void line(takt_table *t, const char *what, const char *value)
{
    takt_table_cell(t, "%s", what);
    takt_table_cell(t, "%s", value);
}

static void caches(takt_table *t, const takt_cpu_facts *f)
{
    char a[TAKT_FIGURE_TEXT];
    for (int i = 0; i < TAKT_CACHE_LEVELS; i++) {
        if (f->data[i].bytes == 0)
            continue;
        takt_table_cell(t, "L%d cache", i + 1);
        takt_table_cell(t, "%s, shared by %d, lines of %d bytes",
                        takt_figure_bytes(f->data[i].bytes, a), f->data[i].shared_by,
                        f->data[i].line_bytes);
    }
}

static void specs(takt_table *t, const takt_cpu_facts *f)
{
    char text[256], a[TAKT_FIGURE_TEXT], fingerprint[17];
    line(t, "processor", f->model);
    takt_table_cell(t, "processors");
    takt_table_cell(t, "%d online, %d usable here, %d cores%s", f->logical, f->usable,
                    f->usable_cores, f->is_hybrid ? " of different strength" : "");
    takt_table_cell(t, "cgroup quota");
    if (f->quota > 0)
        takt_table_cell(t, "%.2f processors", f->quota);
    else
        takt_table_cell(t, "none");
    takt_isa_text(text, sizeof text);
    line(t, "instruction sets", text);
    caches(t, f);
    line(t, "memory", takt_figure_bytes(f->memory_bytes, a));
    line(t, "memory limit", f->memory_limit > 0 ? takt_figure_bytes(f->memory_limit, a) : "none");
    line(t, "huge pages", f->huge_pages[0] != '\0' ? f->huge_pages : "unknown");
    takt_system_text(text, sizeof text);
    line(t, "system", text);
    if (!takt_fact_text("", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", text,
                        sizeof text))
        strcpy(text, "unavailable");
    line(t, "governor", text);
    line(t, "GPU", takt_gpu_name("", text, sizeof text) ? text : "none that Takt knows");
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

static takt_status moving_table(takt_report *r, const takt_system_rates *rates)
{
    takt_table t;
    takt_table_init(&t, r->text.ctx, "ll");
    moving(&t, rates);
    takt_text_add(&r->text, "\n");
    takt_table_print(&t, &r->text);
    const takt_status status = t.status;
    takt_table_deinit(&t);
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
    takt_cpu_facts facts;
    takt_report r;
    takt_table t;
    takt_status status = TAKT_OK;
    takt_cpu_read(&facts);
    takt_report_begin(&r, ctx, format);
    if (r.is_json) {
        takt_machine_json(&r.json, &facts, c);
        if (rates != NULL)
            takt_system_rates_json(&r.json, rates);
        return takt_report_end(&r, status, sink, user);
    }
    takt_table_init(&t, ctx, "ll");
    specs(&t, &facts);
    takt_table_print(&t, &r.text);
    status = t.status;
    takt_table_deinit(&t);
    if (c != NULL) {
        takt_text_add(&r.text, "\n");
        takt_table_init(&t, ctx, "lrr");
        ceilings(&t, c);
        takt_table_print(&t, &r.text);
        status = status != TAKT_OK ? status : t.status;
        takt_table_deinit(&t);
    }
    if (rates != NULL && status == TAKT_OK)
        status = moving_table(&r, rates);
    return takt_report_end(&r, status, sink, user);
}
