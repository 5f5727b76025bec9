/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "signals"
#include "sync/signals.h"

#include "sched/fiber.h"

/* Places of a channel whose maker does not say. */
#define CAPACITY_DEFAULT 16

static uint64_t signal_bit(int number)
{
    return UINT64_C(1) << (number - 1);
}

static bool signal_is_number(int number)
{
    return number > 0 && number < RTI_SIGNAL_NUMBERS;
}

/* Takes a row apart: returns its handles, which are closed without the lock. With the lock held. */
static struct rti_signal_row row_free(struct rti_signals *signals, struct rti_signal_row *row)
{
    struct rti_port *port = signals->sched->port;
    struct rti_signal_row old = *row;
    for (int number = 1; number < RTI_SIGNAL_NUMBERS; number++) {
        if ((old.set & signal_bit(number)) != 0) {
            RT_ASSERT(signals->users[number] > 0);
            signals->users[number]--;
            if (signals->users[number] == 0) {
                port->ops->signal_release(port, number);
            }
        }
    }
    *row = (struct rti_signal_row){.set = 0};
    return old;
}

/* The row that `rx` was given with, or NULL. With the lock held. */
static struct rti_signal_row *row_of(struct rti_signals *signals, const rt_channel_receiver *rx)
{
    for (size_t i = 0; i < RT_MAX_SIGNAL_CHANNELS; i++) {
        if (signals->rows[i].set != 0 && signals->rows[i].rx == rx) {
            return &signals->rows[i];
        }
    }
    return NULL;
}

/* Sends a value to one subscription, if it still wants it. */
static void row_send(struct rti_signals *signals, struct rti_signal_row *row,
                     const rt_signal_value *value)
{
    rti_lock_acquire(&signals->lock, signals->sched);
    bool is_wanted = (row->set & signal_bit(value->number)) != 0;
    rt_channel_sender *tx = row->tx;
    rti_lock_release(&signals->lock);
    if (!is_wanted) {
        return;
    }
    rt_status status = rt_channel_try_send(tx, value);
    if (!RT_FAILED(status)) {
        return;
    }
    struct rti_signal_row old = {.set = 0};
    rti_lock_acquire(&signals->lock, signals->sched);
    if (row->set != 0 && row->tx == tx) {
        row->dropped += status.code == RT_ERR_FULL ? value->count : 0;
        if (status.code == RT_ERR_DISCONNECTED) {
            old = row_free(signals, row);
        }
    }
    rti_lock_release(&signals->lock);
    if (old.set != 0) {
        (void)rt_channel_close_sender(old.tx);
    }
}

/* Sends what was counted to those who want it now. No lock is held. */
static void signals_send(struct rti_signals *signals)
{
    for (int number = 1; number < RTI_SIGNAL_NUMBERS; number++) {
        if (rti_u32_load_relaxed(&signals->counts[number]) == 0) {
            continue;
        }
        rt_signal_value value = {.number = number,
                                 .count = rti_u32_exchange_acqrel(&signals->counts[number], 0)};
        for (size_t i = 0; i < RT_MAX_SIGNAL_CHANNELS; i++) {
            row_send(signals, &signals->rows[i], &value);
        }
    }
}

/* On the stack of a worker, or on the thread that looks at the port for them. */
static void signals_deliver(struct rti_post *post)
{
    struct rti_signals *signals = RTI_CONTAINER_OF(post, struct rti_signals, post);
    /* Pairs with the exchange in rti_signals_count: who is too late for this one posts anew. */
    rti_u32_exchange_acqrel(&signals->is_posted, 0);
    signals_send(signals);
}

void rti_signals_count(struct rti_signals *signals, int number)
{
    RT_ASSERT(signal_is_number(number));
    rti_u32_add_relaxed(&signals->counts[number], 1);
    /* Counted before: pairs with the exchange in signals_deliver. */
    if (rti_u32_exchange_acqrel(&signals->is_posted, 1) == 0) {
        rti_sched_post(signals->sched, &signals->post);
    }
}

void rti_signals_init(struct rti_signals *signals, struct rti_sched *sched,
                      void (*caught)(int number))
{
    *signals = (struct rti_signals){.sched = sched, .caught = caught};
    signals->post.call = signals_deliver;
    rti_lock_init(&signals->lock, sched, RTI_LOCK_TABLE);
    sched->modules[RTI_MODULE_SIGNAL] = signals;
}

void rti_signals_deinit(struct rti_signals *signals)
{
    for (size_t i = 0; i < RT_MAX_SIGNAL_CHANNELS; i++) {
        if (signals->rows[i].set != 0) {
            struct rti_signal_row old = row_free(signals, &signals->rows[i]);
            (void)rt_channel_close_sender(old.tx);
        }
    }
    rti_signals_audit(signals);
    signals->sched->modules[RTI_MODULE_SIGNAL] = NULL;
}

bool rti_signals_are_awaited(struct rti_signals *signals)
{
    bool are_awaited = false;
    rti_lock_acquire(&signals->lock, signals->sched);
    for (size_t i = 0; i < RT_MAX_SIGNAL_CHANNELS; i++) {
        are_awaited |= signals->rows[i].set != 0;
    }
    rti_lock_release(&signals->lock);
    return are_awaited;
}

void rti_signals_audit(const struct rti_signals *signals)
{
    for (int number = 1; number < RTI_SIGNAL_NUMBERS; number++) {
        uint32_t users = 0;
        for (size_t i = 0; i < RT_MAX_SIGNAL_CHANNELS; i++) {
            users += (signals->rows[i].set & signal_bit(number)) != 0 ? 1 : 0;
        }
        RT_ASSERT(users == signals->users[number]);
    }
}

