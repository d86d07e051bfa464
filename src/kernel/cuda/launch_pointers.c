/* launch_pointers.c - offsets of the pointers in the arguments of a launch. */
#include <string.h>

#include "kernel/cuda/launch.h"

static size_t add(size_t *offsets, size_t capacity, size_t count, size_t offset)
{
    if (count < capacity)
        offsets[count] = offset;
    return count + 1;
}

static size_t map_pointers(const takt_cuda_launch *l, size_t *offsets, size_t capacity)
{
    size_t count = 0;
    for (uint32_t k = 0; k < l->args.map.code_count; k++)
        if (l->args.map.code[k].is_output)
            count =
                add(offsets, capacity, count, offsetof(takt_cuda_map, out) + k * sizeof(void *));
    for (size_t k = 0; k < TAKT_CUDA_MAP_OPERANDS; k++)
        if (l->args.map.in[k].data != NULL)
            count = add(offsets, capacity, count,
                        offsetof(takt_cuda_map, in) + k * sizeof(takt_cuda_operand) +
                            offsetof(takt_cuda_operand, data));
    return l->args.map.fault != NULL ? add(offsets, capacity, count, offsetof(takt_cuda_map, fault))
                                     : count;
}

#define END(type)                                                                                  \
    offsetof(type, end.bias), offsetof(type, end.residual), offsetof(type, end.low),               \
        offsetof(type, end.high)
#define GEMM                                                                                       \
    {                                                                                              \
        offsetof(takt_cuda_gemm, a), offsetof(takt_cuda_gemm, b), offsetof(takt_cuda_gemm, c),     \
            offsetof(takt_cuda_gemm, partial), offsetof(takt_cuda_gemm, tickets),                  \
            END(takt_cuda_gemm)                                                                    \
    }
