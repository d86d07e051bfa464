/* trainer_take.c - a trainer that has the only copy of a model's weights. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "api/model.h"
#include "util/trained_net.h"

/* With the model's only copy of the weights: the same steps, evaluations and results, also when the
 * batch changes and after a checkpoint; until then the model has no weights. */
static void takes_weights(void)
{
    char path[1100];
    double losses[2][8];
    takt_model *m[2];
    snprintf(path, sizeof path, "%s/taken.checkpoint", folder);
    for (int k = 0; k < 2; k++) {
        const takt_train_options o = {.optimizer = "adam", .take_weights = k == 1, .ema = 0.9};
        takt_trainer *t = NULL;
        takt_named_view views[2];
        takt_step_result r = {0};
        m[k] = load(net);
        if (m[k] == NULL || !EXPECT_OK(ctx, takt_trainer_create(m[k], &o, &t)))
            return;
        for (int i = 0; i < 8; i++) {
            fill_batch((unsigned)i);
            if (i == 5)
                EXPECT_OK(ctx, takt_trainer_load(t, path, NULL));
            EXPECT_OK(ctx, takt_trainer_step(t, views, batch_of(views, i % 3 == 2 ? 7 : ROWS), &r));
            if (i == 3)
                EXPECT_OK(ctx, takt_trainer_save(t, path, NULL));
            EXPECT_EQ((m[k]->slots[0].storage == NULL), (k == 1));
            if (i % 2 == 0)
                EXPECT_OK(ctx, takt_trainer_eval(t, views, batch_of(views, ROWS), &r));
            losses[k][i] = r.loss;
        }
        EXPECT_OK(ctx, takt_trainer_export(t, m[k], false));
        takt_trainer_destroy(t);
    }
    EXPECT_EQ(memcmp(losses[0], losses[1], sizeof losses[0]), 0);
    for (size_t i = 0; i < m[0]->graph->slot_count; i++)
        EXPECT(m[1]->slots[i].storage != NULL &&
               memcmp(takt_tensor_data(&m[0]->slots[i]), takt_tensor_data(&m[1]->slots[i]),
                      takt_tensor_bytes(&m[0]->slots[i])) == 0);
    takt_model_destroy(m[0]);
    takt_model_destroy(m[1]);
}

int main(void)
{
    const char *tmp = getenv("TAKT_TEST_TMP");
    snprintf(folder, sizeof folder, "%s", tmp != NULL ? tmp : "/tmp");
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return test_done();
    takes_weights();
    takt_ctx_destroy(ctx);
    return test_done();
}
