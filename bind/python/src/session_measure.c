/* session_measure.c - times of a session, as the benchmarks of the command take them. */
#include "session.h"

#include <string.h>

/* 0, which stands for the default, unless it is positive; infinity is thirty years. */
static uint64_t nanoseconds(double seconds)
{
    return seconds > 0 ? (uint64_t)(seconds < 1e9 ? seconds * 1e9 : 1e18) : 0;
}

static PyObject *interval(const takt_interval *i)
{
    return Py_BuildValue("(dd)", i->low * 1e-9, i->high * 1e-9);
}

static PyObject *samples_of(const takt_timing *t)
{
    PyObject *list = PyList_New((Py_ssize_t)t->count);
    for (size_t i = 0; list != NULL && i < t->count; i++) {
        PyObject *one = PyFloat_FromDouble(t->samples[i] * 1e-9);
        if (one == NULL || PyList_SetItem(list, (Py_ssize_t)i, one) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *timing(const takt_timing *t)
{
    static const char *const names[TAKT_PERCENTILES] = {"p50", "p90", "p95", "p99"};
    const takt_stats *s = &t->stats;
    PyObject *percentiles = PyDict_New();
    for (int i = 0; percentiles != NULL && i < TAKT_PERCENTILES; i++) {
        PyObject *value = PyFloat_FromDouble(s->percentiles[i].value * 1e-9);
        if (value == NULL || PyDict_SetItemString(percentiles, names[i], value) < 0)
            Py_CLEAR(percentiles);
        Py_XDECREF(value);
    }
    PyObject *samples = samples_of(t);
    if (percentiles == NULL || samples == NULL) {
        Py_XDECREF(percentiles);
        Py_XDECREF(samples);
        return NULL;
    }
    return Py_BuildValue("{sNsdsdsdsdsdsNsNsNsdsKsdsOsO}", "samples", samples, "mean",
                         s->mean * 1e-9, "std", s->std * 1e-9, "min", s->min * 1e-9, "max",
                         s->max * 1e-9, "median", s->median * 1e-9, "percentiles", percentiles,
                         "median_ci", interval(&s->median_ci), "mean_ci", interval(&s->mean_ci),
                         "first", t->first_ns * 1e-9, "warmup", (unsigned long long)t->warmup_runs,
                         "copy", t->copy_ns * 1e-9, "settled", t->is_settled ? Py_True : Py_False,
                         "complete", t->is_complete ? Py_True : Py_False);
}

enum { POLL_NS = 100000000 };

/* Between runs: the signal may have come where no run could be cancelled. */
static takt_status stop_if_interrupted(void *user, takt_timing *so_far)
{
    (void)so_far;
    return ((const interruptible *)user)->came ? TAKT_ERR_CANCELLED : TAKT_OK;
}

static PyObject *time_session(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *keys[] = {"runs", "warmup", "seconds", "ci_width", "include_copy", NULL};
    session_object *o = AS(session, self);
    takt_timing_options t = {.size = sizeof t};
    takt_timing got = {.samples = NULL};
    unsigned long long runs = 0;
    long long warmup = -1;
    double seconds = 0;
    int copy = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|KLddp", keys, &runs, &warmup, &seconds,
                                     &t.ci_width, &copy) ||
        !session_enter(o))
        return NULL;
    t.runs = runs;
    t.warmup = warmup > 0 ? (uint64_t)warmup : 0;
    t.no_warmup = warmup == 0;
    t.max_ns = nanoseconds(seconds);
    t.include_copy = copy != 0;
    PyObject *made = NULL;
    if (session_restore(o)) {
        takt_error error;
        interruptible i = {cancel_session, o->s, false, NULL, false};
        t.keep = stop_if_interrupted;
        t.keep_user = &i;
        t.keep_ns = POLL_NS;
        interrupts_begin(&i);
        PyThreadState *state = owner_enter(o->owner);
        const takt_status status = takt_session_time(o->s, &t, &got);
        interrupts_end(&i);
        owner_leave(o->owner, state, status, &error);
        if (!interrupts_raise(&i))
            made = status == TAKT_OK ? timing(&got) : raise_error(&error);
        takt_timing_free(o->owner->ctx, &got);
    }
    session_leave(o);
    return made;
}

/* Both sessions belong to this thread for the duration. */
static PyObject *compare(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *keys[] = {"other", "seconds", "blocks", "margin", NULL};
    session_object *a = AS(session, self), *b;
    takt_compare_options c = {.size = sizeof c};
    takt_comparison got;
    takt_error error;
    PyObject *other, *made = NULL;
    Py_ssize_t blocks = 0;
    double seconds = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|dnd", keys, takt_types.session, &other,
                                     &seconds, &blocks, &c.margin) ||
        !session_enter(a))
        return NULL;
    b = AS(session, other);
    if (a == b || !session_enter(b)) {
        session_leave(a);
        return a == b ? raise_status(TAKT_ERR_ARGUMENT, "clone() makes another one",
                                     "a session cannot be compared with itself")
                      : NULL;
    }
    c.blocks = blocks > 0 ? (size_t)blocks : 0;
    c.max_ns = nanoseconds(seconds);
    if (session_restore(a) && session_restore(b)) {
        interruptible i = {cancel_session, a->s, false, NULL, false}; /* runs of both alternate */
        interrupts_begin(&i);
        PyThreadState *state = owner_enter(a->owner);
        const takt_status status = takt_session_compare(a->s, b->s, &c, &got);
        interrupts_end(&i);
        owner_leave(a->owner, state, status, &error);
        made = interrupts_raise(&i) ? NULL
               : status != TAKT_OK
                   ? raise_error(&error)
                   : Py_BuildValue("{sssds(dd)sdsnsdsd}", "verdict", takt_verdict_name(got.verdict),
                                   "ratio", got.ratio, "ci", got.ci.low, got.ci.high, "margin",
                                   got.margin, "blocks", (Py_ssize_t)got.blocks, "a",
                                   got.a_ns * 1e-9, "b", got.b_ns * 1e-9);
    }
    session_leave(b);
    session_leave(a);
    return made;
}

