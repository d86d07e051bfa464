/* length.h - attributes of the op `length`. */
#ifndef TAKT_OP_UTIL_LENGTH_H
#define TAKT_OP_UTIL_LENGTH_H

enum { TAKT_LENGTH_NAMES, TAKT_LENGTH_BOUNDS, TAKT_LENGTH_TOPS };

/* The bound of a length that nothing in the model bounds: the caller has to say one. */
#define TAKT_LENGTH_OPEN INT64_MAX

#endif
