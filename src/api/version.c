/* version.c - the version of Takt, and how it was built. */
#include <takt/version.h>

#if defined(__has_include)
#if __has_include("build_info.h")
#include "build_info.h"
#endif
#endif

/* Used when compiled without the build system. */
#ifndef TAKT_BUILD_VERSION
#define TAKT_BUILD_VERSION "0.1.0"
#endif
#ifndef TAKT_BUILD_COMMIT
#define TAKT_BUILD_COMMIT "unknown"
#endif
#ifndef TAKT_BUILD_PRESET
#define TAKT_BUILD_PRESET "none"
#endif
#ifndef TAKT_BUILD_TYPE
#define TAKT_BUILD_TYPE "unknown"
#endif
#ifndef TAKT_BUILD_COMPILER
#define TAKT_BUILD_COMPILER __VERSION__
#endif
#ifndef TAKT_BUILD_TARGET
#define TAKT_BUILD_TARGET "unknown"
#endif
#ifndef TAKT_BUILD_FLAGS
#define TAKT_BUILD_FLAGS "unknown"
#endif

const char *takt_version(void)
{
    return TAKT_BUILD_VERSION;
}

const char *takt_build_info(void)
{
    return "version: " TAKT_BUILD_VERSION "\n"
           "commit: " TAKT_BUILD_COMMIT "\n"
           "preset: " TAKT_BUILD_PRESET "\n"
           "type: " TAKT_BUILD_TYPE "\n"
           "compiler: " TAKT_BUILD_COMPILER "\n"
           "target: " TAKT_BUILD_TARGET "\n"
           "flags: " TAKT_BUILD_FLAGS "\n";
}
