/* infer.c - embeddings of texts, and any model with tensors as JSON. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "serve/infer.h"

static void fail(takt_server *s, const takt_job *job, takt_text *out, takt_status status,
                 const char *what)
{
    takt_error error;
    takt_error_copy(s->ctx, &error);
    takt_serve_error(out, what != NULL ? 400 : takt_serve_status(status), job->keeps_alive,
                     what != NULL ? TAKT_E_SERVE_REQUEST : error.id,
                     what != NULL ? what : error.message);
}

static void send(takt_text *out, const takt_job *job, takt_text *body)
{
    if (body->status == TAKT_OK)
        takt_serve_reply(out, 200, job->keeps_alive, "application/json",
                         (takt_span){takt_text_get(body), body->length});
    else
        takt_serve_error(out, 503, job->keeps_alive, 0, "out of memory for the answer");
}

/* ---- vectors ---- */

static takt_status put_vector(takt_server *s, takt_json_writer *w, const takt_json *text,
                              float *vector, int index)
{
    const size_t size = takt_embedder_size(s->embedder);
    TAKT_TRY(takt_embed(s->embedder, text->text, text->text_length, vector));
    takt_json_open(w, '{');
    takt_json_put_string(w, "object", "embedding");
    takt_json_put_integer(w, "index", index);
    takt_json_put_open(w, "embedding", '[');
    for (size_t i = 0; i < size; i++)
        takt_json_number(w, (double)vector[i]);
    takt_json_close(w, ']');
    takt_json_close(w, '}');
    return TAKT_OK;
}

void takt_serve_embed(takt_server *s, takt_job *job, takt_text *out)
{
    const takt_json *input = takt_json_get(job->body, "input");
    const bool is_list = input != NULL && input->kind == TAKT_JSON_ARRAY;
    float *vector =
        takt_arena_array(&job->arena, takt_embedder_size(s->embedder) + 1, sizeof *vector);
    takt_text body;
    takt_json_writer w;
    takt_status status = vector != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    int index = 0;
    takt_text_init(&body, s->ctx);
    takt_json_begin(&w, &body, false);
    takt_json_open(&w, '{');
    takt_json_put_string(&w, "object", "list");
    takt_json_put_open(&w, "data", '[');
    char bad[60] = "";
    if (input == NULL || (!is_list && input->kind != TAKT_JSON_STRING))
        (void)snprintf(bad, sizeof bad, "input: a string or a list of strings is expected");
    for (const takt_json *i = is_list ? takt_json_first(input) : input;
         i != NULL && bad[0] == '\0' && status == TAKT_OK && !takt_serve_is_left(s, job);
         i = is_list ? takt_json_next(i) : NULL) {
        if (i->kind == TAKT_JSON_STRING)
            status = put_vector(s, &w, i, vector, index++);
        else
            (void)snprintf(bad, sizeof bad, "input[%d]: a string is expected", index);
    }
    takt_json_close(&w, ']');
    takt_json_key(&w, "model");
    takt_json_spans(&w, takt_span_of(s->name));
    takt_json_close(&w, '}');
    if (bad[0] != '\0' || status != TAKT_OK)
        fail(s, job, out, status, bad[0] != '\0' ? bad : NULL);
    else
        send(out, job, &body);
    takt_text_deinit(&body);
}

/* ---- tensors ---- */

/* KServe's names of types, and ours. */
static takt_dtype type_of(const takt_json *v, takt_dtype fallback)
{
    static const struct {
        const char *name;
        takt_dtype type;
    } rows[] = {{"FP64", TAKT_F64},   {"FP32", TAKT_F32},  {"INT64", TAKT_I64},
                {"INT32", TAKT_I32},  {"INT16", TAKT_I16}, {"INT8", TAKT_I8},
                {"UINT8", TAKT_U8},   {"BOOL", TAKT_BOOL}, {"UINT16", TAKT_U16},
                {"UINT32", TAKT_U32}, {"UINT64", TAKT_U64}};
    if (v == NULL || v->kind != TAKT_JSON_STRING)
        return v == NULL ? fallback : TAKT_DTYPE_COUNT;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(v->text, rows[i].name) == 0)
            return rows[i].type;
    return takt_dtype_find(v->text);
}

