/* onnx_case.h - one case of ONNX's backend test suite: a model, and data sets for it. */
#ifndef TAKT_TESTS_ONNX_CASE_H
#define TAKT_TESTS_ONNX_CASE_H

#include <takt/takt.h>

#include "io/onnx/payload.h"

enum { CASE_VALUES = 64, CASE_TEXT = 400 };

typedef enum case_result { CASE_PASS, CASE_REFUSED, CASE_FAIL } case_result;

typedef struct case_value {
    char name[128];
    takt_tensor tensor;
} case_value;

typedef struct case_values {
    case_value at[CASE_VALUES];
    size_t count;
} case_values;

typedef struct case_tolerance {
    double rtol, atol;
    int first_set;       /* data sets before it are skipped */
    const char *rewrite; /* a file: the model is written to it as ONNX, read back, and must give the
                          * same bits; or NULL */
    bool only_shapes;    /* the values are random: element types and shapes are compared */
} case_tolerance;

typedef struct case_report {
    case_result result;
    bool used_inputs; /* values of inputs were given when the model was loaded */
    bool used_items; /* how many items sequences and optionals have, and shapes of the items were */
    bool is_near;    /* written and read back, it gave nearly the same instead of the same bits */
    char why[CASE_TEXT]; /* of a case that passes: why it used the inputs */
} case_report;

/* Runs `folder` (model.onnx, test_data_set_N) on one backend. */
void onnx_case_run(const char *folder, const char *backend, case_tolerance tolerance,
                   case_report *report);
/* Loads its model: without values, else with the numbers of items of sequences and optionals, else
 * with the values of its inputs. */
takt_status onnx_case_load(takt_ctx *ctx, const char *path, const takt_pb_graph *graph,
                           const case_values *in, case_report *report, takt_model **m);
takt_status onnx_case_load_known(takt_ctx *ctx, const char *path, const case_values *in,
                                 case_report *report, takt_model **m);
takt_tensor_view onnx_case_view(const takt_tensor *t);
/* Cases whose expected values come from another random number generator. */
bool onnx_case_is_random(const char *name);
/* Cases of Debian's that contradict themselves: a model without the epsilon that its results were
 * made with, and bf16 data of a different rank than in the model. */
bool onnx_case_is_wrong(const char *suite, const char *name);
/* The folder of real models and data, which several checkouts may share: $TAKT_DATA, else
 * ../shared/data; NULL if there is none. */
const char *onnx_case_data(void);
/* The folder of a suite of ONNX's cases: the newest, "backend-node" and "backend-simple", lie with
 * the other data; "node" and "simple", older ones, and those stored from PyTorch in Debian's
 * libonnx-testdata ($TAKT_ONNX_TESTDATA: another folder like it). False if it is not there. */
bool onnx_case_suite(const char *name, char *path, size_t size);

#endif
