/* ops.c - the operations that Takt knows, from their own records. */
#include <string.h>

#include "io/onnx/list.h"
#include "lang/foreign.h"
#include "lang/parse.h"
#include "measure/report/report.h"
#include "op/ops.h"

static const char *attr_type(takt_attr_type type)
{
    static const char *const names[] = {
        [TAKT_ATTR_I64] = "int",       [TAKT_ATTR_F64] = "float",   [TAKT_ATTR_BOOL] = "bool",
        [TAKT_ATTR_STRING] = "string", [TAKT_ATTR_ENUM] = "one of", [TAKT_ATTR_DTYPE] = "dtype",
        [TAKT_ATTR_I64S] = "ints",     [TAKT_ATTR_F64S] = "floats", [TAKT_ATTR_STRINGS] = "strings",
        [TAKT_ATTR_SHAPE] = "shape",   [TAKT_ATTR_TYPE] = "type",   [TAKT_ATTR_TENSOR] = "tensor",
        [TAKT_ATTR_GRAPH] = "graph",
    };
    return (size_t)type < sizeof names / sizeof *names && names[type] != NULL ? names[type] : "?";
}

/* "int = 1", "one of nchw nhwc = nchw", "ints, required". */
static void attr_text(takt_text *text, const takt_attr_def *a)
{
    takt_text_add(text, "%s", attr_type(a->type));
    for (size_t i = 0; a->names != NULL && a->names[i] != NULL; i++)
        takt_text_add(text, " %s", a->names[i]);
    if (a->is_required)
        takt_text_add(text, ", required");
    else if (a->is_optional)
        takt_text_add(text, ", optional");
    else if (a->type == TAKT_ATTR_I64)
        takt_text_add(text, " = %lld", (long long)a->fallback.i64);
    else if (a->type == TAKT_ATTR_BOOL)
        takt_text_add(text, " = %s", a->fallback.boolean ? "true" : "false");
    else if (a->type == TAKT_ATTR_ENUM && a->names != NULL)
        takt_text_add(text, " = %s", a->names[a->fallback.i64]);
    else if (a->type == TAKT_ATTR_F64) {
        takt_text_add(text, " = ");
        takt_text_double(text, a->fallback.f64);
    }
}

/* "x, scale, [bias]" */
static void inputs_text(takt_text *text, const takt_op *op)
{
    const int named = (int)(sizeof op->in_names / sizeof *op->in_names);
    const char *before = "";
    for (int i = 0; i < op->in_max && i < named && (op->in_names[i] != NULL || i < op->in_min);
         i++) {
        const char *name = op->in_names[i] != NULL ? op->in_names[i] : "x";
        takt_text_add(text, i < op->in_min ? "%s%s" : "%s[%s]", before, name);
        before = ", ";
    }
    if (op->in_max == TAKT_VARIADIC)
        takt_text_add(text, "%s...", before);
}

static void dtypes_text(takt_text *text, takt_dtype_set set)
{
    const char *before = "";
    for (int d = 0; d < TAKT_DTYPE_COUNT; d++) {
        if ((set & TAKT_IN(d)) == 0)
            continue;
        takt_text_add(text, "%s%s", before, takt_dtype_name((takt_dtype)d));
        before = " ";
    }
}

enum { MOST_NAMED = 5 };

/* Few words: "floats", "numbers and bools", "f32 f64", "14 types". */
static void types_text(takt_text *text, takt_dtype_set set)
{
    static const struct {
        takt_dtype_set set;
        const char *name;
    } usual[] = {
        {TAKT_ANY, "all"},           {TAKT_COMPUTE, "numbers and bools"},
        {TAKT_NUMBERS, "numbers"},   {TAKT_FLOATS, "floats"},
        {TAKT_INTS, "integers"},     {TAKT_INTS | TAKT_BOOLS, "integers and bools"},
        {TAKT_BOOLS, "bools"},       {TAKT_FLOATS | TAKT_SIGNED, "floats and signed integers"},
        {TAKT_UNSIGNED, "unsigned"},
    };
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (usual[i].set == set) {
            takt_text_add(text, "%s", usual[i].name);
            return;
        }
    size_t count = 0;
    for (takt_dtype_set rest = set; rest != 0; rest &= rest - 1)
        count++;
    if (count <= MOST_NAMED)
        dtypes_text(text, set);
    else
        takt_text_add(text, "%zu types", count);
}

