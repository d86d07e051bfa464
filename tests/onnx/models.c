/* models.c - trained ONNX models give the results that came with them. */
#include <dirent.h>
#include <string.h>

#include "../test.h"
#include "util/onnx_case.h"

static bool is_suite(const char *name)
{
    return name[0] == '.' || strncmp(name, "backend-", 8) == 0 || strstr(name, "LICENSE") != NULL;
}

/* The zoo's own expectation for this one comes from a machine whose int8 kernels saturate sums of
 * products at 16 bits; the set after it, from one that does not, is met to the bit. */
static int first_set(const char *name)
{
    return strcmp(name, "shufflenet-v2-12-int8") == 0 ? 1 : 0;
}

static void run_model(const char *data, const char *name)
{
    static const char *const backends[] = {"ref", "cpu"};
    char folder[1400];
    snprintf(folder, sizeof folder, "%s/onnx/%s", data, name);
    /* The interpreter takes minutes for the larger ones; cpu is checked against it step by step
     * elsewhere. */
    const size_t first = strcmp(name, "mnist-8") == 0 || strcmp(name, "dtln-1") == 0 ? 0 : 1;
    for (size_t i = first; i < 2; i++) {
        case_report report;
        onnx_case_run(folder, backends[i],
                      (case_tolerance){1e-3, 1e-4, first_set(name), NULL, false}, &report);
        EXPECT(report.result == CASE_PASS, "%s on %s: %s", name, backends[i], report.why);
        printf("%s on %s: %s%s\n", name, backends[i],
               report.result == CASE_PASS ? "agrees" : report.why,
               report.used_inputs ? " (inputs given at load)" : "");
    }
}

int main(int argc, char **argv)
{
    const char *data = onnx_case_data();
    char path[1024];
    size_t count = 0;
    if (data == NULL)
        TEST_SKIP("no models; set TAKT_DATA");
    snprintf(path, sizeof path, "%s/onnx", data);
    DIR *dir = opendir(path);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        if (is_suite(e->d_name) || (argc > 1 && strstr(e->d_name, argv[1]) == NULL))
            continue;
        run_model(data, e->d_name);
        count++;
    }
    if (dir != NULL)
        closedir(dir);
    if (count == 0)
        TEST_SKIP("no models in %s", path);
    return test_done();
}
