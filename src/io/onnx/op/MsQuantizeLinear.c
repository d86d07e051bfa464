/* MsQuantizeLinear.c - com.microsoft's QuantizeLinear and DequantizeLinear: ONNX's, with 16 bits
 * before ONNX had them. */
#include "io/onnx/adapt.h"

const takt_onnx_op takt_onnx_MsQuantizeLinear = {.names = {"QuantizeLinear", "DequantizeLinear"},
                                                 .domain = "com.microsoft",
                                                 .adapt = takt_onnx_quantizer};
