/* MsRecurrent.c - com.microsoft's DynamicQuantizeLSTM: an LSTM whose products are of bytes.
 *
 * The input is put into bytes once, the state in every step, by one scale for all sequences.
 */
#include "io/onnx/cell.h"

const takt_onnx_op takt_onnx_MsRecurrent = {
    .names = {"DynamicQuantizeLSTM"}, .domain = "com.microsoft", .adapt = takt_onnx_recurrent};
