/* driver.c - finds the CUDA driver and queries it for a device. */
#include "backend/cuda/driver.h"

#include <stdio.h>
#include <string.h>

#include "os/library.h"

static const struct {
    size_t offset;
    const char *symbol;
    bool may_lack;
} functions[] = {
#define X(field, symbol, parameters) {offsetof(takt_cuda_driver, field), symbol, false},
    TAKT_CUDA_FUNCTIONS(X)
#undef X
#define X(field, symbol, parameters) {offsetof(takt_cuda_driver, field), symbol, true},
        TAKT_CUDA_LATER(X)
#undef X
};

const char *takt_cuda_load(takt_cuda_driver *driver)
{
    memset(driver, 0, sizeof *driver);
    driver->library = takt_library_open("libcuda.so.1");
    if (driver->library == NULL)
        return "there is no NVIDIA driver (libcuda.so.1)";
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        takt_symbol_fn *found = takt_library_find(driver->library, functions[i].symbol);
        if (found == NULL && functions[i].may_lack)
            continue;
        if (found == NULL) {
            takt_cuda_unload(driver);
            return "the NVIDIA driver is older than CUDA 12.0";
        }
        memcpy((char *)driver + functions[i].offset, &found, sizeof found);
    }
    return NULL;
}

void takt_cuda_unload(takt_cuda_driver *driver)
{
    takt_library_close(driver->library);
    driver->library = NULL;
}

const char *takt_cuda_text(const takt_cuda_driver *driver, int error)
{
    const char *text = NULL;
    return driver->error_string(error, &text) == TAKT_CU_OK && text != NULL ? text
                                                                            : "unknown error";
}

static const char *begin(const takt_cuda_driver *d, takt_cuda_facts *f, char *text, size_t size)
{
    const int error = d->init(0);
    if (error == TAKT_CU_STUB)
        return "libcuda.so.1 is a stub for linking, not a driver";
    if (error == TAKT_CU_NO_DEVICE)
        return "the driver sees no device";
    if (error != TAKT_CU_OK || d->driver_version(&f->driver) != TAKT_CU_OK ||
        d->device_count(&f->count) != TAKT_CU_OK) {
        (void)snprintf(text, size, "the driver does not start: %s",
                       error != TAKT_CU_OK ? takt_cuda_text(d, error) : "it tells no version");
        return text;
    }
    if (f->driver < TAKT_CU_OLDEST) {
        (void)snprintf(text, size, "the driver is for CUDA %d.%d, and 12.0 is needed",
                       f->driver / 1000, f->driver % 1000 / 10);
        return text;
    }
    return f->count > 0 ? NULL : "the driver sees no device";
}

const char *takt_cuda_ask(const takt_cuda_driver *d, int ordinal, takt_cuda_facts *f, char *text,
                          size_t size)
{
    memset(f, 0, sizeof *f);
    const char *why = begin(d, f, text, size);
    if (why != NULL)
        return why;
    if (ordinal < 0 || ordinal >= f->count) {
        (void)snprintf(text, size, "there is no device %d; the driver sees %d", ordinal, f->count);
        return text;
    }
    int major = 0, minor = 0;
    f->ordinal = ordinal;
    if (d->device_get(&f->device, ordinal) != TAKT_CU_OK ||
        d->device_name(f->name, (int)sizeof f->name, f->device) != TAKT_CU_OK ||
        d->device_attribute(&f->processors, TAKT_CU_PROCESSORS, f->device) != TAKT_CU_OK ||
        d->device_attribute(&major, TAKT_CU_MAJOR, f->device) != TAKT_CU_OK ||
        d->device_attribute(&minor, TAKT_CU_MINOR, f->device) != TAKT_CU_OK ||
        d->device_attribute(&f->shared_bytes, TAKT_CU_MOST_SHARED, f->device) != TAKT_CU_OK ||
        d->device_total(&f->memory, f->device) != TAKT_CU_OK)
        return "the driver does not describe the device";
    f->capability = 10 * major + minor;
    if (f->capability < TAKT_CU_OLDEST_CAPABILITY) {
        (void)snprintf(text, size, "%s has compute capability %d.%d, and 7.5 is needed", f->name,
                       major, minor);
        return text;
    }
    return NULL;
}
