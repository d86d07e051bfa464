/* precision.c - whether values fit another precision, determined without running in it. */
#include "verify/precision.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "base/report.h"
#include "op/ops.h"
#include "op/util/bound.h"
#include "plan/finish.h"

/* ---- judging ---- */

static double magnitude(double lo, double hi)
{
    return fmax(fabs(lo), fabs(hi));
}

/* The least magnitude between the ends. */
static double nearest(double lo, double hi)
{
    return lo > 0 ? lo : hi < 0 ? -hi : 0;
}

static takt_leaving larger(const takt_value_row *row, double max)
{
    if (row->is_measured)
        return row->saw_nan || magnitude(row->least, row->top) > max ? TAKT_DOES : TAKT_WILL_NOT;
    if (isnan(row->lo) || isnan(row->hi))
        return TAKT_MAY;
    /* The range covers all elements: if its lower end is too large, all are. */
    if (nearest(row->lo, row->hi) > max)
        return TAKT_DOES;
    return magnitude(row->lo, row->hi) > max ? TAKT_MAY : TAKT_WILL_NOT;
}

/* A value all of whose elements are below the least normal number has lost digits, or everything.
 */
static takt_leaving smaller(const takt_value_row *row, double least)
{
    const double lo = row->is_measured ? row->least : row->lo;
    const double hi = row->is_measured ? row->top : row->hi;
    const double size = magnitude(lo, hi);
    if (row->small_share > 0)
        return TAKT_DOES;
    if (isnan(size) || size == 0 || size >= least)
        return TAKT_WILL_NOT;
    return row->is_measured || nearest(lo, hi) > 0 ? TAKT_DOES : TAKT_MAY;
}

static double least_normal(takt_dtype precision)
{
    return precision == TAKT_F16 ? 0x1p-14 : 0x1p-126;
}

static const takt_tensor *constant_of(const takt_graph *g, takt_id id)
{
    const takt_node *n = takt_node_at(g, id);
    return n->op == &takt_op_constant ? n->attr[0].tensor : NULL;
}

/* Elements of a constant that are not 0 but round to 0. */
static double lost(const takt_tensor *t, takt_dtype precision)
{
    const size_t count = takt_tensor_count(t);
    size_t small = 0;
    if (t->storage == NULL || !takt_dtype_is_float(t->type.dtype))
        return 0;
    for (size_t i = 0; i < count; i++) {
        const double x = takt_dtype_get_f(t->type.dtype, takt_tensor_data(t), i);
        small += x != 0 && takt_dtype_round(precision, x) == 0;
    }
    return count > 0 ? (double)small / (double)count : 0;
}

/* ---- quantised values ---- */

/* The saturation limits of quantize, in units of its input: with one scale and zero for all. */
static bool steps_of(const takt_graph *g, const takt_node *n, double *lo, double *hi)
{
    const takt_tensor *scale = constant_of(g, n->in[1]);
    const takt_tensor *zero =
        n->in_count > 2 && n->in[2] != TAKT_NONE ? constant_of(g, n->in[2]) : NULL;
    double least, greatest;
    if (scale == NULL || takt_tensor_count(scale) != 1)
        return false;
    takt_bound_limits(n->type[0].dtype, &least, &greatest);
    const double by = takt_dtype_get_f(scale->type.dtype, takt_tensor_data(scale), 0);
    const double at =
        zero != NULL ? (double)takt_dtype_get_i(zero->type.dtype, takt_tensor_data(zero), 0) : 0;
    *lo = (least - at - 0.5) * by;
    *hi = (greatest - at + 0.5) * by;
    return by > 0;
}

static const takt_value_row *row_of(const takt_ranges *r, takt_id id)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->rows[i].id == id)
            return &r->rows[i];
    return NULL;
}

