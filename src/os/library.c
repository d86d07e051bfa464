/* library.c - dlopen and its kin. */
#include "os/library.h"

#include <dlfcn.h>
#include <string.h>

takt_library *takt_library_open(const char *name)
{
    return (takt_library *)dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

void takt_library_close(takt_library *library)
{
    if (library != NULL)
        dlclose(library);
}

takt_symbol_fn *takt_library_find(takt_library *library, const char *symbol)
{
    /* ISO C has no conversion from void * to a function pointer; POSIX guarantees the same
     * bytes. */
    void *address = dlsym(library, symbol);
    takt_symbol_fn *function;
    memcpy(&function, &address, sizeof function);
    return function;
}
