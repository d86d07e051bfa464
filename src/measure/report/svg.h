/* svg.h - text and numbers in SVG's form. */
#ifndef TAKT_MEASURE_REPORT_SVG_H
#define TAKT_MEASURE_REPORT_SVG_H

#include "base/text.h"

void takt_svg_text(takt_text *text, const char *from);
void takt_svg_span(takt_text *text, takt_span from);
/* ' name="12.5"': in tenths of a pixel, whatever the locale. */
void takt_svg_attribute(takt_text *text, const char *name, double value);
/* A dotted name shortened to at most this many letters. */
void takt_svg_name(takt_text *text, const char *name, size_t letters);

#endif
