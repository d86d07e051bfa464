/* onnx_data.c - finds models and cases that are not part of the repository. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "util/onnx_case.h"

static bool is_there(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

const char *onnx_case_data(void)
{
    const char *given = getenv("TAKT_DATA");
    given = given != NULL ? given : "../shared/data";
    return is_there(given) ? given : NULL;
}

bool onnx_case_suite(const char *name, char *path, size_t size)
{
    const char *data = onnx_case_data(), *debian = getenv("TAKT_ONNX_TESTDATA");
    if (strncmp(name, "backend-", 8) != 0)
        snprintf(path, size, "%s/%s", debian != NULL ? debian : "/usr/share/libonnx-testdata/data",
                 name);
    else if (data != NULL)
        snprintf(path, size, "%s/onnx/%s", data, name);
    else
        return false;
    return is_there(path);
}

bool onnx_case_is_random(const char *name)
{
    return strstr(name, "test_bernoulli") != NULL ||
           (strstr(name, "test_training_dropout") != NULL && strstr(name, "zero_ratio") == NULL);
}

bool onnx_case_is_wrong(const char *suite, const char *name)
{
    return strcmp(suite, "node") == 0 &&
           (strcmp(name, "test_adam_multiple") == 0 ||
            (strncmp(name, "test_castlike", 13) == 0 && strstr(name, "BFLOAT16") != NULL));
}