static const struct {
    const char *kernel; /* a prefix of the name: the first match wins */
    size_t offsets[20], count;
} fixed[] = {
    {"takt_cuda_map_one",
     {offsetof(takt_cuda_map_one, dst), offsetof(takt_cuda_map_one, a),
      offsetof(takt_cuda_map_one, b)},
     3},
    {"takt_cuda_gemm", GEMM, 9},
    {"takt_cuda_block",
     {offsetof(takt_cuda_block_args, c), offsetof(takt_cuda_block_args, a),
      offsetof(takt_cuda_block_args, levels), offsetof(takt_cuda_block_args, scale),
      offsetof(takt_cuda_block_args, zero), offsetof(takt_cuda_block_args, bias)},
     6},
    {"takt_cuda_semiring",
     {offsetof(takt_cuda_semiring_args, c), offsetof(takt_cuda_semiring_args, a),
      offsetof(takt_cuda_semiring_args, b)},
     3},
    {"takt_cuda_pool_any",
     {offsetof(takt_cuda_pool_args, dst), offsetof(takt_cuda_pool_args, a),
      offsetof(takt_cuda_pool_args, b)},
     3},
    {"takt_cuda_rnn",
     {offsetof(takt_cuda_rnn, x),        offsetof(takt_cuda_rnn, h),
      offsetof(takt_cuda_rnn, c),        offsetof(takt_cuda_rnn, r),
      offsetof(takt_cuda_rnn, bias),     offsetof(takt_cuda_rnn, peephole),
      offsetof(takt_cuda_rnn, live),     offsetof(takt_cuda_rnn, y),
      offsetof(takt_cuda_rnn, h_out),    offsetof(takt_cuda_rnn, c_out),
      offsetof(takt_cuda_rnn, start[0]), offsetof(takt_cuda_rnn, start[1]),
      offsetof(takt_cuda_rnn, keep[0]),  offsetof(takt_cuda_rnn, keep[1]),
      offsetof(takt_cuda_rnn, keep[2]),  offsetof(takt_cuda_rnn, keep[3]),
      offsetof(takt_cuda_rnn, keep[4]),  offsetof(takt_cuda_rnn, keep[5]),
      offsetof(takt_cuda_rnn, room),     offsetof(takt_cuda_rnn, tickets)},
     20},
    {"takt_cuda_conv", GEMM, 9},
    {"takt_cuda_fours", {offsetof(takt_cuda_fours, dst), offsetof(takt_cuda_fours, src)}, 2},
    {"takt_cuda_weigh", {offsetof(takt_cuda_weigh, scores), offsetof(takt_cuda_weigh, mask)}, 2},
    {"takt_cuda_transpose",
     {offsetof(takt_cuda_transpose, dst), offsetof(takt_cuda_transpose, src)},
     2},
    {"takt_cuda_attend_recompute",
     {offsetof(takt_cuda_recompute, out), offsetof(takt_cuda_recompute, weights),
      offsetof(takt_cuda_recompute, v)},
     3},
    {"takt_cuda_attend_long",
     {offsetof(takt_cuda_attend_long, q), offsetof(takt_cuda_attend_long, k),
      offsetof(takt_cuda_attend_long, v), offsetof(takt_cuda_attend_long, out),
      offsetof(takt_cuda_attend_long, scores)},
     5},
    {"takt_cuda_attend",
     {offsetof(takt_cuda_attend, out), offsetof(takt_cuda_attend, q),
      offsetof(takt_cuda_attend, mask), offsetof(takt_cuda_attend, k),
      offsetof(takt_cuda_attend, v), offsetof(takt_cuda_attend, length),
      offsetof(takt_cuda_attend, fault)},
     7},
    {"takt_cuda_any_gemm",
     {offsetof(takt_cuda_gemm_any_args, a), offsetof(takt_cuda_gemm_any_args, b),
      offsetof(takt_cuda_gemm_any_args, c)},
     3},
    {"takt_cuda_any_conv",
     {offsetof(takt_cuda_conv_any_args, y), offsetof(takt_cuda_conv_any_args, x),
      offsetof(takt_cuda_conv_any_args, w)},
     3},
    {"takt_cuda_any",
     {offsetof(takt_cuda_reduce_any_args, dst), offsetof(takt_cuda_reduce_any_args, src)},
     2},
    {"takt_cuda_lines",
     {offsetof(takt_cuda_lines_args, dst), offsetof(takt_cuda_lines_args, places),
      offsetof(takt_cuda_lines_args, src)},
     3},
    {"takt_cuda_scatter",
     {offsetof(takt_cuda_scatter_args, dst), offsetof(takt_cuda_scatter_args, index),
      offsetof(takt_cuda_scatter_args, part), offsetof(takt_cuda_scatter_args, fault)},
     4},
    {"takt_cuda_affine",
     {offsetof(takt_cuda_affine_args, dst), offsetof(takt_cuda_affine_args, src),
      offsetof(takt_cuda_affine_args, scale), offsetof(takt_cuda_affine_args, zero),
      offsetof(takt_cuda_affine_args, to_scale), offsetof(takt_cuda_affine_args, to_zero)},
     6},
    {"takt_cuda_rand",
     {offsetof(takt_cuda_rand_args, dst), offsetof(takt_cuda_rand_args, seed),
      offsetof(takt_cuda_rand_args, step), offsetof(takt_cuda_rand_args, base)},
     4},
    {"takt_cuda_pick",
     {offsetof(takt_cuda_pick_args, dst), offsetof(takt_cuda_pick_args, src),
      offsetof(takt_cuda_pick_args, index), offsetof(takt_cuda_pick_args, part),
      offsetof(takt_cuda_pick_args, fault)},
     5},
    {"takt_cuda_ggml_rows",
     {offsetof(takt_cuda_ggml_rows, dst), offsetof(takt_cuda_ggml_rows, src),
      offsetof(takt_cuda_ggml_rows, index), offsetof(takt_cuda_ggml_rows, fault)},
     4},
    {"takt_cuda_ggml_product",
     {offsetof(takt_cuda_ggml, c), offsetof(takt_cuda_ggml, a), offsetof(takt_cuda_ggml, b),
      END(takt_cuda_ggml)},
     7},
    {"takt_cuda_rows",
     {offsetof(takt_cuda_rows, dst), offsetof(takt_cuda_rows, src), offsetof(takt_cuda_rows, gamma),
      offsetof(takt_cuda_rows, beta)},
     4},
    {"takt_cuda_reduce",
     {offsetof(takt_cuda_reduce, dst), offsetof(takt_cuda_reduce, src),
      offsetof(takt_cuda_reduce, partial), offsetof(takt_cuda_reduce, tickets)},
     4},
    {"takt_cuda_combine", {offsetof(takt_cuda_combine, dst), offsetof(takt_cuda_combine, src)}, 2},
    {"takt_cuda_move", {offsetof(takt_cuda_move_args, dst), offsetof(takt_cuda_move_args, src)}, 2},
    {"takt_cuda_depthwise",
     {offsetof(takt_cuda_window, y), offsetof(takt_cuda_window, x), offsetof(takt_cuda_window, w),
      END(takt_cuda_window)},
     7},
    {"takt_cuda_winograd",
     {offsetof(takt_cuda_winograd, x), offsetof(takt_cuda_winograd, y),
      offsetof(takt_cuda_winograd, points), END(takt_cuda_winograd)},
     7},
    {"takt_cuda_window",
     {offsetof(takt_cuda_window, y), offsetof(takt_cuda_window, x), offsetof(takt_cuda_window, w),
      END(takt_cuda_window)},
     7},
    {"takt_cuda_gather",
     {offsetof(takt_cuda_gather_args, dst), offsetof(takt_cuda_gather_args, src),
      offsetof(takt_cuda_gather_args, index), offsetof(takt_cuda_gather_args, fault)},
     4},
};

size_t takt_cuda_pointers(const takt_cuda_launch *l, size_t *offsets, size_t capacity)
{
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        if (strncmp(l->kernel, fixed[i].kernel, strlen(fixed[i].kernel)) != 0)
            continue;
        for (size_t k = 0; k < fixed[i].count; k++)
            add(offsets, capacity, k, fixed[i].offsets[k]);
        return fixed[i].count;
    }
    if (strncmp(l->kernel, "takt_cuda_map", sizeof "takt_cuda_map" - 1) == 0)
        return map_pointers(l, offsets, capacity);
    return 0;
}