/* The module of the calling thread's runtime. */
static RTI_ENTERING rt_status signals_enter(struct rti_signals **out)
{
    struct rti_worker *worker = rti_worker_enter();
    if (worker == NULL) {
        return (rt_status){RT_ERR_THREAD, RTI_SENTENCE("this thread has no runtime")};
    }
    *out = worker->sched->modules[RTI_MODULE_SIGNAL];
    if (*out == NULL || worker->sched->port->ops->signal_catch == NULL) {
        return (rt_status){RT_ERR_UNSUPPORTED, RTI_SENTENCE("there are no signals here")};
    }
    return RT_SUCCESS;
}

/* The set of the numbers; 0 if one is none. */
static uint64_t set_of(const int *numbers, size_t count)
{
    uint64_t set = 0;
    for (size_t i = 0; i < count; i++) {
        if (!signal_is_number(numbers[i])) {
            return 0;
        }
        set |= signal_bit(numbers[i]);
    }
    return set;
}

/* Catches what nobody has caught yet. On failure everything is as before. With the lock held. */
static rt_status signals_catch(struct rti_signals *signals, uint64_t set)
{
    struct rti_port *port = signals->sched->port;
    rt_status status = RT_SUCCESS;
    int number = 1;
    for (; number < RTI_SIGNAL_NUMBERS && !RT_FAILED(status); number++) {
        if ((set & signal_bit(number)) != 0) {
            if (signals->users[number] == 0) {
                status = port->ops->signal_catch(port, number, signals->caught);
            }
            signals->users[number] += RT_FAILED(status) ? 0 : 1;
        }
    }
    if (RT_FAILED(status)) {
        for (int done = number - 2; done > 0; done--) {
            if ((set & signal_bit(done)) != 0 && --signals->users[done] == 0) {
                port->ops->signal_release(port, done);
            }
        }
    }
    return status;
}

/* Fills a free row. With the lock held. */
static rt_status signals_subscribe(struct rti_signals *signals, const struct rti_signal_row *wanted)
{
    for (size_t i = 0; i < RT_MAX_SIGNAL_CHANNELS; i++) {
        if (signals->rows[i].set == 0) {
            rt_status status = signals_catch(signals, wanted->set);
            if (!RT_FAILED(status)) {
                signals->rows[i] = *wanted;
            }
            return status;
        }
    }
    return (rt_status){RT_ERR_RESOURCE_EXHAUSTED,
                       RTI_SENTENCE("RT_MAX_SIGNAL_CHANNELS are open already")};
}

rt_status rt_signal_open(const int *numbers, size_t count, size_t capacity,
                         rt_channel_receiver **out_rx)
{
    struct rti_signals *signals;
    rt_status status = signals_enter(&signals);
    if (RT_FAILED(status)) {
        return status;
    }
    struct rti_signal_row row = {.set = numbers == NULL ? 0 : set_of(numbers, count)};
    if (row.set == 0 || out_rx == NULL) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("no numbers, or one is no signal")};
    }
    rt_channel_config config = {.elem_size = sizeof(rt_signal_value),
                                .capacity = capacity != 0 ? capacity : CAPACITY_DEFAULT};
    status = rt_channel_create(&config, &row.tx, &row.rx);
    if (RT_FAILED(status)) {
        return status;
    }
    /* What came before is for those who were there: the post may still be on its way. */
    signals_send(signals);
    rti_lock_acquire(&signals->lock, signals->sched);
    status = signals_subscribe(signals, &row);
    rti_lock_release(&signals->lock);
    if (RT_FAILED(status)) {
        (void)rt_channel_close_sender(row.tx);
        (void)rt_channel_close_receiver(row.rx);
        return status;
    }
    *out_rx = row.rx;
    return RT_SUCCESS;
}

static rt_status not_open(void)
{
    return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("no open channel of signals")};
}

rt_status rt_signal_close(rt_channel_receiver *rx)
{
    struct rti_signals *signals;
    rt_status status = signals_enter(&signals);
    if (RT_FAILED(status)) {
        return status;
    }
    struct rti_signal_row old = {.set = 0};
    rti_lock_acquire(&signals->lock, signals->sched);
    struct rti_signal_row *row = row_of(signals, rx);
    if (row != NULL) {
        old = row_free(signals, row);
    }
    rti_lock_release(&signals->lock);
    if (old.set == 0) {
        return not_open();
    }
    /* The receiver first: who waits with it hears that it was closed, who waits with a clone that
     * no more will come. */
    (void)rt_channel_close_receiver(old.rx);
    (void)rt_channel_close_sender(old.tx);
    return RT_SUCCESS;
}

rt_status rt_signal_dropped(rt_channel_receiver *rx, uint64_t *out_dropped)
{
    struct rti_signals *signals;
    rt_status status = signals_enter(&signals);
    if (RT_FAILED(status)) {
        return status;
    }
    rti_lock_acquire(&signals->lock, signals->sched);
    struct rti_signal_row *row = row_of(signals, rx);
    uint64_t dropped = row == NULL ? 0 : row->dropped;
    rti_lock_release(&signals->lock);
    if (row == NULL || out_dropped == NULL) {
        return not_open();
    }
    *out_dropped = dropped;
    return RT_SUCCESS;
}

rt_status rt_signal_raise(int number)
{
    struct rti_signals *signals;
    rt_status status = signals_enter(&signals);
    if (RT_FAILED(status)) {
        return status;
    }
    struct rti_port *port = signals->sched->port;
    if (!signal_is_number(number)) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("no signal has this number")};
    }
    return port->ops->signal_raise(port, number);
}
