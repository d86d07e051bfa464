/* plan.c - takt._takt.Plan: what a run will do and need, known in advance. */
#include "module.h"

#include <string.h>

static void dealloc(PyObject *self)
{
    plan_object *p = AS(plan, self);
    PyTypeObject *type = Py_TYPE(self);
    takt_plan_destroy(p->plan);
    Py_XDECREF(p->model);
    owner_release(p->owner);
    PyObject_Free(self);
    Py_DECREF((PyObject *)type);
}

static PyObject *info(PyObject *self, PyObject *nothing)
{
    takt_plan_info i;
    takt_run_config c;
    char backend[256];
    const takt_plan *plan = AS(plan, self)->plan;
    (void)nothing;
    takt_plan_query(plan, &i);
    takt_plan_config(plan, &c);
    takt_plan_backend(plan, backend, sizeof backend);
    return Py_BuildValue("{sKsKsKsKsKsKsKsKsKsnsisdsKsKssssssssss}", "weights", i.weights, "packed",
                         i.packed, "state", i.state, "arena", i.arena, "scratch", i.scratch, "io",
                         i.io, "peak", i.peak, "lower_bound", i.lower_bound, "unshared", i.unshared,
                         "steps", (Py_ssize_t)i.steps, "threads", i.threads, "flops", i.flops,
                         "session", i.session, "plan_ns", i.plan_ns, "backend", c.backend,
                         "precision", c.precision, "numerics", c.numerics, "note",
                         c.note != NULL ? c.note : "", "runs_on", backend);
}

static PyObject *report(PyObject *self, PyObject *args)
{
    plan_object *p = AS(plan, self);
    const char *kind, *node = NULL;
    int json = 0;
    text_sink text = {.at = NULL};
    takt_error error;
    if (!PyArg_ParseTuple(args, "s|zp", &kind, &node, &json))
        return NULL;
    const takt_format format = json ? TAKT_FORMAT_JSON : TAKT_FORMAT_TEXT;
    PyThreadState *state = owner_enter(p->owner);
    takt_status status = TAKT_ERR_ARGUMENT;
    if (strcmp(kind, "describe") == 0)
        status = takt_plan_describe(p->plan, format, text_put, &text);
    else if (strcmp(kind, "kernels") == 0)
        status = takt_plan_kernels(p->plan, format, text_put, &text);
    else if (strcmp(kind, "draw") == 0)
        status = takt_plan_draw(p->plan, text_put, &text);
    else if (strcmp(kind, "graph") == 0)
        status = takt_plan_draw_graph(p->plan, text_put, &text);
    else if (strcmp(kind, "explain") == 0)
        status = takt_plan_explain(p->plan, node, format, text_put, &text);
    owner_leave(p->owner, state, status, &error);
    PyObject *made = text_take(&text);
    if (status == TAKT_OK)
        return made;
    Py_XDECREF(made);
    return raise_error(&error);
}

static PyMethodDef methods[] = {
    {"info", info, METH_NOARGS, "Bytes, steps and options of the plan, as a dictionary."},
    {"report", report, METH_VARARGS, "report(kind, node=None, json=False)"},
    {NULL, NULL, 0, NULL},
};

PyObject *plan_type(PyObject *module)
{
    static PyType_Slot slots[] = {
        {Py_tp_dealloc, dealloc},
        {Py_tp_methods, methods},
        {Py_tp_doc, "A plan of the library's; takt.Plan is what programs use."},
        {0, NULL},
    };
    static PyType_Spec spec = {.name = "takt._takt.Plan",
                               .basicsize = OBJECT_SIZE(plan_object),
                               .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                               .slots = slots};
    return PyType_FromModuleAndSpec(module, &spec, NULL);
}
