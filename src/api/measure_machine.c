/* measure_machine.c - `takt benchmark system`: the machine for people and programs. */
#include <stdio.h>
#include <string.h>

#include "api/measure.h"
#include "os/facts.h"

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
    line(t, "GPU",
         takt_fact_text("", "/proc/driver/nvidia/version", text, sizeof text)
             ? text
             : "none that Takt knows");
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
    for (int i = 0; i < TAKT_LEVELS; i++) {
        snprintf(what, sizeof what, "%s read", takt_level_names[i]);
        rate_row(t, what, c->one.read_gbs[i], c->all.read_gbs[i], "B/s");
        snprintf(what, sizeof what, "%s copy (both ways)", takt_level_names[i]);
        rate_row(t, what, c->one.copy_gbs[i], c->all.copy_gbs[i], "B/s");
    }
}

takt_status takt_machine_describe(takt_ctx *ctx, const takt_ceilings *c, takt_format format,
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
    return takt_report_end(&r, status, sink, user);
}
