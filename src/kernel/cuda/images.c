/* images.c - the device code that this binary carries, by kernel. */
#include "kernel/cuda/images.h"

#include <stdint.h>
#include <string.h>

#define TAKT_CUDA_IMAGE(stem)                                                                      \
    extern const unsigned char takt_fatbin_##stem[], takt_fatbin_end_##stem[];
#include "cuda_image_list.inc"
#undef TAKT_CUDA_IMAGE

static const struct {
    const char *name;
    const unsigned char *begin, *end;
} images[] = {
#define TAKT_CUDA_IMAGE(stem) {#stem, takt_fatbin_##stem, takt_fatbin_end_##stem},
#include "cuda_image_list.inc"
#undef TAKT_CUDA_IMAGE
    {NULL, NULL, NULL},
};
_Static_assert(sizeof images / sizeof *images < TAKT_CUDA_IMAGES, "the last has no room");

static const struct {
    const char *kernel, *image;
} kernels[] = {
#define TAKT_CUDA_KERNEL(name, stem) {#name, #stem},
#include "cuda_kernel_list.inc"
#undef TAKT_CUDA_KERNEL
};
_Static_assert(sizeof kernels / sizeof *kernels <= TAKT_CUDA_KERNELS, "the last has no room");

/* None in a build without nvcc. */
static size_t image_count(void)
{
    size_t count = 0;
    while (images[count].name != NULL)
        count++;
    return count;
}

bool takt_cuda_image_at(size_t index, takt_cuda_image *image)
{
    if (index >= image_count())
        return false;
    *image = (takt_cuda_image){images[index].name, images[index].begin,
                               (size_t)(images[index].end - images[index].begin)};
    return true;
}

size_t takt_cuda_image_of(const char *kernel)
{
    const char *name = NULL;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels && name == NULL; i++)
        if (strcmp(kernels[i].kernel, kernel) == 0)
            name = kernels[i].image;
    for (size_t i = 0; name != NULL && images[i].name != NULL; i++)
        if (strcmp(images[i].name, name) == 0)
            return i;
    return SIZE_MAX;
}

const char *takt_cuda_targets(void)
{
#ifdef TAKT_CUDA_TARGETS
    return TAKT_CUDA_TARGETS;
#else
    return NULL;
#endif
}
