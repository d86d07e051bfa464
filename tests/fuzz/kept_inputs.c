/* kept_inputs.c - keeps the last inputs of a process in the file TAKT_FUZZ_KEPT.
 *
 * libFuzzer writes the input of a crash with the allocator of the crashed process: if the heap is
 * damaged, the input is lost. An earlier input may also have done the damage. The file is mapped
 * and shared, so it is complete however the process ends. scripts/fuzz-many reads it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/target.h"

enum { INPUTS = 128, LONGEST = 8184 };

typedef struct kept {
    uint32_t number, size; /* from 1; bytes of the input, of which at most LONGEST are kept */
    uint8_t bytes[LONGEST];
} kept;

/* The linker redirects libFuzzer's calls to this function, and the call below to the target. */
int __real_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static kept *map_file(void)
{
    const char *path = getenv("TAKT_FUZZ_KEPT");
    const int fd = path != NULL ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        return NULL;
    const size_t bytes = INPUTS * sizeof(kept);
    void *at = ftruncate(fd, (off_t)bytes) == 0
                   ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                   : MAP_FAILED;
    close(fd);
    return at != MAP_FAILED ? at : NULL;
}

int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static kept *inputs;
    static uint32_t count;
    if (count == 0)
        inputs = map_file();
    count = count < UINT32_MAX ? count + 1 : 1;
    if (inputs != NULL) {
        kept *k = &inputs[count % INPUTS];
        k->number = count;
        k->size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
        if (size > 0)
            memcpy(k->bytes, data, size < LONGEST ? size : LONGEST);
    }
    return __real_LLVMFuzzerTestOneInput(data, size);
}
