/* trainer.c - takt._takt.Trainer: steps of training; programs use takt.Trainer. */
#include "module.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum { MOST_VIEWS = 64, MOST_GROUPS = 16 };

typedef struct trainer_object {
    OBJECT_HEAD owner *owner;
    takt_trainer *trainer;
    PyObject *model;      /* borrowed by the trainer */
    atomic_flag is_begun; /* by __init__ */
    atomic_bool is_busy;
    atomic_bool is_stopped; /* after the present step */
} trainer_object;

static void dealloc(PyObject *self)
{
    trainer_object *t = AS(trainer, self);
    PyTypeObject *type = Py_TYPE(self);
    takt_trainer_destroy(t->trainer);
    Py_XDECREF(t->model);
    owner_release(t->owner);
    PyObject_Free(self);
    Py_DECREF((PyObject *)type);
}

/* ---- making one ---- */

typedef struct names {
    PyObject *set; /* of parameters */
    bool inside;   /* true: these; false: all others */
} names;

static bool takes(void *user, const char *parameter)
{
    const names *n = user;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *name = PyUnicode_FromString(parameter);
    const bool has = name != NULL && PySet_Contains(n->set, name) == 1;
    Py_XDECREF(name);
    PyErr_Clear();
    PyGILState_Release(gil);
    return has == n->inside;
}

typedef struct plan_of_options {
    takt_train_options o;
    takt_plan_options plan;
    names frozen, of_group[MOST_GROUPS];
    takt_param_group groups[MOST_GROUPS];
    hold weights;
    bool has_weights;
} plan_of_options;

static bool take_groups(plan_of_options *p, PyObject *list)
{
    const Py_ssize_t count = PyList_Size(list);
    if (count < 0 || count > MOST_GROUPS) {
        raise_status(TAKT_ERR_ARGUMENT, NULL, "groups: a list of at most %d", MOST_GROUPS);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        takt_param_group *g = &p->groups[i];
        g->takes = takes;
        g->user = &p->of_group[i];
        p->of_group[i].inside = true;
        if (!PyTuple_Check(PyList_GetItem(list, i))) {
            raise_status(TAKT_ERR_ARGUMENT, NULL, "a group is (names, rate, numbers)");
            return false;
        }
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "O!dz", &PySet_Type, &p->of_group[i].set,
                              &g->rate, &g->numbers))
            return false;
    }
    p->o.groups = p->groups;
    p->o.group_count = (size_t)count;
    return true;
}

/* Options by name, as takt_train_options has them. */
static bool take_options(plan_of_options *p, PyObject *args, PyObject *kwargs)
{
    static char *keys[] = {"loss",   "optimizer", "rate",          "schedule", "warmup", "steps",
                           "shards", "clip_norm", "clip_value",    "ema",      "seed",   "plan",
                           "frozen", "groups",    "class_weights", "amp",      "skip",   NULL};
    PyObject *plan = Py_None, *frozen = Py_None, *groups = Py_None, *weights = Py_None;
    unsigned long long warmup = 0, steps = 0, seed = 0;
    long long shards = 0;
    int skip = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|zzdzKKLdddKOOOOzp", keys, &p->o.loss,
                                     &p->o.optimizer, &p->o.rate, &p->o.schedule, &warmup, &steps,
                                     &shards, &p->o.clip_norm, &p->o.clip_value, &p->o.ema, &seed,
                                     &plan, &frozen, &groups, &weights, &p->o.amp, &skip) ||
        !plan_options_of(plan, &p->plan))
        return false;
    p->o.warmup = warmup;
    p->o.steps = steps;
    p->o.seed = seed;
    p->o.shards = shards;
    p->o.plan = &p->plan;
    p->o.skip_not_finite = skip != 0;
    if (frozen != Py_None) {
        p->frozen.set = frozen;
        p->o.trains = takes;
        p->o.trains_user = &p->frozen;
    }
    if (weights != Py_None) {
        p->has_weights = hold_take(&p->weights, weights, false, "class_weights");
        if (!p->has_weights)
            return false;
        p->o.class_weights = &p->weights.view;
    }
    return groups == Py_None || take_groups(p, groups);
}

