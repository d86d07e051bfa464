/* trainer_run.c - steps of a trainer, one or many, and what one takes. */
#include "trainer.h"

#include <math.h>
#include <time.h>

enum { MOST_VIEWS = 64 };

/* ---- batches ---- */

typedef struct batch {
    takt_named_view at[MOST_VIEWS];
    hold held[MOST_VIEWS];
    PyObject *dense[MOST_VIEWS]; /* copies of those that are not, or NULL */
    size_t count;
} batch;

static void drop(batch *b)
{
    for (size_t i = 0; b != NULL && i < b->count; i++) {
        hold_drop(&b->held[i]);
        Py_XDECREF(b->dense[i]);
    }
    PyMem_Free(b);
}

static bool take_one(batch *b, const char *name, PyObject *array)
{
    if (b->count == MOST_VIEWS) {
        raise_status(TAKT_ERR_ARGUMENT, NULL, "a batch has at most %d arrays", MOST_VIEWS);
        return false;
    }
    hold *h = &b->held[b->count];
    if (name == NULL || !hold_take(h, array, false, name))
        return false;
    takt_named_view *to = &b->at[b->count++];
    *to = (takt_named_view){name, h->view};
    if (!view_is_dense(&h->view)) {
        PyObject *copy = array_new(h->view.dtype, h->view.rank, h->view.dims);
        if (copy == NULL)
            return false;
        b->dense[b->count - 1] = copy;
        to->view = AS(array, copy)->memory.view;
        if (view_count(&h->view) > 0)
            view_gather(&h->view, to->view.data);
    }
    return true;
}

static batch *take(PyObject *dict)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    batch *b = PyMem_Calloc(1, sizeof *b);
    if (b == NULL)
        PyErr_NoMemory();
    while (b != NULL && PyDict_Next(dict, &at, &key, &value))
        if (!take_one(b, PyUnicode_AsUTF8AndSize(key, NULL), value)) {
            drop(b);
            return NULL;
        }
    return b;
}

/* ---- one step ---- */

/* False: raised. */
static bool run(trainer_object *t, PyObject *dict, bool is_step, takt_step_result *r)
{
    takt_error error;
    if (!PyDict_Check(dict))
        raise_status(TAKT_ERR_ARGUMENT, "{'x': array, 'labels': array}",
                     "a batch is a dictionary of arrays by name");
    if (!PyDict_Check(dict) || !trainer_begin(t))
        return false;
    batch *b = take(dict);
    takt_status status = TAKT_ERR_ARGUMENT;
    interruptible i = {cancel_trainer, t->trainer, false, NULL, false};
    if (b != NULL) {
        interrupts_begin(&i);
        PyThreadState *state = owner_enter(t->owner);
        status = is_step ? takt_trainer_step(t->trainer, b->at, b->count, r)
                         : takt_trainer_eval(t->trainer, b->at, b->count, r);
        interrupts_end(&i);
        owner_leave(t->owner, state, status, &error);
    }
    trainer_end(t);
    const bool has_batch = b != NULL;
    drop(b);
    if (!has_batch || interrupts_raise(&i))
        return false;
    if (status != TAKT_OK && !PyErr_Occurred())
        raise_error(&error);
    return status == TAKT_OK;
}

static PyObject *told(const takt_step_result *r)
{
    return Py_BuildValue("(KddddddO)", (unsigned long long)r->step, r->loss, r->count, r->hits,
                         r->rate, r->norm, r->scale, r->skipped ? Py_True : Py_False);
}

PyObject *trainer_step(PyObject *self, PyObject *dict)
{
    takt_step_result r;
    return run(AS(trainer, self), dict, true, &r) ? told(&r) : NULL;
}

PyObject *trainer_eval(PyObject *self, PyObject *dict)
{
    takt_step_result r;
    return run(AS(trainer, self), dict, false, &r) ? told(&r) : NULL;
}

/* ---- many steps ---- */

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* What steps of one call amount to; those that are not finite are left out of the sums. */
typedef struct sums {
    double loss, count, hits;
    uint64_t done, waited_ns;
} sums;

static void add(sums *s, const takt_step_result *r)
{
    s->done++;
    if (!isfinite(r->loss))
        return;
    s->loss += r->loss * r->count;
    s->count += r->count;
    s->hits = r->hits >= 0 && s->hits >= 0 ? s->hits + r->hits : -1;
}

/* The next batch by name: `ready` makes it of what comes. NULL: the last one was before, or raised.
 */
static PyObject *next_batch(PyObject *source, PyObject *ready)
{
    PyObject *item = PyIter_Next(source);
    if (item == NULL || PyDict_Check(item))
        return item;
    PyObject *named = PyObject_CallFunctionObjArgs(ready, item, NULL);
    Py_DECREF(item);
    return named;
}

/* Python between two steps would be read from memory, since a step leaves nothing in the caches:
 * that were 2 % of a step of 0.7 ms. */
PyObject *trainer_steps(PyObject *self, PyObject *args)
{
    trainer_object *t = AS(trainer, self);
    PyObject *source, *ready, *taken = NULL;
    double seconds;
    if (!PyArg_ParseTuple(args, "OOd", &source, &ready, &seconds))
        return NULL;
    if (!PyIter_Check(source))
        return raise_status(TAKT_ERR_ARGUMENT, NULL, "batches come from an iterator");
    sums s = {.waited_ns = 0};
    takt_step_result r = {.count = 0};
    const uint64_t begun = now_ns();
    uint64_t now = begun;
    atomic_store(&t->is_stopped, false);
    do {
        taken = next_batch(source, ready);
        const uint64_t got = now_ns();
        s.waited_ns += got - now;
        if (taken == NULL)
            break;
        const bool has_run = run(t, taken, true, &r);
        Py_DECREF(taken);
        if (!has_run || PyErr_CheckSignals() < 0)
            return NULL;
        add(&s, &r);
        now = now_ns();
    } while (!atomic_load(&t->is_stopped) && (double)(now - begun) < seconds * 1e9);
    if (PyErr_Occurred())
        return NULL;
    return Py_BuildValue("(NdddKdO)", told(&r), s.loss, s.count, s.hits, (unsigned long long)s.done,
                         (double)s.waited_ns / 1e9, taken == NULL ? Py_True : Py_False);
}

PyObject *trainer_stop(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    atomic_store(&AS(trainer, self)->is_stopped, true);
    Py_RETURN_NONE;
}

PyObject *trainer_plan(PyObject *self, PyObject *dict)
{
    trainer_object *t = AS(trainer, self);
    takt_plan_info i;
    takt_error error;
    if (!PyDict_Check(dict))
        return raise_status(TAKT_ERR_ARGUMENT, NULL, "a batch is a dictionary of arrays by name");
    if (!trainer_begin(t))
        return NULL;
    batch *b = take(dict);
    takt_status status = TAKT_ERR_ARGUMENT;
    if (b != NULL) {
        PyThreadState *state = owner_enter(t->owner);
        status = takt_trainer_plan(t->trainer, b->at, b->count, &i);
        owner_leave(t->owner, state, status, &error);
    }
    trainer_end(t);
    const bool has_batch = b != NULL;
    drop(b);
    if (!has_batch)
        return NULL;
    if (status != TAKT_OK)
        return raise_error(&error);
    return Py_BuildValue("{sKsKsKsKsKsnsi}", "weights", i.weights, "state", i.state, "arena",
                         i.arena, "peak", i.peak, "lower_bound", i.lower_bound, "steps",
                         (Py_ssize_t)i.steps, "threads", i.threads);
}
