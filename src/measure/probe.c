/* probe.c - runs the peak and stream kernels on one thread or all, and takes the best of many
 * tries, or the median. */
#include <math.h>
#include <string.h>

#include "kernel/peak/peak.h"
#include "kernel/stream/stream.h"
#include "measure/ceilings.h"
#include "stats/stats.h"

enum { TRIES = 12, GLANCES = 3 };   /* GLANCES: for a loop that may not be the best one */
static const double slice = 1.2e-3; /* seconds of one try */

typedef struct load {
    takt_peak_fn *peak;
    takt_stream_fn *stream;
    const void *operands;
    size_t rounds;
    takt_stream walk; /* of thread 0; thread t's arrays are t * stride elements on */
    size_t stride;
    _Atomic int done; /* so that the compiler does not remove the work */
} load;

static void run_peak(void *user, size_t task, int thread)
{
    load *l = user;
    double sum;
    (void)task;
    (void)thread;
    l->done += l->peak(l->rounds, l->operands, &sum) > 0 && sum > 0;
}

static void run_stream(void *user, size_t task, int thread)
{
    load *l = user;
    takt_stream s = l->walk;
    double sum = 0;
    (void)thread;
    s.a += task * l->stride;
    s.b += task * l->stride;
    s.c += task * l->stride;
    for (size_t r = 0; r < l->rounds; r++)
        sum += l->stream(&s);
    l->done += isfinite(sum);
}

static double time_of(const takt_probe *p, takt_task_fn *task, load *l)
{
    const uint64_t start = p->ctx->now_ns(p->ctx->clock_user);
    takt_pool_share(p->pool, task, l, (size_t)p->threads);
    const uint64_t end = p->ctx->now_ns(p->ctx->clock_user);
    return (double)(end - start > 0 ? end - start : 1) * 1e-9;
}

/* Enough rounds that one try takes a slice. */
static void find_rounds(const takt_probe *p, takt_task_fn *task, load *l, size_t limit)
{
    l->rounds = 1;
    for (double t = 0; (t = time_of(p, task, l)) < slice && l->rounds < limit;) {
        const double grow = fmin(fmax(1.5, 1.2 * slice / t), 64);
        l->rounds = (size_t)fmin((double)limit, ceil((double)l->rounds * grow));
    }
}

/* Seconds of one round, in the median of tries. */
static double usual_round(const takt_probe *p, takt_task_fn *task, load *l)
{
    double found[TRIES];
    for (int i = 0; i < TRIES; i++)
        found[i] = time_of(p, task, l) / (double)l->rounds;
    return takt_median_in_place(found, TRIES);
}

/* Seconds of one round, at best. */
static double best_round(const takt_probe *p, takt_task_fn *task, load *l, int tries)
{
    double best = INFINITY;
    for (int i = 0; i < tries; i++)
        best = fmin(best, time_of(p, task, l) / (double)l->rounds);
    return best;
}

/* 1 in the family's type. */
static void fill_ones(const char *family, void *operands)
{
    static const double wide = 1;
    static const float plain = 1;
    static const uint16_t half = 0x3c00, brain = 0x3f80;
    static const int8_t byte = 1;
    static const struct {
        const char *family;
        const void *one;
        size_t bytes;
    } ones[] = {{"peak_f32", &plain, sizeof plain},
                {"peak_f64", &wide, sizeof wide},
                {"peak_i8", &byte, sizeof byte},
                {"peak_f16", &half, sizeof half},
                {"peak_bf16", &brain, sizeof brain}};
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
        for (size_t at = 0; strcmp(ones[i].family, family) == 0 && at < TAKT_PEAK_BYTES;
             at += ones[i].bytes)
            memcpy((char *)operands + at, ones[i].one, ones[i].bytes);
}

double takt_probe_peak(const takt_probe *p, const char *family, const takt_kernel *kernel)
{
    _Alignas(64) double operands[TAKT_PEAK_BYTES / sizeof(double)];
    double sum;
    fill_ones(family, operands);
    load l = {.peak = (takt_peak_fn *)kernel->run, .operands = operands};
    const double operations = l.peak(1, operands, &sum);
    find_rounds(p, run_peak, &l, 1 << 24);
    return operations * p->threads / best_round(p, run_peak, &l, TRIES) * 1e-9;
}

/* ---- bandwidth: the best loop differs between machines, so several are tried ---- */

enum { SHIFT = 17 * 64 / sizeof(float) }; /* elements: another place in a page, a whole line */

/* The arrays of each thread are consecutive, their length plus `shift` elements apart. */
static void place_arrays(const takt_probe *p, load *l, size_t arrays, size_t shift)
{
    const size_t step = l->walk.count + shift;
    float *first = p->memory;
    l->walk.a = first;
    l->walk.b = first + (arrays > 2 ? step : 0);
    l->walk.c = first + (arrays - 1) * step;
    l->stride = arrays * step;
}

/* The best variant, by a few tries, remains in the load. */
static void choose_form(const takt_probe *p, load *l, size_t arrays)
{
    static const int streams[] = {1, 4, 6};
    static const size_t aheads[] = {0, 512, 1024};
    enum { PLACES = 3, FORMS = 9 };
    const int count = arrays > 1 ? 2 * FORMS : FORMS; /* one array has no other place */
    const int tries = l->rounds > 1 ? GLANCES : 1;    /* a round of many bytes is long enough */
    takt_stream best = l->walk;
    size_t stride = l->stride;
    double least = INFINITY;
    for (int i = 0; i < count; i++) {
        l->walk.streams = streams[i % PLACES];
        l->walk.ahead = aheads[i % FORMS / PLACES];
        place_arrays(p, l, arrays, i < FORMS ? 0 : SHIFT);
        const double seconds = best_round(p, run_stream, l, tries);
        if (seconds < least) {
            least = seconds;
            best = l->walk;
            stride = l->stride;
        }
    }
    l->walk = best;
    l->stride = stride;
}

static double stream_rate(const takt_probe *p, takt_stream_kind kind, size_t bytes)
{
    const takt_kernel *kernel = takt_kernel_find("stream", takt_isa_detect(), NULL, 0, NULL);
    const size_t arrays = kind == TAKT_STREAM_READ ? 1 : kind == TAKT_STREAM_COPY ? 2 : 3;
    const size_t room = p->bytes / (size_t)p->threads, shifts = arrays * SHIFT * sizeof(float);
    const size_t most = room < shifts ? 0 : bytes < room - shifts ? bytes : room - shifts;
    const size_t count = most / arrays / sizeof(float) / TAKT_STREAM_COUNT * TAKT_STREAM_COUNT;
    if (count == 0)
        return 0;
    load l = {.stream = takt_kernel_as_stream(kernel)};
    l.walk = (takt_stream){.kind = kind, .count = count, .streams = 1};
    place_arrays(p, &l, arrays, 0);
    find_rounds(p, run_stream, &l, 1 << 20);
    choose_form(p, &l, arrays);
    const double seconds =
        p->is_usual ? usual_round(p, run_stream, &l) : best_round(p, run_stream, &l, TRIES);
    return (double)(arrays * count * sizeof(float)) * p->threads / seconds * 1e-9;
}

double takt_probe_read(const takt_probe *p, size_t bytes)
{
    return stream_rate(p, TAKT_STREAM_READ, bytes);
}

double takt_probe_copy(const takt_probe *p, size_t bytes)
{
    return stream_rate(p, TAKT_STREAM_COPY, bytes);
}

double takt_probe_add(const takt_probe *p, size_t bytes)
{
    return stream_rate(p, TAKT_STREAM_TRIAD, bytes);
}
