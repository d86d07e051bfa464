/* threads.c - the pool of a session, and which processors its threads may use. */
#include <errno.h>
#include <string.h>

#include "api/session/session.h"
#include "os/cpu.h"
#include "os/os.h"

/* ---- affinity ---- */

takt_status takt_set_affinity(takt_session *s, int worker, int core)
{
    const int threads = takt_pool_threads(s->pool);
    char reason[64];
    if (worker < 0 || worker >= threads) {
        takt_error_set(&s->error, TAKT_E_ARGUMENT, "there is no worker %d to bind to core %d",
                       worker, core);
        return takt_error_hint(&s->error, "the session has %d thread%s: 0 to %d", threads,
                               threads == 1 ? "" : "s", threads - 1);
    }
    const int error = worker == 0 ? takt_cpu_bind(0, core) : takt_pool_bind(s->pool, worker, core);
    if (error == 0)
        return TAKT_OK;
    takt_error_set(&s->error, TAKT_E_ARGUMENT, "worker %d cannot be bound to core %d: %s", worker,
                   core, takt_os_reason(error, reason, sizeof reason));
    return takt_error_hint(&s->error, "`takt benchmark system --specs` shows the cores; this "
                                      "process may be confined to some of them");
}

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool read_mask(const char *text, takt_cpu_set *set)
{
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        text += 2;
    const size_t length = strlen(text);
    bool is_empty = true;
    if (length == 0 || length > TAKT_CPU_MAX / 4)
        return false;
    for (size_t i = 0; i < length; i++) {
        const int value = digit(text[i]);
        if (value < 0)
            return false;
        is_empty = is_empty && value == 0;
        for (int bit = 0; bit < 4; bit++)
            if ((value >> bit & 1) != 0)
                takt_cpu_set_add(set, (int)(4 * (length - 1 - i)) + bit);
    }
    return !is_empty;
}

takt_status takt_cpu_mask(takt_ctx *ctx, const char *mask)
{
    takt_cpu_set set = {{0}};
    char reason[64];
    if (mask == NULL || !read_mask(mask, &set)) {
        takt_fail(ctx, TAKT_E_OPTION, "%s is not a mask of processors",
                  mask != NULL ? mask : "(null)");
        return takt_fail_hint(ctx, "write it in hexadecimal, bit 0 for processor 0: 0x5 is 0 and "
                                   "2");
    }
    const int error = takt_cpu_confine(&set);
    if (error == 0)
        return TAKT_OK;
    takt_fail(ctx, TAKT_E_OPTION, "mask %s leaves no processor that this process may use: %s", mask,
              takt_os_reason(error, reason, sizeof reason));
    return takt_fail_hint(ctx, "`takt benchmark system --specs` shows how many there are");
}

/* ---- the pool ---- */

static takt_status bind_all(takt_session *s, const takt_session_options *o)
{
    for (size_t i = 0; i < o->core_count; i++) {
        if (o->cores[i] < 0)
            continue;
        const takt_status status = takt_set_affinity(s, (int)i, o->cores[i]);
        if (status != TAKT_OK) {
            takt_fail(s->ctx, TAKT_E_ARGUMENT, "%s", s->error.message);
            return takt_fail_hint(s->ctx, "%s", s->error.hint);
        }
    }
    return TAKT_OK;
}

takt_status takt_session_get_pool(takt_session *s, const takt_session_options *o)
{
    if (takt_pool_threads(o->pool) > s->plan->threads) {
        takt_fail(s->ctx, TAKT_E_ARGUMENT, "the pool has %d threads, the plan has scratch for %d",
                  takt_pool_threads(o->pool), s->plan->threads);
        return takt_fail_hint(s->ctx, "make the plan with threads = %d",
                              takt_pool_threads(o->pool));
    }
    if (o->core_count > 0 && o->cores == NULL)
        return takt_fail(s->ctx, TAKT_E_ARGUMENT, "%zu cores are given, but no list of them",
                         o->core_count);
    s->pool = o->pool;
    const bool wants_pool = s->plan->is_parallel || o->core_count > 1;
    if (s->pool == NULL && s->plan->threads > 1 && wants_pool) {
        const takt_pool_options pool = {.spin_ns = o->spin_ns < 0 ? TAKT_SPIN_NONE : o->spin_ns};
        TAKT_TRY(takt_pool_create(s->ctx, s->plan->threads, &pool, &s->pool));
        s->owns_pool = true;
    }
    return bind_all(s, o);
}
