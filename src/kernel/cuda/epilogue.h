/* epilogue.h - what follows a product or a convolution, for device code (takt_cuda_epilogue). */
#ifndef TAKT_KERNEL_CUDA_EPILOGUE_H
#define TAKT_KERNEL_CUDA_EPILOGUE_H

DEVICE float act_of(const takt_cuda_epilogue *e, float x)
{
    if (e->is_relu)
        x = vf_relu(x);
    if (e->is_leaky)
        x = x > 0.0f ? x : e->slope * x;
    if (e->low != NULL)
        x = vf_max(x, *e->low);
    if (e->high != NULL)
        x = vf_min(x, *e->high);
    return x;
}

DEVICE float finished(const takt_cuda_epilogue *e, float x, uint32_t batch, uint64_t row,
                      uint32_t col)
{
    const float *residual = e->residual;
    if (e->bias != NULL)
        x = x + e->bias[batch * e->bias_batch + col];
    if (residual != NULL)
        residual += batch * e->residual_batch + (int64_t)row * e->residual_row + col;
    if (residual != NULL && !e->residual_last)
        x = x + *residual;
    x = act_of(e, x);
    if (residual != NULL && e->residual_last)
        x = x + *residual;
    return x;
}

#endif