static const char *yes(bool value)
{
    return value ? "yes" : "no";
}

static bool has_gradient(const takt_op *op)
{
    return op->no_gradient == NULL;
}

/* "its own", "by its lowering", or why it has no gradient. */
static const char *gradient_of(const takt_op *op)
{
    if (op->no_gradient != NULL)
        return op->no_gradient;
    if ((op->traits & TAKT_CONTROL) != 0)
        return "by its subgraphs";
    return op->grad != NULL || op->lower == NULL ? "its own" : "by its lowering";
}

/* The same for bounds; NULL: an op without inputs is known. */
static const char *bound_of(const takt_op *op)
{
    if (op->no_bound != NULL)
        return op->no_bound;
    return op->bound != NULL ? "its own" : op->lower != NULL ? "by its lowering" : NULL;
}

/* Why linear bounds do not pass through it; NULL if they do, by the op's own lines, because it is
 * affine or moves elements, or through its lowering. */
static const char *no_lines(const takt_op *op)
{
    const uint32_t followed = TAKT_VIEW | TAKT_LEAF;
    if (op->relax != NULL || op->affine != 0 || (op->traits & followed) != 0 ||
        strcmp(op->name, "max_pool") == 0 || strcmp(op->name, "reduce_sum_square") == 0)
        return NULL;
    if ((op->traits & TAKT_CONTROL) != 0)
        return "it has subgraphs";
    if ((op->traits & TAKT_PREDICATE) != 0)
        return "its result is a truth value";
    return op->lower != NULL ? NULL : "it has no lines, and no lowering that has";
}

/* ---- text ---- */

static void one_text(takt_report *r, const takt_op *op)
{
    takt_text *t = &r->text;
    takt_text_add(t, "%s(", op->name);
    inputs_text(t, op);
    takt_text_add(t, "): %s\n  types:     ", op->summary);
    dtypes_text(t, op->dtypes);
    takt_text_add(t, "\n  primitive: %s\n  backends:  ref cpu\n  gradient:  %s%s\n",
                  yes(op->lower == NULL), has_gradient(op) ? "" : "none: ", gradient_of(op));
    if (bound_of(op) != NULL)
        takt_text_add(t, "  bounds:    %s%s\n", op->no_bound != NULL ? "none: " : "", bound_of(op));
    for (size_t i = 0; i < 4 && op->onnx[i].name != NULL; i++)
        takt_text_add(t, "  ONNX:      %s\n", op->onnx[i].name);
    for (size_t i = 0; i < takt_op_attr_count(op); i++) {
        takt_text_add(t, "  %s: ", op->attrs[i].name);
        attr_text(t, &op->attrs[i]);
        takt_text_add(t, "%s%s\n", op->attrs[i].summary != NULL ? ": " : "",
                      op->attrs[i].summary != NULL ? op->attrs[i].summary : "");
    }
    for (size_t i = 0; i < sizeof op->samples / sizeof *op->samples && op->samples[i] != NULL; i++)
        takt_text_add(t, "  example: %s\n", op->samples[i]);
}

static void all_text(takt_report *r)
{
    takt_table table;
    takt_table_init(&table, r->ctx, "llll");
    for (size_t i = 0; i < takt_op_count; i++) {
        takt_text types;
        takt_text_init(&types, r->ctx);
        types_text(&types, takt_ops[i]->dtypes);
        takt_table_cell(&table, "%s", takt_ops[i]->name);
        takt_table_cell(&table, "%s", takt_text_get(&types));
        takt_table_cell(&table, "%s", has_gradient(takt_ops[i]) ? "gradient" : "");
        takt_text_deinit(&types);
        takt_table_cell(&table, "%s", takt_ops[i]->summary);
    }
    takt_table_print(&table, &r->text);
    takt_table_deinit(&table);
    takt_text_add(&r->text, "%zu operations, all on the backends ref and cpu\n", takt_op_count);
    takt_text_add(&r->text, "layers of the language (`takt ops dense` shows one):");
    for (size_t i = 0; takt_layer_name(i) != NULL; i++)
        takt_text_add(&r->text, "%s%s", i % 8 == 0 ? "\n  " : " ", takt_layer_name(i));
    takt_text_add(&r->text, "\n");
}

