/**
 * version.h - the version of Takt.
 *
 * Threads: any, at any time.
 */
#ifndef TAKT_VERSION_H
#define TAKT_VERSION_H

#include <takt/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** "0.1.0". */
TAKT_API const char *takt_version(void);
/** Version, commit, build type, compiler, target and flags: one "key: value" per line. */
TAKT_API const char *takt_build_info(void);

#ifdef __cplusplus
}
#endif
#endif