static int init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    trainer_object *t = AS(trainer, self);
    plan_of_options p = {.o = {.size = sizeof(takt_train_options)}};
    PyObject *first = PyTuple_GetSlice(args, 0, 1), *rest = PyTuple_GetSlice(args, 1, 99);
    PyObject *model = NULL;
    takt_error error;
    int done = -1;
    if (atomic_flag_test_and_set(&t->is_begun))
        raise_status(TAKT_ERR_STATE, "make another one", "the trainer was made before");
    else if (first != NULL && rest != NULL &&
             PyArg_ParseTuple(first, "O!", takt_types.model, &model) &&
             take_options(&p, rest, kwargs)) {
        model_object *m = AS(model, model);
        t->owner = owner_retain(m->owner);
        t->model = Py_NewRef(model);
        PyThreadState *state = owner_enter(t->owner);
        const takt_status status = takt_trainer_create(m->model, &p.o, &t->trainer);
        owner_leave(t->owner, state, status, &error);
        done = status == TAKT_OK ? 0 : -1;
        if (done < 0)
            raise_error(&error);
    }
    if (p.has_weights)
        hold_drop(&p.weights);
    Py_XDECREF(first);
    Py_XDECREF(rest);
    return done;
}

/* ---- steps ---- */

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

static bool begin(trainer_object *t)
{
    if (t->trainer == NULL || atomic_exchange(&t->is_busy, true)) {
        raise_status(TAKT_ERR_STATE, "one trainer serves one thread at a time",
                     t->trainer == NULL ? "the trainer was never made"
                                        : "the trainer is in use by another thread");
        return false;
    }
    return true;
}

/* False: raised. */
static bool run(trainer_object *t, PyObject *dict, bool is_step, takt_step_result *r)
{
    takt_error error;
    if (!PyDict_Check(dict))
        raise_status(TAKT_ERR_ARGUMENT, "{'x': array, 'labels': array}",
                     "a batch is a dictionary of arrays by name");
    if (!PyDict_Check(dict) || !begin(t))
        return false;
    batch *b = take(dict);
    takt_status status = TAKT_ERR_ARGUMENT;
    interruptible i = {cancel_trainer, t->trainer, false, NULL};
    if (b != NULL) {
        interrupts_begin(&i);
        PyThreadState *state = owner_enter(t->owner);
        status = is_step ? takt_trainer_step(t->trainer, b->at, b->count, r)
                         : takt_trainer_eval(t->trainer, b->at, b->count, r);
        interrupts_end(&i);
        owner_leave(t->owner, state, status, &error);
    }
    atomic_store(&t->is_busy, false);
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

static PyObject *step(PyObject *self, PyObject *dict)
{
    takt_step_result r;
    return run(AS(trainer, self), dict, true, &r) ? told(&r) : NULL;
}

static PyObject *eval(PyObject *self, PyObject *dict)
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
static PyObject *steps(PyObject *self, PyObject *args)
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
    return Py_BuildValue("(NdddKdO)", told(&r), s.loss, s.count, s.hits,
                         (unsigned long long)s.done, (double)s.waited_ns / 1e9,
                         taken == NULL ? Py_True : Py_False);
}

static PyObject *stop(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    atomic_store(&AS(trainer, self)->is_stopped, true);
    Py_RETURN_NONE;
}

