/* SPDX-License-Identifier: Apache-2.0 */
#include "retry.h"

/* A little generator: pauses need to differ, not to be unpredictable. */
static uint64_t retry_random(struct http_retry *self, uint64_t below)
{
    self->random = self->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return below == 0 ? 0 : (self->random >> 33) % below;
}

static rt_time retry_pause(struct http_retry *self)
{
    rt_time pause = self->config.pause_first;
    for (unsigned i = 1; i < self->tries && pause < self->config.pause_max; i++) {
        pause *= 2;
    }
    pause = pause < self->config.pause_max ? pause : self->config.pause_max;
    return pause / 2 + retry_random(self, pause / 2 + 1);
}

/* May another try give a better answer? */
static bool answer_is_passing(const struct http_get *attempt)
{
    switch (attempt->base.status) {
    case RT_OK:
        return attempt->http_status == 429 || attempt->http_status == 500 ||
               attempt->http_status == 502 || attempt->http_status == 503 ||
               attempt->http_status == 504;
    case RT_ERR_IO:
    case RT_ERR_CLOSED:
    case RT_ERR_TIMEOUT:
        return true;
    default:
        return false;
    }
}

static void retry_try(struct http_retry *self)
{
    const struct http_get *asked = self->asked;
    rt_op_init(&self->attempt.base, HTTP_GET);
    self->attempt.base.destination = self->client.machine.id;
    self->attempt.path = asked->path;
    self->attempt.timeout = asked->timeout;
    self->attempt.body = asked->body;
    self->attempt.body_capacity = asked->body_capacity;
    self->tries++;
    self->retries_total += self->tries > 1;
    /* It fails only if this machine closes, and then all that it holds is answered. */
    (void)rt_op_translate(&self->machine, &self->asked->base, &self->attempt.base).code;
}

/* Gives the last answer on. */
static void retry_answer(struct http_retry *self)
{
    self->asked->http_status = self->attempt.http_status;
    self->asked->error = self->attempt.error;
    self->asked->tries = self->tries;
    self->asked = NULL;
    (void)rt_op_answer_origin(&self->machine, &self->attempt.base);
}

static void retry_attempt_done(struct http_retry *self, rt_time now)
{
    if (self->is_cancelled || self->tries >= self->config.tries_max ||
        !answer_is_passing(&self->attempt)) {
        retry_answer(self);
        return;
    }
    rt_op_init(&self->pause.base, RT_OP_TIMER);
    rt_op_derive(&self->pause.base, &self->asked->base);
    self->pause.deadline = now + retry_pause(self);
    (void)rt_op_submit(&self->machine, &self->pause.base).code;
}

static void retry_pause_done(struct http_retry *self)
{
    if (self->is_cancelled) {
        self->attempt.base.status = RT_ERR_CANCELLED;
        retry_answer(self);
    } else {
        retry_try(self);
    }
}

static void retry_tick(rt_machine *machine, rt_time now)
{
    struct http_retry *self = (struct http_retry *)machine;
    rt_op *op;
    if (rt_machine_is_closing(machine)) {
        self->asked = NULL; /* it is answered by the library */
    }
    while (rt_machine_next(machine, RT_QUEUE_CANCELLATIONS) != NULL) {
        self->is_cancelled = true;
        (void)rt_op_cancel(machine, &self->attempt.base);
        (void)rt_op_cancel(machine, &self->pause.base);
    }
    while ((op = rt_machine_next(machine, RT_QUEUE_COMPLETIONS)) != NULL) {
        if (self->asked == NULL) {
            continue;
        }
        if (op == &self->attempt.base) {
            retry_attempt_done(self, now);
        } else {
            retry_pause_done(self);
        }
    }
    if (self->asked == NULL && (op = rt_machine_next(machine, RT_QUEUE_SUBMISSIONS)) != NULL) {
        if (op->code == HTTP_GET) {
            self->asked = (struct http_get *)op;
            self->tries = 0;
            self->is_cancelled = false;
            retry_try(self);
        } else {
            rt_op_complete(machine, op, RT_ERR_UNSUPPORTED, 0);
            rt_machine_wake(machine);
        }
    }
}

rt_status http_retry_init(rt_machine *parent, struct http_retry *self,
                          const struct http_retry_config *config)
{
    const rt_machine_config machine = {.tick = retry_tick};
    *self = (struct http_retry){.config = *config, .random = config->seed};
    rt_op_init(&self->attempt.base, HTTP_GET);
    rt_op_init(&self->pause.base, RT_OP_TIMER);
    rt_status status = rt_machine_init_child(parent, &self->machine, &machine);
    if (!RT_FAILED(status)) {
        status = http_client_init(&self->machine, &self->client, config->server);
    }
    return status;
}
