/* inner.h - functions that libtakt.so exports to libtakt-measure.so besides the public ones.
 *
 * Everything else is hidden. tests/lint/exports.py compares the marks with what libtakt-measure
 * refers to: a function that it newly needs gets the mark, one that it no longer needs loses it.
 */
#ifndef TAKT_BASE_INNER_H
#define TAKT_BASE_INNER_H

#if defined(__GNUC__)
#define TAKT_INNER __attribute__((visibility("default")))
#else
#define TAKT_INNER
#endif

#endif
