/* run_monitor.c - output of `takt run --monitor`, and the limits of a run. */
#include <stdlib.h>
#include <string.h>

#include "run.h"

/* "90%" or "90": per cent of the processors. */
bool tool_cpu_limit(takt_tool *t, int *code)
{
    const char *text = tool_text_of(t, TAKT_F_CPU_LIMIT);
    char *end;
    *code = TAKT_EXIT_OK;
    if (text == NULL)
        return true;
    const double percent = strtod(text, &end);
    if (end == text || (*end == '%' ? end[1] : *end) != '\0')
        *code =
            tool_usage_error(t, 1003, "write --cpu-limit 90%",
                             "--cpu-limit needs a percentage of the processors, not \"%s\"", text);
    else
        *code = tool_finish(t, takt_set_cpu_limit(t->ctx, percent));
    return *code == TAKT_EXIT_OK;
}

static void print_line(const takt_metrics *x, const char *what)
{
    fprintf(stderr,
            "%s %6.2f s  %llu runs  %.1f/s  p50 %.4g ms  p95 %.4g ms  p99 %.4g ms  cpu %.0f %%  "
            "memory %.4g MB\n",
            what, x->to_s, (unsigned long long)x->runs, x->throughput, x->p50_ns * 1e-6,
            x->p95_ns * 1e-6, x->p99_ns * 1e-6, x->cpu_pct, (double)x->memory_bytes * 1e-6);
}

static bool is_report(const char *path)
{
    const char *dot = path != NULL ? strrchr(path, '.') : ".txt";
    return dot != NULL &&
           (strcmp(dot, ".json") == 0 || strcmp(dot, ".html") == 0 || strcmp(dot, ".txt") == 0);
}

bool tool_monitor_begin(takt_tool *t, takt_session *s, tool_monitor *m, int *code)
{
    const uint64_t interval = tool_number_of(t, TAKT_F_INTERVAL, 1000000000) / 1000000;
    *m = (tool_monitor){.t = t, .session = s};
    *code = TAKT_EXIT_OK;
    if (!tool_on(t, TAKT_F_MONITOR) && tool_text_of(t, TAKT_F_MONITOR_REPORT) == NULL)
        return true;
    if (!is_report(tool_text_of(t, TAKT_F_MONITOR_REPORT)))
        *code = tool_usage_error(t, 1003, "write --monitor-report F.json, F.html or F.txt",
                                 "the ending of %s names no format of reports",
                                 tool_text_of(t, TAKT_F_MONITOR_REPORT));
    else if (interval == 0 || interval > UINT32_MAX)
        *code = tool_usage_error(t, 1003, "1ms is the shortest", "--interval is out of range");
    else {
        const takt_monitor_options options = {
            .track_time = true, .track_cache = true, .interval_ms = (uint32_t)interval};
        *code = tool_finish(t, takt_monitor_create(t->ctx, &options, &m->monitor));
    }
    if (m->monitor != NULL)
        takt_monitor_attach(m->monitor, s);
    return *code == TAKT_EXIT_OK;
}

/* After every run: the monitor's new samples. */
void tool_monitor_tell(tool_monitor *m)
{
    takt_metrics x;
    if (m->monitor == NULL || !tool_on(m->t, TAKT_F_MONITOR))
        return;
    if (m->told > takt_monitor_count(m->monitor)) /* samples were merged */
        m->told = takt_monitor_count(m->monitor) - 1;
    while (takt_monitor_get(m->monitor, m->told, &x)) {
        print_line(&x, "monitor");
        m->told++;
    }
}

static int conclude(tool_monitor *m)
{
    takt_metrics x;
    const char *path = tool_text_of(m->t, TAKT_F_MONITOR_REPORT);
    int code = tool_finish(m->t, takt_monitor_sample(m->monitor, NULL));
    tool_monitor_tell(m);
    takt_monitor_metrics(m->monitor, &x);
    if (tool_on(m->t, TAKT_F_MONITOR)) {
        print_line(&x, "whole  ");
        if (x.has_cache)
            fprintf(stderr, "cache hits %.1f %%\n", x.cache_hit_pct);
        else
            fprintf(stderr, "cache hits unavailable: %s\n", takt_monitor_cache_reason(m->monitor));
    }
    if (code == TAKT_EXIT_OK && path != NULL)
        code = tool_finish(m->t, takt_monitor_report(m->monitor, path));
    return code;
}

int tool_monitor_end(tool_monitor *m, int code)
{
    if (m->monitor == NULL)
        return code;
    takt_monitor_attach(NULL, m->session);
    const int told = conclude(m);
    takt_monitor_destroy(m->monitor);
    return code != TAKT_EXIT_OK ? code : told;
}