static bool store(takt_tensor_view *view, size_t at, const takt_json *v)
{
    const double x = v->kind == TAKT_JSON_BOOL ? (double)v->boolean : v->number;
    const int64_t i = v->kind == TAKT_JSON_BOOL ? (int64_t)v->boolean : v->integer;
    const bool is_whole = v->kind == TAKT_JSON_BOOL || v->is_integer;
    if (v->kind != TAKT_JSON_NUMBER && v->kind != TAKT_JSON_BOOL)
        return false;
    switch (view->dtype) {
    case TAKT_F64: ((double *)view->data)[at] = x; return true;
    case TAKT_F32: ((float *)view->data)[at] = (float)x; return true;
    case TAKT_I64: ((int64_t *)view->data)[at] = i; return is_whole;
    case TAKT_I32:
        ((int32_t *)view->data)[at] = (int32_t)i;
        return is_whole && i >= INT32_MIN && i <= INT32_MAX;
    case TAKT_I16:
        ((int16_t *)view->data)[at] = (int16_t)i;
        return is_whole && i >= INT16_MIN && i <= INT16_MAX;
    case TAKT_I8:
        ((int8_t *)view->data)[at] = (int8_t)i;
        return is_whole && i >= INT8_MIN && i <= INT8_MAX;
    case TAKT_U64: ((uint64_t *)view->data)[at] = (uint64_t)i; return is_whole && i >= 0;
    case TAKT_U32:
        ((uint32_t *)view->data)[at] = (uint32_t)i;
        return is_whole && i >= 0 && i <= UINT32_MAX;
    case TAKT_U16:
        ((uint16_t *)view->data)[at] = (uint16_t)i;
        return is_whole && i >= 0 && i <= UINT16_MAX;
    case TAKT_U8:
        ((uint8_t *)view->data)[at] = (uint8_t)i;
        return is_whole && i >= 0 && i <= UINT8_MAX;
    case TAKT_BOOL: ((uint8_t *)view->data)[at] = i != 0; return is_whole;
    default: return false;
    }
}

/* Numbers in order, regardless of how lists are nested. Returns how many there are; `*bad`: the
 * first that is not a value of the type, or that many. */
static size_t store_all(takt_tensor_view *view, const takt_json *data, size_t want, size_t *bad)
{
    size_t count = 0;
    *bad = SIZE_MAX;
    for (const takt_json *v = data + 1; v < data + data->size; v++) {
        if (v->kind == TAKT_JSON_ARRAY)
            continue;
        if (count < want && *bad == SIZE_MAX && !store(view, count, v))
            *bad = count;
        count++;
    }
    *bad = *bad == SIZE_MAX ? count : *bad;
    return count;
}

static bool read_shape(const takt_json *shape, takt_tensor_view *view, size_t *elements)
{
    *elements = 1;
    if (shape == NULL || shape->kind != TAKT_JSON_ARRAY || shape->count > TAKT_MAX_RANK)
        return false;
    for (const takt_json *v = takt_json_first(shape); v != NULL; v = takt_json_next(v)) {
        if (v->kind != TAKT_JSON_NUMBER || !v->is_integer || v->integer < 0 ||
            v->integer > 1 << 30 || (*elements *= (size_t)v->integer) > 1 << 26)
            return false;
        view->dims[view->rank++] = v->integer;
    }
    return true;
}

static const takt_desc *input_named(const takt_model *m, const char *name)
{
    const takt_desc *d = NULL;
    for (size_t i = 0; (d = takt_model_input(m, i)) != NULL; i++)
        if (strcmp(d->name, name) == 0)
            return d;
    return NULL;
}

/* Refuses the request because of input number t->count. */
static void refuse(takt_tensors *t, const char *member, const char *format, ...) TAKT_PRINTF(3, 4);
static void refuse(takt_tensors *t, const char *member, const char *format, ...)
{
    enum { ROOM = 200 };
    char *why = takt_arena_get(&t->job->arena, ROOM);
    va_list values;
    t->why = why != NULL ? why : "out of memory for the request";
    if (why == NULL)
        return;
    const int head = snprintf(why, ROOM, "inputs[%zu]%s: ", t->count, member);
    va_start(values, format);
    (void)vsnprintf(why + head, (size_t)(ROOM - head), format, values);
    va_end(values);
}