static void judge_quantized(const takt_ranges *r, takt_value_row *row)
{
    const takt_node *n = takt_node_at(r->graph, row->id);
    const takt_value_row *x = row_of(r, n->in[0]);
    double lo, hi;
    row->clip = TAKT_MAY;
    if (x == NULL || !steps_of(r->graph, n, &lo, &hi))
        return;
    if (x->is_measured)
        row->clip = x->saw_nan || x->least < lo || x->top > hi ? TAKT_DOES : TAKT_WILL_NOT;
    else if (x->lo >= lo && x->hi <= hi)
        row->clip = TAKT_WILL_NOT;
    else if (x->lo > hi || x->hi < lo)
        row->clip = TAKT_DOES;
}

void takt_ranges_judge(takt_ranges *r, takt_dtype precision)
{
    const takt_grid grid = takt_grid_of(precision);
    for (size_t i = 0; i < r->count; i++) {
        takt_value_row *row = &r->rows[i];
        const takt_node *n = takt_node_at(r->graph, row->id);
        if (n->op == &takt_op_quantize) {
            judge_quantized(r, row);
            continue;
        }
        if (precision == TAKT_I8)
            continue;
        const takt_tensor *constant = constant_of(r->graph, row->id);
        if (constant != NULL) {
            row->small_share = lost(constant, precision);
            row->is_measured = true;
            row->least = row->lo;
            row->top = row->hi;
        }
        row->overflow = larger(row, grid.max);
        row->underflow = smaller(row, least_normal(precision));
    }
}

/* ---- reporting ---- */

static const char *const verdicts[] = {"will not", "may", "does"};

static takt_leaving worst(const takt_value_row *row)
{
    const takt_leaving floats = row->overflow > row->underflow ? row->overflow : row->underflow;
    return row->clip > floats ? row->clip : floats;
}

static void write_words(const takt_value_row *row, char *to, size_t size)
{
    size_t length = 0;
    const struct {
        takt_leaving verdict;
        const char *word;
    } parts[] = {{row->overflow, "overflow"}, {row->underflow, "underflow"}, {row->clip, "clip"}};
    to[0] = '\0';
    for (size_t i = 0; i < 3; i++)
        if (parts[i].verdict != TAKT_WILL_NOT && length < size)
            length +=
                (size_t)snprintf(to + length, size - length, "%s%s %s", length > 0 ? ", " : "",
                                 verdicts[parts[i].verdict], parts[i].word);
    if (length == 0)
        snprintf(to, size, "fits");
}

static bool is_reported(const takt_ranges *r, const takt_value_row *row, takt_dtype precision)
{
    return precision != TAKT_I8 || takt_node_at(r->graph, row->id)->op == &takt_op_quantize;
}

static void write_text(takt_report *rep, const takt_ranges *r, takt_dtype precision,
                       const char *word, const takt_check_summary *s)
{
    takt_table t;
    takt_table_init(&t, r->ctx, "llrrl");
    static const char *const heads[] = {"value", "op", "least", "greatest", "verdict"};
    for (size_t i = 0; i < 5; i++)
        takt_table_cell(&t, "%s", i == 4 ? word : heads[i]);
    takt_table_rule(&t);
    for (size_t i = 0; i < r->count; i++) {
        const takt_value_row *row = &r->rows[i];
        const takt_node *n = takt_node_at(r->graph, row->id);
        char words[80];
        if (!is_reported(r, row, precision))
            continue;
        write_words(row, words, sizeof words);
        takt_table_cell(&t, "%s", takt_node_label(n));
        takt_table_cell(&t, "%s", n->op->name);
        takt_table_cell(&t, "%.6g", row->is_measured ? row->least : row->lo);
        takt_table_cell(&t, "%.6g", row->is_measured ? row->top : row->hi);
        takt_table_cell(&t, "%s", words);
    }
    takt_table_print(&t, &rep->text);
    takt_table_deinit(&t);
    takt_text_add(&rep->text, "%zu value%s: %zu %s not fit %s, %zu may not\n", s->values,
                  s->values == 1 ? "" : "s", s->does, s->does == 1 ? "does" : "do", word, s->may);
    if (r->runs > 0)
        takt_text_add(&rep->text, "measured in %zu run%s\n", r->runs, r->runs == 1 ? "" : "s");
    else if (r->unbounded > 0)
        takt_text_add(
            &rep->text,
            "nothing is known of %zu input%s: state `require abs(x) <= 1`, or give data\n",
            r->unbounded, r->unbounded == 1 ? "" : "s");
}

