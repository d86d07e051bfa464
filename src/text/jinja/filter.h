/* filter.h - the two tables of filters. */
#ifndef TAKT_TEXT_JINJA_FILTER_H
#define TAKT_TEXT_JINJA_FILTER_H

#include "text/jinja/jinja.h"

/* Filters of lists: filter_list.c. */
extern const takt_jfunction takt_jinja_list_filters[];
extern const size_t takt_jinja_list_filter_count;

#endif