static void read_data(takt_tensors *t, const takt_json *data, takt_tensor_view *view,
                      size_t elements)
{
    size_t bad = 0, count = 0;
    if (data == NULL || data->kind != TAKT_JSON_ARRAY) {
        refuse(t, ".data", "a list of numbers is expected");
        return;
    }
    if (elements > data->size) /* before there is memory for them */
        refuse(t, ".data", "fewer numbers than the %zu of the shape", elements);
    else if ((view->data = takt_arena_array(&t->job->arena, elements + 1, 8)) == NULL)
        t->why = "out of memory for an input";
    else if ((count = store_all(view, data, elements, &bad)) != elements)
        refuse(t, ".data", "%zu numbers; the shape has %zu", count, elements);
    else if (bad < count)
        refuse(t, ".data", "number %zu is not of type %s", bad, takt_dtype_name(view->dtype));
}

/* NULL: the request is refused. */
static const takt_desc *find_input(takt_tensors *t, const takt_json *v)
{
    const takt_json *name = v->kind == TAKT_JSON_OBJECT ? takt_json_get(v, "name") : NULL;
    const bool is_named = name != NULL && name->kind == TAKT_JSON_STRING;
    const takt_desc *d = is_named ? input_named(t->model, name->text) : NULL;
    for (size_t i = 0; d != NULL && i < t->count; i++)
        if (strcmp(t->names[i], d->name) == 0)
            refuse(t, ".name", "%.60s is given twice", d->name);
    if (!is_named)
        refuse(t, "", "an object with name, shape and data is expected");
    else if (d == NULL || t->count == TAKT_TENSORS)
        refuse(t, ".name", "the model has no input %.60s", name->text);
    return t->why == NULL ? d : NULL;
}

static void read_tensor(takt_tensors *t, const takt_json *v)
{
    const takt_desc *d = find_input(t, v);
    takt_tensor_view *view = &t->views[t->count];
    size_t elements = 0;
    if (d == NULL)
        return;
    *view = (takt_tensor_view){.dtype = type_of(takt_json_get(v, "datatype"), d->dtype)};
    if (view->dtype != d->dtype)
        refuse(t, ".datatype", "the model expects %s", takt_dtype_name(d->dtype));
    else if (!read_shape(takt_json_get(v, "shape"), view, &elements))
        refuse(t, ".shape", "a list of sizes is expected, with at most 67108864 elements in all");
    else if (view->rank != d->rank)
        refuse(t, ".shape", "%d sizes; the model expects rank %d", view->rank, d->rank);
    else
        read_data(t, takt_json_get(v, "data"), view, elements);
    t->names[t->count++] = d->name;
}

/* "batch=8,seq=2": named dimensions from the given shapes. */
static void sizes_of(const takt_tensors *t, takt_text *sizes)
{
    for (size_t i = 0; i < t->count; i++) {
        const takt_desc *d = input_named(t->model, t->names[i]);
        for (int k = 0; k < d->rank; k++) {
            char name[512];
            if (d->dim_names[k] == NULL ||
                d->dim_names[k][strcspn(d->dim_names[k], "+-*/ ")] != '\0')
                continue;
            (void)snprintf(name, sizeof name, "%s=", d->dim_names[k]);
            const char *found = strstr(takt_text_get(sizes), name);
            while (found != NULL && found != takt_text_get(sizes) && found[-1] != ',')
                found = strstr(found + 1, name); /* the end of a longer name */
            if (found == NULL)
                takt_text_add(sizes, "%s%s%lld", sizes->length > 0 ? "," : "", name,
                              (long long)t->views[i].dims[k]);
        }
    }
}

static double element(const takt_tensor_view *v, size_t i)
{
    switch (v->dtype) {
    case TAKT_F64: return ((const double *)v->data)[i];
    case TAKT_F32: return (double)((const float *)v->data)[i];
    case TAKT_I64: return (double)((const int64_t *)v->data)[i];
    case TAKT_I32: return ((const int32_t *)v->data)[i];
    case TAKT_I16: return ((const int16_t *)v->data)[i];
    case TAKT_I8: return ((const int8_t *)v->data)[i];
    case TAKT_U64: return (double)((const uint64_t *)v->data)[i];
    case TAKT_U32: return ((const uint32_t *)v->data)[i];
    case TAKT_U16: return ((const uint16_t *)v->data)[i];
    default: return ((const uint8_t *)v->data)[i];
    }
}

