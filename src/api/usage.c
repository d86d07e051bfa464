/* usage.c - use of processors and memory by a context, and its limits. */
#include <math.h>
#include <stdatomic.h>

#include "api/usage.h"
#include "base/error.h"
#include "os/cpu.h"
#include "os/facts.h"
#include "os/memory.h"
#include "os/os.h"

/* Unused time is not saved for later beyond this. */
enum { CREDIT_NS = 20000000, LONGEST_WAIT_NS = 1000000000 };

static double processors(void)
{
    takt_cpu_facts facts;
    takt_cpu_read(&facts);
    const double usable = facts.usable > 0 ? facts.usable : 1;
    return facts.quota > 0 && facts.quota < usable ? facts.quota : usable;
}

takt_status takt_set_cpu_limit(takt_ctx *ctx, double percent)
{
    TAKT_NEED(NULL, ctx);
    if (!(percent > 0 && percent <= 100)) {
        takt_fail(ctx, TAKT_E_ARGUMENT, "a limit of %g %% of the processors", percent);
        return takt_fail_hint(ctx, "more than 0, at most 100, which is no limit");
    }
    takt_cpu_budget *c = &ctx->cpu;
    c->processors = processors();
    c->wall_ns = takt_os_now_ns(NULL);
    c->cpu_ns = takt_os_cpu_ns();
    c->percent = percent < 100 ? percent : 0;
    return TAKT_OK;
}

/* When the next run may begin, on the system's clock. */
static uint64_t next_start(takt_cpu_budget *c)
{
    takt_lock_take(&c->lock);
    const uint64_t wall = takt_os_now_ns(NULL), cpu = takt_os_cpu_ns();
    const double rate = c->percent / 100 * c->processors;
    const double due = (double)(cpu - c->cpu_ns) / rate; /* the cost that this much time allows */
    const double spent = (double)(wall - c->wall_ns);
    uint64_t at = wall;
    if (spent - due > CREDIT_NS) { /* idle: counting restarts, just before now */
        c->wall_ns = wall - CREDIT_NS;
        c->cpu_ns = cpu;
    } else if (due > spent)
        at += (uint64_t)fmin(due - spent, LONGEST_WAIT_NS);
    takt_lock_give(&c->lock);
    return at;
}

void takt_cpu_wait(takt_ctx *ctx)
{
    if (ctx->cpu.percent <= 0)
        return;
    const uint64_t start = takt_os_now_ns(NULL), at = next_start(&ctx->cpu);
    if (at <= start)
        return;
    takt_os_sleep_until(at);
    atomic_fetch_add(&ctx->cpu.waited_ns, takt_os_now_ns(NULL) - start);
}

takt_status takt_set_memory_limit(takt_ctx *ctx, uint64_t bytes)
{
    TAKT_NEED(NULL, ctx);
    const uint64_t live = atomic_load(&ctx->live_bytes);
    if (bytes == 0 || bytes < live) {
        takt_fail(ctx, TAKT_E_ARGUMENT, "a memory limit of %llu bytes, of which %llu are in use",
                  (unsigned long long)bytes, (unsigned long long)live);
        return takt_fail_hint(ctx, "bytes are meant; memory_bytes of takt_resource_usage says how "
                                   "many there are");
    }
    ctx->limits.bytes = bytes;
    return TAKT_OK;
}

uint64_t takt_resident_bytes(void)
{
    char text[256];
    uint64_t pages;
    if (!takt_fact_text("", "/proc/self/statm", text, sizeof text))
        return 0;
    const char *second = text;
    while (*second != '\0' && *second != ' ')
        second++;
    return *second != '\0' && takt_fact_parse(second + 1, &pages) ? pages * takt_page_size() : 0;
}

static void of_context(takt_ctx *ctx, double all, takt_usage *usage)
{
    takt_cpu_budget *c = &ctx->cpu;
    const uint64_t wall = takt_os_now_ns(NULL), cpu = takt_os_cpu_ns();
    takt_lock_take(&c->lock);
    const double spent = (double)(wall - c->seen_wall_ns);
    usage->cpu_pct = spent > 0 ? 100 * (double)(cpu - c->seen_cpu_ns) / spent / all : 0;
    c->seen_wall_ns = wall;
    c->seen_cpu_ns = cpu;
    takt_lock_give(&c->lock);
    usage->cpu_limit_pct = c->percent > 0 ? c->percent : 100;
    usage->waited_ns = atomic_load(&c->waited_ns);
    usage->live_bytes = atomic_load(&ctx->live_bytes);
    usage->peak_bytes = atomic_load(&ctx->peak_bytes);
    usage->limit_bytes = ctx->limits.bytes;
    usage->allocations = atomic_load(&ctx->allocations);
    usage->memory_pct = 100 * (double)usage->live_bytes / (double)usage->limit_bytes;
}

void takt_resource_usage(takt_ctx *ctx, takt_usage *usage)
{
    if (usage == NULL)
        return;
    const double all = processors();
    uint64_t now = 0, most = 0;
    takt_process_memory(&now, &most);
    *usage = (takt_usage){.resident_bytes = takt_resident_bytes(),
                          .resident_peak_bytes = most,
                          .memory_bytes = takt_memory_allowed(),
                          .processors = (int)ceil(all)};
    if (ctx != NULL)
        of_context(ctx, all, usage);
}
