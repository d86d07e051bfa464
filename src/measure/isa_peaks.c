/* isa_peaks.c - the peak rate of every instruction set of this machine, in every type it
 * multiplies. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "measure/ceilings.h"

/* Portable code has no 16-bit arithmetic: its rate there means nothing. */
static const struct {
    const char *type, *family;
    bool is_half;
} kinds[] = {{"f32", "peak_f32", false},
             {"f64", "peak_f64", false},
             {"int8", "peak_i8", false},
             {"f16", "peak_f16", true},
             {"bf16", "peak_bf16", true}};

static const takt_kernel *best_of(const takt_kernel_unit *unit)
{
    const takt_kernel *best = NULL;
    for (size_t i = 0; i < unit->count; i++)
        if (best == NULL || unit->kernels[i].rank > best->rank)
            best = &unit->kernels[i];
    return best;
}

typedef void visit_fn(void *user, const char *type, const char *family,
                      const takt_kernel_unit *unit);

static const takt_kernel_unit *unit_of(const char *family, takt_isa isa)
{
    for (size_t i = 0; i < takt_kernel_unit_count; i++)
        if (takt_kernel_units[i]->isa == isa && strcmp(takt_kernel_units[i]->family, family) == 0)
            return takt_kernel_units[i];
    return NULL;
}

/* Visits every type, simplest instruction set first. */
static void each(visit_fn *visit, void *user)
{
    const takt_isa_set here = takt_isa_detect();
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int isa = kinds[k].is_half ? 1 : 0; isa < 32; isa++) {
            const takt_kernel_unit *u =
                (here >> isa & 1) != 0 ? unit_of(kinds[k].family, (takt_isa)isa) : NULL;
            if (u != NULL)
                visit(user, kinds[k].type, kinds[k].family, u);
        }
}

enum { TRIES = 4 };

typedef struct job {
    const takt_probe *one, *all;
    takt_system_rates *rates;
} job;

static void measure(void *user, const char *type, const char *family, const takt_kernel_unit *unit)
{
    job *j = user;
    const takt_kernel *k = best_of(unit);
    if (k == NULL || j->rates->peak_count == TAKT_ISA_PEAKS)
        return;
    takt_isa_peak *p = &j->rates->peaks[j->rates->peak_count++];
    snprintf(p->type, sizeof p->type, "%s", type);
    snprintf(p->isa, sizeof p->isa, "%s", takt_isa_name(unit->isa));
    p->threads = j->all->threads;
    p->all_threads = p->one_thread = takt_probe_peak(j->one, family, k);
    /* Every thread has its own units: if they seem slow, other processes used the processors. */
    for (int i = 0; i < TRIES && p->all_threads < 0.75 * p->threads * p->one_thread; i++)
        p->all_threads = fmax(p->all_threads, takt_probe_peak(j->all, family, k));
}

void takt_isa_peaks_measure(const takt_probe *one, const takt_probe *all, takt_system_rates *r)
{
    job j = {one, all, r};
    r->peak_count = 0;
    each(measure, &j);
}

static void count_one(void *user, const char *type, const char *family,
                      const takt_kernel_unit *unit)
{
    (void)type;
    (void)family;
    (void)unit;
    ++*(int *)user;
}

int takt_isa_peaks_here(void)
{
    int count = 0;
    each(count_one, &count);
    return count < TAKT_ISA_PEAKS ? count : TAKT_ISA_PEAKS;
}

/* ---- JSON ---- */

void takt_isa_peaks_write(takt_json_writer *w, const takt_system_rates *r)
{
    takt_json_put_open(w, "peaks", '[');
    for (int i = 0; i < r->peak_count; i++) {
        const takt_isa_peak *p = &r->peaks[i];
        takt_json_open(w, '{');
        takt_json_put_string(w, "type", p->type);
        takt_json_put_string(w, "isa", p->isa);
        takt_json_put_number(w, "one_thread_gops", p->one_thread);
        takt_json_put_number(w, "all_threads_gops", p->all_threads);
        takt_json_put_integer(w, "threads", p->threads);
        takt_json_close(w, '}');
    }
    takt_json_close(w, ']');
}

static bool text_of(const takt_json *object, const char *key, char *to, size_t size)
{
    const takt_json *v = takt_json_get(object, key);
    if (v == NULL || v->kind != TAKT_JSON_STRING || v->text_length >= size)
        return false;
    memcpy(to, v->text, v->text_length + 1);
    return true;
}

static bool number_of(const takt_json *object, const char *key, double *to)
{
    const takt_json *v = takt_json_get(object, key);
    if (v == NULL || v->kind != TAKT_JSON_NUMBER || !(v->number > 0))
        return false;
    *to = v->number;
    return true;
}

static bool read_one(const takt_json *object, takt_isa_peak *p)
{
    double threads;
    if (object->kind != TAKT_JSON_OBJECT || !text_of(object, "type", p->type, sizeof p->type) ||
        !text_of(object, "isa", p->isa, sizeof p->isa) ||
        !number_of(object, "one_thread_gops", &p->one_thread) ||
        !number_of(object, "all_threads_gops", &p->all_threads) ||
        !number_of(object, "threads", &threads) || threads > 1e6)
        return false;
    p->threads = (int)threads;
    return true;
}

bool takt_isa_peaks_read(const takt_json *list, takt_system_rates *r)
{
    r->peak_count = 0;
    if (list == NULL || list->kind != TAKT_JSON_ARRAY)
        return false;
    for (const takt_json *p = takt_json_first(list); p != NULL; p = takt_json_next(p))
        if (r->peak_count == TAKT_ISA_PEAKS || !read_one(p, &r->peaks[r->peak_count++]))
            return false;
    return r->peak_count == takt_isa_peaks_here(); /* a build with other kernels has others */
}