static void put_output(takt_json_writer *w, const char *name, const takt_tensor_view *v)
{
    size_t elements = 1;
    takt_json_open(w, '{');
    takt_json_key(w, "name");
    takt_json_spans(w, takt_span_of(name));
    takt_json_put_string(w, "datatype", takt_dtype_name(v->dtype));
    takt_json_put_open(w, "shape", '[');
    for (int k = 0; k < v->rank; k++) {
        takt_json_integer(w, v->dims[k]);
        elements *= (size_t)v->dims[k];
    }
    takt_json_close(w, ']');
    takt_json_put_open(w, "data", '[');
    for (size_t i = 0; i < elements; i++)
        takt_json_number(w, element(v, i));
    takt_json_close(w, ']');
    takt_json_close(w, '}');
}

static bool is_written(const takt_tensor_view *v)
{
    return v != NULL && takt_dtype_bits(v->dtype) >= 8 && v->dtype != TAKT_F16 &&
           v->dtype != TAKT_BF16 && v->dtype <= TAKT_BOOL;
}

/* An error of the session is a server error. */
static takt_status reported(const takt_tensors *t, takt_session *session, takt_status status)
{
    if (status != TAKT_OK && takt_session_error(session)->status != TAKT_OK)
        t->s->ctx->error = *takt_session_error(session);
    return status;
}

void takt_tensors_read(takt_tensors *t)
{
    const takt_json *inputs = takt_json_get(t->job->body, "inputs");
    if (inputs == NULL || inputs->kind != TAKT_JSON_ARRAY)
        t->why = "inputs: a list of tensors is expected";
    for (const takt_json *i = t->why == NULL ? takt_json_first(inputs) : NULL;
         i != NULL && t->why == NULL; i = takt_json_next(i))
        read_tensor(t, i);
}

takt_status takt_tensors_run(takt_tensors *t)
{
    takt_text sizes;
    takt_text_init(&sizes, t->s->ctx);
    sizes_of(t, &sizes);
    const takt_plan_options how = {
        .size = sizeof how, .sizes = takt_text_get(&sizes), .threads = t->s->options.text.threads};
    takt_status status = sizes.status;
    if (status == TAKT_OK)
        status = takt_plan_get(t->model, &how, &t->plan);
    if (status == TAKT_OK)
        status = takt_session_create(t->plan, NULL, &t->session);
    for (size_t i = 0; i < t->count && status == TAKT_OK; i++)
        status = reported(t, t->session, takt_session_bind(t->session, t->names[i], &t->views[i]));
    if (status == TAKT_OK)
        status = reported(t, t->session, takt_session_run(t->session));
    for (size_t i = 0; status == TAKT_OK && i < takt_session_output_count(t->session); i++)
        if (!is_written(takt_session_output(t->session, i)))
            status = takt_fail(t->s->ctx, TAKT_E_SERVE_REQUEST,
                               "an output has a type that is not written as JSON");
    takt_text_deinit(&sizes);
    return status;
}

void takt_tensors_free(takt_tensors *t)
{
    takt_session_destroy(t->session);
    takt_plan_destroy(t->plan);
}

/* Rows [first, first + count) of an output; count 0: all of it. */
static takt_tensor_view rows_of(const takt_tensor_view *v, int64_t first, int64_t count)
{
    takt_tensor_view part = *v;
    size_t bytes = (size_t)takt_dtype_bits(v->dtype) / 8;
    if (count == 0)
        return part;
    for (int k = 1; k < v->rank; k++)
        bytes *= (size_t)v->dims[k];
    part.dims[0] = count;
    part.data = (char *)v->data + (size_t)first * bytes;
    return part;
}

void takt_tensors_reply(const takt_tensors *of, const takt_job *job, int64_t first, int64_t count,
                        takt_text *out)
{
    takt_text body;
    takt_json_writer w;
    takt_text_init(&body, of->s->ctx);
    takt_json_begin(&w, &body, false);
    takt_json_open(&w, '{');
    takt_json_put_string(&w, "model_name", of->s->models[job->model].name);
    takt_json_put_open(&w, "outputs", '[');
    for (size_t i = 0; i < takt_session_output_count(of->session); i++) {
        const takt_tensor_view v = rows_of(takt_session_output(of->session, i), first, count);
        put_output(&w, takt_session_output_desc(of->session, i)->name, &v);
    }
    takt_json_close(&w, ']');
    takt_json_close(&w, '}');
    send(out, job, &body);
    takt_text_deinit(&body);
}

void takt_tensors_fail(const takt_tensors *t, takt_status status, takt_text *out)
{
    fail(t->s, t->job, out, status, t->why);
}
