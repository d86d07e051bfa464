/* report_fault.c - the error message for an element that a step could not compute. */
#include "base/error.h"
#include "plan/execute.h"

static void advise(takt_error *error)
{
    if (error->hint[0] == '\0' && error->id == TAKT_E_DIVIDE)
        takt_error_hint(error, "integers have no infinity: keep zeros out of the divisor, or "
                               "divide floats");
    if (error->hint[0] == '\0' && error->id == TAKT_E_INDEX)
        takt_error_hint(error, "indices lie between -size and size - 1 of the axis that they "
                               "index: look at the input they come from");
}

takt_status takt_report_fault(const takt_execution *x, const takt_step *s)
{
    const unsigned long long element = atomic_load(&x->fault->element);
    const long long value = atomic_load(&x->fault->value);
    if (s->fault_id == 0) {
        advise(x->error);
        return x->error->node[0] == '\0' ? takt_error_node(x->error, s->name) : x->error->status;
    }
    if (s->fault_id == TAKT_E_DIVIDE)
        takt_error_set(x->error, s->fault_id, "%s: element %llu is divided by zero", s->name,
                       element);
    else
        takt_error_set(x->error, s->fault_id, "%s: index %lld (element %llu) is out of range",
                       s->name, value, element);
    advise(x->error);
    return takt_error_node(x->error, s->name);
}
