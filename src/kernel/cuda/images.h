/* images.h - the device code that this binary carries. */
#ifndef TAKT_KERNEL_CUDA_IMAGES_H
#define TAKT_KERNEL_CUDA_IMAGES_H

#include <stdbool.h>
#include <stddef.h>

/* Capacity of the tables of loaded code: more than there are files with kernels, and kernels. */
enum { TAKT_CUDA_IMAGES = 64, TAKT_CUDA_KERNELS = 128 };

/* What nvcc made of one file; the driver picks the code for its device. */
typedef struct takt_cuda_image {
    const char *name; /* "gemm_f32_cuda" */
    const void *data;
    size_t bytes;
} takt_cuda_image;

/* Images in order of their names; false beyond the last, and for all if there was no nvcc. */
bool takt_cuda_image_at(size_t index, takt_cuda_image *image);
/* Index of the image that has `kernel`; SIZE_MAX: no file has one of this name, or no nvcc. */
size_t takt_cuda_image_of(const char *kernel);
/* "sm_90a PTX 75"; NULL: built without nvcc. */
const char *takt_cuda_targets(void);

#endif
