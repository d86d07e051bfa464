/* MsRecurrent.c - com.microsoft's DynamicQuantizeLSTM: an LSTM with 8-bit products.
 *
 * The input is quantised once, the state in every step, with one scale for all sequences.
 */
#include "io/onnx/cell.h"

const takt_onnx_op takt_onnx_MsRecurrent = {
    .names = {"DynamicQuantizeLSTM"}, .domain = "com.microsoft", .adapt = takt_onnx_recurrent};
