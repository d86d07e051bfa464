/* png.h - a plot as a PNG image, for viewers without SVG. */
#ifndef TAKT_MEASURE_PNG_H
#define TAKT_MEASURE_PNG_H

#include "measure/plot.h"

/* Appends the bytes of the image. */
TAKT_MUST_USE takt_status takt_plot_png(takt_text *text, const takt_plot *p);

#endif
