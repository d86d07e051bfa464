/* trainer_options.c - how a trainer is made, from keywords. */
#include "trainer.h"

static bool takes(void *user, const char *parameter)
{
    const parameter_names *n = user;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *name = PyUnicode_FromString(parameter);
    const bool has = name != NULL && PySet_Contains(n->set, name) == 1;
    Py_XDECREF(name);
    PyErr_Clear();
    PyGILState_Release(gil);
    return has == n->inside;
}

static bool take_groups(trainer_options *p, PyObject *list)
{
    const Py_ssize_t count = PyList_Size(list);
    if (count < 0 || count > TRAINER_MOST_GROUPS) {
        raise_status(TAKT_ERR_ARGUMENT, NULL, "groups: a list of at most %d", TRAINER_MOST_GROUPS);
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

bool trainer_options_take(trainer_options *p, PyObject *args, PyObject *kwargs)
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
