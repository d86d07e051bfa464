/* figure.c - human-readable times and rates. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "measure/session/measure.h"

/* Three digits, as many as a measurement deserves. */
static void three(double value, const char *unit, char to[static TAKT_FIGURE_TEXT])
{
    const int places = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(to, TAKT_FIGURE_TEXT, "%.*f %s", places, value, unit);
}

const char *takt_figure_time(double ns, char to[static TAKT_FIGURE_TEXT])
{
    if (ns < 999.5)
        snprintf(to, TAKT_FIGURE_TEXT, "%.0f ns", ns);
    else if (ns < 999.5e3)
        three(ns * 1e-3, "us", to);
    else if (ns < 999.5e6)
        three(ns * 1e-6, "ms", to);
    else
        three(ns * 1e-9, "s", to);
    return to;
}

const char *takt_figure_scaled(double value, const char *unit, char to[static TAKT_FIGURE_TEXT])
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    char whole[32];
    size_t i = 0;
    for (; i < 5 && fabs(value) >= 999.5; i++)
        value /= 1000;
    snprintf(whole, sizeof whole, "%s%s", prefixes[i], unit);
    if (i == 0)
        snprintf(to, TAKT_FIGURE_TEXT, "%.0f %s", value, whole);
    else
        three(value, whole, to);
    return to;
}

size_t takt_step_layer(const takt_step *step, const char **name)
{
    *name = step->name;
    return strcspn(step->name, ":");
}
