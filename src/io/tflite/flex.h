/* flex.h - numbers of a flexbuffer's map: the options of custom operators. */
#ifndef TAKT_IO_TFLITE_FLEX_H
#define TAKT_IO_TFLITE_FLEX_H

#include "base/text.h"

/* The number or bool called `key`; false: the bytes are not a map, or it has no such entry. */
bool takt_flex_number(takt_span bytes, const char *key, double *value);

#endif
