/* other_load.c - reads the processors' ticks, and subtracts this process's own use. */
#define _POSIX_C_SOURCE 200809L
#include "os/other_load.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "os/facts.h"
#include "os/os.h"

/* Counted in ticks of 10 ms: they say nothing about shorter times. */
static const double least_seconds = 0.05;

/* " user nice system idle iowait irq softirq steal ..." */
static void add(const char *at, takt_ticks *t)
{
    for (int column = 0; column < 8; column++) {
        uint64_t value;
        at += strspn(at, " ");
        if (!takt_fact_parse(at, &value))
            return;
        uint64_t *to = column == 7 ? &t->steal : column == 3 || column == 4 ? &t->idle : &t->busy;
        *to += value;
        at += strspn(at, "0123456789");
    }
    t->processors++;
}

/* The fourth of "0.20 0.18 0.12 3/80 11206", without the caller. */
static int read_waiting(const char *root)
{
    char text[128];
    uint64_t running;
    if (!takt_fact_text(root, "/proc/loadavg", text, sizeof text))
        return 0;
    const char *at = text;
    for (int field = 0; field < 3; field++) {
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    return takt_fact_parse(at, &running) && running > 1 && running < 100000 ? (int)running - 1 : 0;
}

void takt_ticks_read_at(const char *root, const takt_cpu_set *usable, takt_ticks *t)
{
    char text[7000]; /* of very many processors, the first 80 or so represent all */
    *t = (takt_ticks){.own_ns = takt_os_cpu_ns(), .when_ns = takt_os_now_ns(NULL)};
    t->waiting = read_waiting(root);
    if (!takt_fact_text(root, "/proc/stat", text, sizeof text))
        return;
    for (const char *line = text; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        uint64_t cpu;
        if (line[length] == '\n' && strncmp(line, "cpu", 3) == 0 &&
            takt_fact_parse(line + 3, &cpu) && cpu < TAKT_CPU_MAX &&
            takt_cpu_set_has(usable, (int)cpu))
            add(line + 3 + strspn(line + 3, "0123456789"), t);
        line += length + (line[length] == '\n');
    }
}

void takt_ticks_read(takt_ticks *t)
{
    takt_cpu_set usable;
    takt_cpu_usable(&usable);
    takt_ticks_read_at("", &usable, t);
}

takt_other_load takt_ticks_between(const takt_ticks *a, const takt_ticks *b)
{
    takt_other_load o = {.usable = b->processors};
    const double busy = (double)(b->busy - a->busy), steal = (double)(b->steal - a->steal);
    const double all = busy + steal + (double)(b->idle - a->idle);
    const double seconds = (double)(b->when_ns - a->when_ns) * 1e-9;
    const double own = (double)(b->own_ns - a->own_ns) * 1e-9;
    const long hertz = sysconf(_SC_CLK_TCK);
    if (a->processors != b->processors || b->processors == 0 || hertz <= 0)
        return (takt_other_load){0};
    o.steal_pct = all > 0 ? 100 * steal / all : 0;
    if (seconds >= least_seconds)
        o.processors = (busy / (double)hertz - own) / seconds;
    else
        o.processors = a->waiting < b->waiting ? a->waiting : b->waiting;
    if (!(o.processors > 0))
        o.processors = 0;
    if (o.processors > o.usable)
        o.processors = o.usable;
    return o;
}

/* Counting in ticks may be off by a tenth of a processor. */
bool takt_other_load_disturbs(const takt_other_load *o, int threads)
{
    return o->steal_pct > 1 || (o->processors > 0.1 && o->processors + threads > o->usable + 0.1);
}

double takt_other_load_share(const takt_other_load *o, int threads)
{
    const double taken =
        takt_other_load_disturbs(o, threads) && o->usable > 0 ? o->processors / o->usable : 0;
    const double share = taken + o->steal_pct / 100;
    return share < 1 ? share : 1;
}
