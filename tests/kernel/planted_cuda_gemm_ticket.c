/* planted_cuda_gemm_ticket.c - products whose chunks are added one block too early. */
#define BUG gemm_ticket_
#include "planted_cuda.h"

#define is_last(word, others) (is_last)(word, (others)-1)

#include "kernel/gemm_f32/gemm_f32_cuda.cu"
