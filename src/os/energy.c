/* energy.c - reads the machine's energy counters, if any. */
#include "os/energy.h"

#include <stdint.h>
#include <stdio.h>

#include "os/facts.h"
#include "os/library.h"

enum { PACKAGES = 16, CHIPS = 32, SENSORS = 16 };

/* Whole packages: their parts (intel-rapl:0:0) are included already. */
static bool read_rapl(const char *root, takt_energy *e)
{
    char path[TAKT_FACT_PATH];
    bool found = false;
    *e = (takt_energy){.source = "rapl"};
    for (int i = 0; i < PACKAGES; i++) {
        uint64_t micro, range;
        snprintf(path, sizeof path, "/sys/class/powercap/intel-rapl:%d/energy_uj", i);
        if (!takt_fact_number(root, path, &micro))
            continue;
        found = true;
        e->joules += (double)micro * 1e-6;
        snprintf(path, sizeof path, "/sys/class/powercap/intel-rapl:%d/max_energy_range_uj", i);
        if (takt_fact_number(root, path, &range))
            e->range = (double)range * 1e-6; /* the same for all packages of a machine */
    }
    return found;
}

static bool read_hwmon(const char *root, takt_energy *e)
{
    char path[TAKT_FACT_PATH];
    bool found = false;
    *e = (takt_energy){.source = "hwmon"};
    for (int chip = 0; chip < CHIPS; chip++)
        for (int i = 1; i <= SENSORS; i++) {
            uint64_t micro;
            snprintf(path, sizeof path, "/sys/class/hwmon/hwmon%d/energy%d_input", chip, i);
            if (!takt_fact_number(root, path, &micro))
                break; /* they are numbered without gaps */
            found = true;
            e->joules += (double)micro * 1e-6;
        }
    return found;
}

typedef int nvml_start_fn(void);
typedef int nvml_device_fn(unsigned index, void **device);
typedef int nvml_energy_fn(void *device, unsigned long long *millijoules);

static bool read_nvml(takt_energy *e)
{
    takt_library *nvml = takt_library_open("libnvidia-ml.so.1");
    if (nvml == NULL)
        return false;
    nvml_start_fn *start = (nvml_start_fn *)takt_library_find(nvml, "nvmlInit_v2");
    nvml_start_fn *stop = (nvml_start_fn *)takt_library_find(nvml, "nvmlShutdown");
    nvml_device_fn *device =
        (nvml_device_fn *)takt_library_find(nvml, "nvmlDeviceGetHandleByIndex_v2");
    nvml_energy_fn *energy =
        (nvml_energy_fn *)takt_library_find(nvml, "nvmlDeviceGetTotalEnergyConsumption");
    bool found = false;
    *e = (takt_energy){.source = "nvml"};
    if (start != NULL && stop != NULL && device != NULL && energy != NULL && start() == 0) {
        void *at;
        unsigned long long milli;
        for (unsigned i = 0; i < PACKAGES && device(i, &at) == 0; i++)
            if (energy(at, &milli) == 0) {
                found = true;
                e->joules += (double)milli * 1e-3;
            }
        stop();
    }
    takt_library_close(nvml);
    return found;
}

bool takt_energy_read(const char *root, takt_energy *e)
{
    return read_rapl(root, e) || read_hwmon(root, e) || (root[0] == '\0' && read_nvml(e));
}

double takt_energy_between(const takt_energy *a, const takt_energy *b)
{
    double difference = b->joules - a->joules;
    for (int i = 0; i < PACKAGES && difference < 0; i++) /* several counters may wrap around */
        difference += b->range;
    return difference > 0 ? difference : 0;
}
