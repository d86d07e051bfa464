/* sample_rate.c - the sample rate that a model of sounds expects.
 *
 * Models have no field for it, but a log_mel layer computes its bands from it. The values that it
 * names keep their names in a compiled model, so the rate can be read from their constants.
 */
#include <math.h>
#include <string.h>

#include "api/model.h"
#include "pass/recognise.h"

/* The node called `scope` (of that length) plus `name`, or NULL. */
static const takt_node *find(const takt_graph *g, const char *scope, size_t length,
                             const char *name)
{
    for (size_t i = 0; i < g->count; i++) {
        const char *own = g->nodes[i].name;
        if (own != NULL && strncmp(own, scope, length) == 0 && strcmp(own + length, name) == 0)
            return &g->nodes[i];
    }
    return NULL;
}

static bool factor_of(const takt_graph *g, const takt_node *n, double *factor)
{
    takt_id x;
    *factor = 1;
    return takt_known_scaled(g, (takt_id)(n - g->nodes), &x, factor);
}

static const char ending[] = ".frequency";

static bool is_frequency(const takt_node *n)
{
    const size_t length = n->name != NULL ? strlen(n->name) : 0, end = sizeof ending - 1;
    return length > end && strcmp(n->name + length - end, ending) == 0;
}

/* src/lang/layers/log_mel.takt: frequency = bin * (rate / fft), angle = ... * (2 pi / fft). */
static double of_layer(const takt_graph *g, const takt_node *frequency)
{
    const size_t length = strlen(frequency->name), end = sizeof ending - 1;
    double step, radians;
    const takt_node *angle = find(g, frequency->name, length - end, ".angle");
    if (angle == NULL || find(g, frequency->name, length - end, ".waves") == NULL ||
        !factor_of(g, frequency, &step) || !factor_of(g, angle, &radians) || !(radians > 0))
        return 0;
    const double points = round(2 * 3.141592653589793 / radians);
    const double rate = round(step * points * 1e3) / 1e3; /* both factors were rounded */
    return isfinite(rate) ? rate : 0;
}

double takt_model_sample_rate(const takt_model *m)
{
    enum { MOST = 16 }; /* names that a file may have without being a layer's */
    double rate = 0;
    if (m == NULL)
        return 0;
    for (size_t i = 0, tried = 0; rate == 0 && tried < MOST && i < m->graph->count; i++)
        if (is_frequency(&m->graph->nodes[i])) {
            rate = of_layer(m->graph, &m->graph->nodes[i]);
            tried++;
        }
    return rate;
}
