/* library.h - shared libraries found at run time. */
#ifndef TAKT_OS_LIBRARY_H
#define TAKT_OS_LIBRARY_H

typedef struct takt_library takt_library;
typedef void takt_symbol_fn(void);

/* By file name or path; NULL if it cannot be loaded. */
takt_library *takt_library_open(const char *name);
void takt_library_close(takt_library *library); /* accepts NULL */
/* NULL if there is no such function. */
takt_symbol_fn *takt_library_find(takt_library *library, const char *symbol);

#endif
