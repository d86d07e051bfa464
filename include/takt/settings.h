/**
 * settings.h - settings from a JSON file, and suggestions for misspelt names.
 *
 *     {"threads": 2, "json": true, "input": ["x=x.npy", "y=y.npy"]}
 *
 * Threads: one at a time for each object (takt.h).
 */
#ifndef TAKT_SETTINGS_H
#define TAKT_SETTINGS_H

#include <takt/ctx.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Receives one setting; `value` is its text: a string as it is, a number in its shortest form,
 *  "true" or "false". A list comes as several calls with the same key. Valid during the call; any
 *  result other than TAKT_OK stops reading and is returned. */
typedef takt_status takt_setting_fn(void *user, const char *key, const char *value);

/** Reads a JSON object whose values are strings, numbers, booleans or lists of these.
 *
 *  @return TAKT_ERR_IO, TAKT_ERR_FORMAT with the place, or what `each` returned; settings before
 *  that were passed on */
TAKT_API TAKT_MUST_USE takt_status takt_settings_read(takt_ctx *ctx, const char *path,
                                                      takt_setting_fn *each, void *user);

/** Index of the name that `word` most likely means, or -1 if none is close. */
TAKT_API int takt_nearest(const char *word, const char *const *names, size_t count);

#ifdef __cplusplus
}
#endif
#endif
