/* gpu.c - finds NVIDIA's GPUs through the driver's library, else through the files it publishes. */
#define _GNU_SOURCE
#include "os/gpu.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "os/facts.h"
#include "os/library.h"

typedef struct nvml_memory {
    unsigned long long total, free, used;
} nvml_memory;

typedef int nvml_start_fn(void);
typedef int nvml_device_fn(unsigned index, void **device);
typedef int nvml_name_fn(void *device, char *name, unsigned size);
typedef int nvml_memory_fn(void *device, nvml_memory *memory);

typedef struct nvml {
    takt_library *library;
    nvml_start_fn *start, *stop;
    nvml_device_fn *device;
    nvml_name_fn *name;
    nvml_memory_fn *memory; /* may be NULL */
} nvml;

static bool find_functions(nvml *n)
{
    takt_library *l = n->library;
    n->start = (nvml_start_fn *)takt_library_find(l, "nvmlInit_v2");
    n->stop = (nvml_start_fn *)takt_library_find(l, "nvmlShutdown");
    n->device = (nvml_device_fn *)takt_library_find(l, "nvmlDeviceGetHandleByIndex_v2");
    n->name = (nvml_name_fn *)takt_library_find(l, "nvmlDeviceGetName");
    n->memory = (nvml_memory_fn *)takt_library_find(l, "nvmlDeviceGetMemoryInfo");
    return n->start != NULL && n->stop != NULL && n->device != NULL && n->name != NULL;
}

static size_t ask_library(takt_gpu *gpus)
{
    nvml n = {.library = takt_library_open("libnvidia-ml.so.1")};
    size_t count = 0;
    if (n.library == NULL)
        return 0;
    if (find_functions(&n) && n.start() == 0) {
        void *at;
        nvml_memory memory;
        for (; count < TAKT_GPUS && n.device((unsigned)count, &at) == 0; count++) {
            takt_gpu *g = &gpus[count];
            *g = (takt_gpu){.name = "unknown"};
            n.name(at, g->name, sizeof g->name);
            if (n.memory != NULL && n.memory(at, &memory) == 0)
                g->memory_bytes = memory.total;
        }
        n.stop();
    }
    takt_library_close(n.library);
    return count;
}

/* "Model: \t\t NVIDIA H200", one folder per GPU. */
static size_t ask_files(const char *root, takt_gpu *gpus)
{
    static const char folder[] = "/proc/driver/nvidia/gpus";
    char path[TAKT_FACT_PATH], text[TAKT_FACT_TEXT];
    size_t count = 0;
    snprintf(path, sizeof path, "%s%s", root, folder);
    DIR *list = opendir(path);
    if (list == NULL)
        return 0;
    for (struct dirent *e; count < TAKT_GPUS && (e = readdir(list)) != NULL;) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%.64s/information", folder, e->d_name);
        takt_gpu *g = &gpus[count];
        *g = (takt_gpu){.memory_bytes = 0};
        if (takt_fact_text(root, path, text, sizeof text) &&
            takt_fact_field(text, "Model", g->name, sizeof g->name))
            count++;
    }
    closedir(list);
    return count;
}

/* Only the driver: it does not say which GPUs it drives. */
static size_t ask_driver(const char *root, takt_gpu *gpus)
{
    char text[TAKT_FACT_TEXT];
    if (!takt_fact_text(root, "/proc/driver/nvidia/version", text, sizeof text))
        return 0;
    text[strcspn(text, "\n")] = '\0'; /* the compiler that built it follows */
    gpus[0] = (takt_gpu){.memory_bytes = 0};
    snprintf(gpus[0].name, sizeof gpus[0].name, "%.*s", TAKT_GPU_TEXT - 1, text);
    return 1;
}

size_t takt_gpu_read(const char *root, takt_gpu gpus[static TAKT_GPUS])
{
    size_t count = root[0] == '\0' ? ask_library(gpus) : 0;
    if (count == 0)
        count = ask_files(root, gpus);
    return count > 0 ? count : ask_driver(root, gpus);
}
