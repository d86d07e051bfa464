/* onnx_absent.c - every operator with inputs left out, too few, of unusual ranks and types, also in
 * training mode: it loads or is refused, but absent inputs are never read. */
#include <string.h>

#include <takt/model.h>

#include "../test.h"
#include "io/onnx/list.h"
#include "util/pb.h"

enum { MOST_IN = 8, MOST_OUT = 5 };

static pb model, graph, node, value, import, attribute;
static takt_ctx *ctx;
static size_t loaded, refused;

/* ONNX's numbers of element types, and shapes that suit few operators. */
static const int kinds[] = {1, 7, 9, 3};
static const pb_shape shapes[] = {
    {0, {0}}, {1, {3}}, {2, {2, 3}}, {4, {1, 2, 3, 3}}, {3, {2, 0, 1}}};

/* Bit i of `mask`: input i is present. */
static void one_node(const char *name, const char *domain, size_t inputs, unsigned mask)
{
    static const char *const in[MOST_IN] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    static const char *const out[MOST_OUT] = {"p", "q", "r", "s", "t"};
    node.length = 0;
    for (size_t i = 0; i < inputs; i++)
        pb_text(&node, 1, mask >> i & 1 ? in[i] : "");
    for (size_t i = 0; i < MOST_OUT; i++)
        pb_text(&node, 2, out[i]);
    pb_text(&node, 4, name);
    pb_text(&node, 7, domain != NULL ? domain : "");
    if (inputs == MOST_IN)
        return;
    attribute.length = 0;
    pb_text(&attribute, 1, "training_mode");
    pb_int(&attribute, 3, 1);
    pb_int(&attribute, 20, 2);
    pb_message(&node, 5, &attribute);
}

static void graph_of(unsigned mask, int elem, const pb_shape *shape)
{
    static const char *const in[MOST_IN] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    graph.length = 0;
    pb_message(&graph, 1, &node);
    pb_text(&graph, 2, "g");
    for (size_t i = 0; i < MOST_IN; i++) {
        if ((mask >> i & 1) == 0)
            continue;
        pb_value(&value, in[i], elem, shape->rank, shape->dim);
        pb_message(&graph, 11, &value);
    }
    pb_value(&value, "p", elem, shape->rank, shape->dim);
    pb_message(&graph, 12, &value);
}

static void try_once(const char *domain)
{
    pb_model(&model, &graph, 21);
    if (domain != NULL) {
        import.length = 0;
        pb_text(&import, 1, domain);
        pb_int(&import, 2, 1);
        pb_message(&model, 8, &import);
    }
    takt_model *m;
    if (takt_model_load_memory(ctx, "absent", model.at, model.length, NULL, &m) == TAKT_OK) {
        takt_model_destroy(m);
        loaded++;
    } else {
        EXPECT(takt_last_error(ctx)[0] != '\0', "refused without a word");
        refused++;
    }
}

static void each(void *user, const char *name, const char *domain, const char *missing)
{
    (void)user, (void)missing;
    static const unsigned masks[] = {0x00, 0x01, 0x02, 0x03, 0x05, 0x07, 0xFE, 0xFF};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
                one_node(name, domain, i % 2 == 0 ? MOST_IN : i, masks[i]);
                graph_of(masks[i], kinds[k], &shapes[s]);
                try_once(domain);
            }
}

int main(void)
{
    if (takt_ctx_create(NULL, &ctx) != TAKT_OK)
        return 1;
    takt_onnx_each(each, NULL);
    EXPECT(refused > 1000 && loaded > 0, "%zu loaded, %zu refused", loaded, refused);
    takt_ctx_destroy(ctx);
    return test_done();
}