static void write_number(takt_report *rep, const char *key, double value)
{
    if (isfinite(value))
        takt_json_put_number(&rep->json, key, value);
    else
        takt_report_pair(rep, key, isnan(value) ? "unknown" : value > 0 ? "inf" : "-inf");
}

static void write_json(takt_report *rep, const takt_ranges *r, takt_dtype precision,
                       const char *word, const takt_check_summary *s)
{
    takt_report_pair(rep, "precision", word);
    takt_report_count(rep, "runs", r->runs);
    write_number(rep, "bound_seconds", r->seconds);
    takt_report_count(rep, "unbounded_inputs", r->unbounded);
    takt_report_count(rep, "values", s->values);
    takt_report_count(rep, "does", s->does);
    takt_report_count(rep, "may", s->may);
    takt_json_put_open(&rep->json, "rows", '[');
    for (size_t i = 0; i < r->count; i++) {
        const takt_value_row *row = &r->rows[i];
        const takt_node *n = takt_node_at(r->graph, row->id);
        if (!is_reported(r, row, precision))
            continue;
        takt_json_open(&rep->json, '{');
        takt_report_pair(rep, "value", takt_node_label(n));
        takt_report_pair(rep, "op", n->op->name);
        write_number(rep, "least", row->is_measured ? row->least : row->lo);
        write_number(rep, "greatest", row->is_measured ? row->top : row->hi);
        takt_report_pair(rep, "overflow", verdicts[row->overflow]);
        takt_report_pair(rep, "underflow", verdicts[row->underflow]);
        takt_report_pair(rep, "clip", verdicts[row->clip]);
        takt_json_close(&rep->json, '}');
    }
    takt_json_close(&rep->json, ']');
}

static takt_status precision_of(takt_ctx *ctx, const char *word, takt_dtype *precision)
{
    static const struct {
        const char *word;
        takt_dtype dtype;
    } known[] = {{"f16", TAKT_F16}, {"bf16", TAKT_BF16}, {"f32", TAKT_F32}, {"int8", TAKT_I8}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(word, known[i].word) == 0) {
            *precision = known[i].dtype;
            return TAKT_OK;
        }
    takt_fail(ctx, TAKT_E_OPTION, "there is no precision %s to check", word);
    return takt_fail_hint(ctx, "f16, bf16, f32 or int8");
}

takt_status takt_precision_check(const takt_model *model, const takt_check_options *options,
                                 takt_format format, takt_sink_fn *sink, void *user,
                                 takt_check_summary *summary)
{
    TAKT_NEED(NULL, sink);
    takt_check_options o;
    takt_check_summary s = {0};
    takt_ranges r;
    takt_dtype precision = TAKT_F16;
    takt_report rep;
    if (model == NULL)
        return TAKT_ERR_ARGUMENT;
    TAKT_TRY(takt_options_read(model->ctx, "takt_check_options", options, &o, sizeof o));
    const char *word = o.precision != NULL ? o.precision : "f16";
    TAKT_TRY(precision_of(model->ctx, word, &precision));
    TAKT_TRY(takt_ranges_init(&r, model, &o));
    takt_ranges_judge(&r, precision);
    for (size_t i = 0; i < r.count; i++)
        if (is_reported(&r, &r.rows[i], precision)) {
            s.values++;
            s.does += worst(&r.rows[i]) == TAKT_DOES;
            s.may += worst(&r.rows[i]) == TAKT_MAY;
        }
    takt_report_begin(&rep, model->ctx, format);
    if (rep.is_json)
        write_json(&rep, &r, precision, word, &s);
    else
        write_text(&rep, &r, precision, word, &s);
    takt_ranges_deinit(&r);
    if (summary != NULL)
        *summary = s;
    return takt_report_end(&rep, TAKT_OK, sink, user);
}