/* A layer is its own text. */
static void layer_text(takt_report *r, const char *name, const char *text)
{
    takt_text_add(&r->text, "%s is a layer of the language:\n", name);
    for (const char *line = text; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        takt_text_add(&r->text, length > 0 ? "  %.*s\n" : "%.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

/* ---- JSON ---- */

typedef void text_fn(takt_text *text, const void *of);

static void inputs_of(takt_text *text, const void *op)
{
    inputs_text(text, op);
}

static void attr_of(takt_text *text, const void *attr)
{
    attr_text(text, attr);
}

static void pair_of(takt_report *r, const char *key, text_fn *write, const void *of)
{
    takt_text text;
    takt_text_init(&text, r->ctx);
    write(&text, of);
    takt_report_pair(r, key, takt_text_get(&text));
    if (text.status != TAKT_OK)
        r->text.status = text.status;
    takt_text_deinit(&text);
}

static void one_json(takt_report *r, const takt_op *op)
{
    takt_json_open(&r->json, '{');
    takt_report_pair(r, "name", op->name);
    takt_report_pair(r, "summary", op->summary);
    pair_of(r, "inputs", inputs_of, op);
    takt_json_key(&r->json, "types");
    takt_json_open(&r->json, '[');
    for (int d = 0; d < TAKT_DTYPE_COUNT; d++)
        if ((op->dtypes & TAKT_IN(d)) != 0)
            takt_json_string(&r->json, takt_dtype_name((takt_dtype)d));
    takt_json_close(&r->json, ']');
    takt_json_key(&r->json, "primitive");
    takt_json_bool(&r->json, op->lower == NULL);
    takt_json_key(&r->json, "gradient");
    takt_json_bool(&r->json, has_gradient(op));
    takt_report_pair(r, has_gradient(op) ? "gradient_by" : "no_gradient", gradient_of(op));
    if (bound_of(op) != NULL)
        takt_report_pair(r, op->no_bound != NULL ? "no_bound" : "bound_by", bound_of(op));
    takt_json_key(&r->json, "backends");
    takt_json_open(&r->json, '[');
    takt_json_string(&r->json, "ref");
    takt_json_string(&r->json, "cpu");
    takt_json_close(&r->json, ']');
    takt_json_key(&r->json, "onnx");
    takt_json_open(&r->json, '[');
    for (size_t i = 0; i < 4 && op->onnx[i].name != NULL; i++)
        takt_json_string(&r->json, op->onnx[i].name);
    takt_json_close(&r->json, ']');
    takt_json_key(&r->json, "attributes");
    takt_json_open(&r->json, '{');
    for (size_t i = 0; i < takt_op_attr_count(op); i++)
        pair_of(r, op->attrs[i].name, attr_of, &op->attrs[i]);
    takt_json_close(&r->json, '}');
    takt_json_close(&r->json, '}');
}

static void onnx_one(void *user, const char *name, const char *domain, const char *missing)
{
    takt_report *r = user;
    takt_json_open(&r->json, '{');
    takt_report_pair(r, "name", name);
    if (domain != NULL)
        takt_report_pair(r, "domain", domain);
    if (missing != NULL)
        takt_report_pair(r, "missing", missing);
    takt_json_close(&r->json, '}');
}

/* ONNX's operators that are compositions of ours, and those that are missing. */
static void onnx_json(takt_report *r)
{
    takt_json_key(&r->json, "onnx");
    takt_json_open(&r->json, '[');
    takt_onnx_each(onnx_one, r);
    takt_json_close(&r->json, ']');
}

/* By its own name or by that of ONNX; NULL if it is neither. */
static const takt_op *find_op(const char *name)
{
    const takt_op *op = takt_op_find(name, strlen(name));
    for (size_t i = 0; i < takt_op_count && op == NULL; i++)
        for (size_t k = 0; k < 4 && takt_ops[i]->onnx[k].name != NULL; k++)
            if (strcmp(takt_ops[i]->onnx[k].name, name) == 0)
                op = takt_ops[i];
    return op;
}

typedef struct wanted {
    const char *name;
    bool is_read;
} wanted;

static void look_for(void *user, const char *name, const char *domain, const char *missing)
{
    wanted *w = user;
    (void)domain;
    w->is_read = w->is_read || (missing == NULL && strcmp(name, w->name) == 0);
}

static takt_status unknown_op(takt_ctx *ctx, const char *name)
{
    takt_nearest layer = takt_nearest_to(name);
    wanted w = {.name = name};
    takt_onnx_each(look_for, &w);
    takt_fail(ctx, TAKT_E_UNKNOWN_OP, "there is no operation called %s", name);
    if (w.is_read)
        return takt_fail_hint(ctx, "ONNX's %s is read, and becomes several of ours", name);
    if (takt_foreign_call(name) != NULL)
        return takt_fail_hint(ctx, "%s", takt_foreign_call(name));
    for (size_t i = 0; takt_layer_name(i) != NULL; i++)
        takt_nearest_try(&layer, takt_layer_name(i));
    const char *best = takt_op_nearest(name) != NULL ? takt_op_nearest(name) : layer.best;
    return best != NULL ? takt_fail_hint(ctx, "did you mean %s?", best)
                        : takt_fail_hint(ctx, "`takt ops` lists them");
}

static void layer_json(takt_report *r, const char *name, const char *text)
{
    takt_json_key(&r->json, "layers");
    takt_json_open(&r->json, '[');
    takt_json_open(&r->json, '{');
    takt_report_pair(r, "name", name);
    takt_report_pair(r, "text", text);
    takt_json_close(&r->json, '}');
    takt_json_close(&r->json, ']');
}

takt_status takt_op_list(takt_ctx *ctx, const char *name, takt_format format, takt_sink_fn *sink,
                         void *user)
{
    TAKT_NEED(NULL, ctx);
    const takt_op *op = name != NULL ? find_op(name) : NULL;
    const char *layer = name != NULL ? takt_layer_text(name) : NULL;
    if (name != NULL && op == NULL && layer == NULL)
        return unknown_op(ctx, name);
    takt_report r;
    takt_report_begin(&r, ctx, format);
    if (r.is_json) {
        takt_json_key(&r.json, "ops");
        takt_json_open(&r.json, '[');
        for (size_t i = 0; i < takt_op_count; i++)
            if (name == NULL || op == takt_ops[i])
                one_json(&r, takt_ops[i]);
        takt_json_close(&r.json, ']');
        if (name == NULL)
            onnx_json(&r);
        if (layer != NULL)
            layer_json(&r, name, layer);
    } else if (name == NULL) {
        all_text(&r);
    } else {
        if (op != NULL)
            one_text(&r, op);
        if (layer != NULL)
            layer_text(&r, name, layer);
    }
    return takt_report_end(&r, TAKT_OK, sink, user);
}

takt_status takt_op_list_without(takt_ctx *ctx, const char *what, takt_format format,
                                 takt_sink_fn *sink, void *user)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, what);
    const bool is_bound = strcmp(what, "bound") == 0, is_relax = strcmp(what, "relax") == 0;
    takt_report r;
    size_t count = 0;
    if (!is_bound && !is_relax && strcmp(what, "gradient") != 0) {
        takt_fail(ctx, TAKT_E_OPTION,
                  "operations are listed without bound, relax or gradient, not %s", what);
        return takt_fail_hint(ctx, "takt ops --without bound");
    }
    takt_report_begin(&r, ctx, format);
    if (r.is_json)
        takt_json_put_open(&r.json, "without", '{');
    for (size_t i = 0; i < takt_op_count; i++) {
        const char *why = is_bound   ? takt_ops[i]->no_bound
                          : is_relax ? no_lines(takt_ops[i])
                                     : takt_ops[i]->no_gradient;
        if (why == NULL)
            continue;
        count++;
        if (r.is_json)
            takt_report_pair(&r, takt_ops[i]->name, why);
        else
            takt_text_add(&r.text, "%s: %s\n", takt_ops[i]->name, why);
    }
    if (r.is_json)
        takt_json_close(&r.json, '}');
    else
        takt_text_add(&r.text, "%zu of %zu operations have no %s\n", count, takt_op_count, what);
    return takt_report_end(&r, TAKT_OK, sink, user);
}
