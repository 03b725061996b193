/* Privacy of a model's training texts, in the same lines for all commands that show it, and as JSON. */
#include "common.h"

#include "base/sentence.h"
#include <math.h>

json_t *cli_risk_json(const struct nvdp_account_risk *risk) {
    json_t *guesses = json_array();
    for (size_t i = 0; i < risk->guesses; i++)
        json_array_append_new(guesses, json_pack("{s:f, s:o}", "baseline", risk->guess[i].baseline,
                                                 "bound", cli_number(risk->guess[i].bound)));
    return json_pack("{s:s, s:o, s:o, s:{s:f, s:o}, s:o}", "adjacency", "zero-out", "mu",
                     cli_number(risk->mu), "replaced_epsilon", cli_number(risk->replaced_epsilon),
                     "membership", "prior", 0.5, "bound", cli_number(risk->membership), "guess",
                     guesses);
}

json_t *cli_training_json(const struct nvdp_training_privacy *t) {
    json_t *object = json_pack(
        "{s:o, s:o, s:f, s:b, s:f, s:f, s:I, s:I, s:b, s:b}", "epsilon",
        cli_number(t->account->pld_epsilon), "rdp_epsilon", cli_number(t->account->rdp_epsilon),
        "delta", t->account->delta, "delta_default", t->delta_default, "noise", t->steps.noise,
        "sample_rate", t->steps.rate, "steps", (json_int_t)t->steps.steps, "examples",
        (json_int_t)t->examples, "insecure_seed", t->seeded, "finished", t->finished);
    json_object_update_new(object, cli_risk_json(t->risk));
    return object;
}

void cli_risk_print(const struct nvdp_account_risk *risk) {
    char with[NVDP__BOUND_TEXT], without[NVDP__BOUND_TEXT];
    cli_row("membership",
            "a guess whether a text was trained on that is right 50 %% of the time without the "
            "model is right at most %s of the time with it",
            nvdp__share_bound(with, risk->membership));
    for (size_t i = 0; i < risk->guesses; i++)
        cli_row(i == 0 ? "other guesses" : "",
                "a guess about one training text that is right %s of the time without the model is "
                "right at most %s of the time with it",
                nvdp__share_bound(without, risk->guess[i].baseline),
                nvdp__share_bound(with, risk->guess[i].bound));
    cli_row("replacing one", "epsilon %s at delta %s if one training text is replaced by another",
            nvdp__bound(with, risk->replaced_epsilon), nvdp__bound(without, risk->delta));
}

void cli_training_print(const struct nvdp_training_privacy *t) {
    char epsilon[NVDP__BOUND_TEXT], delta[NVDP__BOUND_TEXT], mu[NVDP__BOUND_TEXT];
    cli_row("private training", "epsilon %s at delta %s, adjacency zero-out, mu %s%s%s",
            nvdp__bound(epsilon, t->account->pld_epsilon), nvdp__bound(delta, t->account->delta),
            nvdp__bound(mu, t->risk->mu),
            t->finished ? "" : " (for all planned steps; the run is not finished)",
            t->seeded ? " (INSECURE: the noise comes from a seed)" : "");
    if (t->delta_default)
        cli_row(
            "",
            "delta is half of 1/N for %llu training texts, because --target-delta was not given",
            (unsigned long long)t->examples);
    cli_row("", "zero-out: adjacent data sets have a text or nothing in its place; the number N of "
                "texts is public");
    cli_risk_print(t->risk);
}

int cli_end_training(struct cli *cli, const char *out, json_t *object) {
    struct nvdp_training_privacy training = NVDP_RESULT(struct nvdp_training_privacy);
    const nvdp_status status = nvdp_training_privacy(cli->ctx, out, &training, NULL);
    const bool shown = status == NVDP_OK && training.is_private;
    if (shown && cli->json)
        json_object_set_new(object, "training", cli_training_json(&training));
    else if (shown)
        cli_training_print(&training);
    nvdp_training_privacy_free(&training);
    if (status != NVDP_OK) json_decref(object);
    if (status != NVDP_OK) return cli_fail(cli, status);
    return cli->json ? cli_print_json(cli, object) : CLI_SUCCESS;
}
