/* gpu.c - asks NVIDIA's driver for the name of its first GPU. */
#include "os/gpu.h"

#include <stdio.h>
#include <string.h>

#include "os/facts.h"
#include "os/library.h"

typedef int nvml_start_fn(void);
typedef int nvml_device_fn(unsigned index, void **device);
typedef int nvml_name_fn(void *device, char *name, unsigned size);

static bool ask_library(char *to, size_t size)
{
    takt_library *nvml = takt_library_open("libnvidia-ml.so.1");
    if (nvml == NULL)
        return false;
    nvml_start_fn *start = (nvml_start_fn *)takt_library_find(nvml, "nvmlInit_v2");
    nvml_start_fn *stop = (nvml_start_fn *)takt_library_find(nvml, "nvmlShutdown");
    nvml_device_fn *device =
        (nvml_device_fn *)takt_library_find(nvml, "nvmlDeviceGetHandleByIndex_v2");
    nvml_name_fn *name = (nvml_name_fn *)takt_library_find(nvml, "nvmlDeviceGetName");
    bool found = false;
    if (start != NULL && stop != NULL && device != NULL && name != NULL && start() == 0) {
        void *at;
        found = device(0, &at) == 0 && name(at, to, (unsigned)size) == 0;
        stop();
    }
    takt_library_close(nvml);
    return found;
}

bool takt_gpu_name(const char *root, char *to, size_t size)
{
    char text[TAKT_FACT_TEXT];
    if (root[0] == '\0' && ask_library(to, size))
        return true;
    if (!takt_fact_text(root, "/proc/driver/nvidia/version", text, sizeof text))
        return false;
    text[strcspn(text, "\n")] = '\0'; /* the compiler that built it follows */
    snprintf(to, size, "%.*s", (int)size - 1, text);
    return true;
}