static takt_profile_view view_of(const char *name)
{
    static const struct {
        const char *name;
        takt_profile_view view;
    } views[] = {{"steps", TAKT_PROFILE_STEPS},   {"brief", TAKT_PROFILE_BRIEF},
                 {"layers", TAKT_PROFILE_LAYERS}, {"memory", TAKT_PROFILE_MEMORY},
                 {"trace", TAKT_PROFILE_TRACE},   {"page", TAKT_PROFILE_PAGE},
                 {"flame", TAKT_PROFILE_FLAME}};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        if (strcmp(views[i].name, name) == 0)
            return views[i].view;
    return TAKT_PROFILE_STEPS;
}

static PyObject *profile(PyObject *self, PyObject *args)
{
    session_object *o = AS(session, self);
    takt_profile_options p = {.size = sizeof p};
    takt_profile *made = NULL;
    const char *view;
    double seconds = 0;
    int json = 0;
    text_sink text = {.at = NULL};
    takt_error error;
    if (!PyArg_ParseTuple(args, "s|dp", &view, &seconds, &json) || !session_enter(o))
        return NULL;
    p.max_ns = nanoseconds(seconds);
    takt_status status = TAKT_ERR_ARGUMENT;
    const bool ready = session_restore(o);
    interruptible i = {cancel_session, o->s, false, NULL, false};
    if (ready) {
        interrupts_begin(&i);
        PyThreadState *state = owner_enter(o->owner);
        status = takt_profile_create(o->s, &p, &made);
        interrupts_end(&i);
        if (status == TAKT_OK)
            status =
                takt_profile_print(made, view_of(view), 0,
                                   json ? TAKT_FORMAT_JSON : TAKT_FORMAT_TEXT, text_put, &text);
        takt_profile_destroy(made);
        owner_leave(o->owner, state, status, &error);
    }
    session_leave(o);
    PyObject *told = text_take(&text);
    const bool is_interrupted = interrupts_raise(&i);
    if (status == TAKT_OK && !is_interrupted)
        return told;
    Py_XDECREF(told);
    return ready && !is_interrupted ? raise_error(&error) : NULL;
}

PyMethodDef session_measure_methods[] = {
    {"_time", (PyCFunction)(void (*)(void))time_session, METH_VARARGS | METH_KEYWORDS,
     "_time(runs=0, warmup=-1, seconds=0, ci_width=0, include_copy=False)"},
    {"_compare", (PyCFunction)(void (*)(void))compare, METH_VARARGS | METH_KEYWORDS,
     "_compare(other, seconds=0, blocks=0, margin=0)"},
    {"_profile", profile, METH_VARARGS, "_profile(view, seconds=0, json=False)"},
    {NULL, NULL, 0, NULL},
};