static PyObject *plan(PyObject *self, PyObject *dict)
{
    trainer_object *t = AS(trainer, self);
    takt_plan_info i;
    takt_error error;
    if (!PyDict_Check(dict))
        return raise_status(TAKT_ERR_ARGUMENT, NULL, "a batch is a dictionary of arrays by name");
    if (!begin(t))
        return NULL;
    batch *b = take(dict);
    takt_status status = TAKT_ERR_ARGUMENT;
    if (b != NULL) {
        PyThreadState *state = owner_enter(t->owner);
        status = takt_trainer_plan(t->trainer, b->at, b->count, &i);
        owner_leave(t->owner, state, status, &error);
    }
    atomic_store(&t->is_busy, false);
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

static PyObject *observe(PyObject *self, PyObject *number)
{
    trainer_object *t = AS(trainer, self);
    const double loss = PyFloat_AsDouble(number);
    if (PyErr_Occurred() || !begin(t))
        return NULL;
    takt_trainer_observe(t->trainer, loss);
    atomic_store(&t->is_busy, false);
    Py_RETURN_NONE;
}

/* ---- files ---- */

typedef takt_status transfer(trainer_object *t, const char *path, const char **note);

static takt_status save_to(trainer_object *t, const char *path, const char **note)
{
    return takt_trainer_save(t->trainer, path, *note);
}

static takt_status load_from(trainer_object *t, const char *path, const char **note)
{
    return takt_trainer_load(t->trainer, path, note);
}

static PyObject *file(PyObject *self, PyObject *args, transfer *how)
{
    trainer_object *t = AS(trainer, self);
    PyObject *path;
    const char *note = NULL;
    takt_error error;
    if (!PyArg_ParseTuple(args, "O&|z", PyUnicode_FSConverter, &path, &note))
        return NULL;
    if (!begin(t)) {
        Py_DECREF(path);
        return NULL;
    }
    PyThreadState *state = owner_enter(t->owner);
    const takt_status status = how(t, PyBytes_AsString(path), &note);
    owner_leave(t->owner, state, status, &error);
    PyObject *made =
        status == TAKT_OK ? PyUnicode_FromString(note != NULL ? note : "") : raise_error(&error);
    atomic_store(&t->is_busy, false);
    Py_DECREF(path);
    return made;
}

static PyObject *save(PyObject *self, PyObject *args)
{
    return file(self, args, save_to);
}

static PyObject *load(PyObject *self, PyObject *args)
{
    return file(self, args, load_from);
}

static PyObject *export(PyObject *self, PyObject *args)
{
    trainer_object *t = AS(trainer, self);
    int averaged = 0;
    takt_error error;
    if (!PyArg_ParseTuple(args, "|p", &averaged) || !begin(t))
        return NULL;
    takt_model *to = AS(model, t->model)->model;
    PyThreadState *state = owner_enter(t->owner);
    const takt_status status = takt_trainer_export(t->trainer, to, averaged != 0);
    owner_leave(t->owner, state, status, &error);
    atomic_store(&t->is_busy, false);
    if (status != TAKT_OK)
        return raise_error(&error);
    Py_RETURN_NONE;
}

static PyObject *facts(PyObject *self, PyObject *nothing)
{
    trainer_object *t = AS(trainer, self);
    uint64_t trained;
    size_t frozen;
    (void)nothing;
    if (!begin(t))
        return NULL;
    takt_trainer_count(t->trainer, &trained, &frozen);
    PyObject *made = Py_BuildValue("(KKns)", (unsigned long long)takt_trainer_steps(t->trainer),
                                   (unsigned long long)trained, (Py_ssize_t)frozen,
                                   takt_trainer_note(t->trainer));
    atomic_store(&t->is_busy, false);
    return made;
}

static PyMethodDef methods[] = {
    {"step", step, METH_O, "step(batch): (step, loss, count, hits, rate, norm, scale, skipped)"},
    {"eval", eval, METH_O, "eval(batch): the same with the present weights"},
    {"steps", steps, METH_VARARGS,
     "steps(batches, ready, seconds): steps until then; (the last one as by step, sums of loss, "
     "count and hits, steps, seconds of waiting, whether the batches ended)"},
    {"stop", stop, METH_NOARGS, "stop(): ends steps() after the present one"},
    {"plan", plan, METH_O, "plan(batch): bytes of a step on it"},
    {"observe", observe, METH_O, "observe(loss): a validation loss, for the schedule plateau"},
    {"save", save, METH_VARARGS, "save(path, note=None)"},
    {"load", load, METH_VARARGS, "load(path): the note"},
    {"export", export, METH_VARARGS, "export(averaged=False): the weights into the model"},
    {"facts", facts, METH_NOARGS, "(steps, trained numbers, frozen parameters, note)"},
    {NULL, NULL, 0, NULL},
};

PyObject *trainer_type(PyObject *module)
{
    static PyType_Slot slots[] = {
        {Py_tp_new, PyType_GenericNew},
        {Py_tp_init, init},
        {Py_tp_dealloc, dealloc},
        {Py_tp_methods, methods},
        {Py_tp_doc, "Trainer(model, loss=, optimizer=, rate=, ...)"},
        {0, NULL},
    };
    static PyType_Spec spec = {.name = "takt._takt.Trainer",
                               .basicsize = OBJECT_SIZE(trainer_object),
                               .flags = Py_TPFLAGS_DEFAULT,
                               .slots = slots};
    return PyType_FromModuleAndSpec(module, &spec, NULL);
}
