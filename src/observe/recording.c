/* SPDX-License-Identifier: Apache-2.0 */
/* The essay is in recording.h. */
#define RTI_MODULE "recording"
#include "observe/recording.h"

#include "sched/crew.h"

#if RTI_RECORDS

#define KIND_NAME(kind, name) name,
static const char *const kind_names[RTI_NOTE_COUNT] = {RTI_RECORDER_KINDS(KIND_NAME)};
#undef KIND_NAME

uint32_t rti_recording_workers(const struct rti_sched *sched)
{
    return sched->crew == NULL ? 1 : sched->crew->members_max;
}

static struct rti_worker *worker_at(struct rti_sched *sched, uint32_t index)
{
    return sched->crew == NULL ? &sched->worker : sched->crew->members[index].worker;
}

static bool write_line(const struct rti_recording_output *output, struct rti_text *text)
{
    rti_text_end_line(text);
    RT_ASSERT(!text->is_cut);
    return output->sink(output->arg, text->bytes, text->length);
}

static bool write_head(struct rti_sched *sched, const struct rti_recording *recording,
                       const struct rti_recording_output *output)
{
    char bytes[512];
    struct rti_text text;
    rti_text_init(&text, bytes, sizeof(bytes));
    rti_text_line(&text, "orrery-recording");
    rti_text_number(&text, 1);
    rti_text_end_line(&text);
    rti_text_line(&text, "kinds");
    for (size_t i = 0; i < RTI_NOTE_COUNT; i++) {
        rti_text_word(&text, kind_names[i]);
    }
    rti_text_end_line(&text);
    rti_text_line(&text, "clock");
    rti_text_number(&text, rti_u64_load_relaxed(&recording->base_ticks));
    rti_text_number(&text, output->begin_ns);
    rti_text_number(&text, rti_recorder_ticks());
    rti_text_number(&text, rti_sched_clock(sched));
    return write_line(output, &text);
}

static bool write_worker(const struct rti_worker *worker, uint32_t index,
                         const struct rti_recording *recording,
                         const struct rti_recording_output *output)
{
    char bytes[128];
    struct rti_text text;
    uint64_t lost;
    size_t count = rti_recorder_copy(&worker->recorder, recording, output->room, &lost);
    if (count == 0) {
        return true;
    }
    rti_text_init(&text, bytes, sizeof(bytes));
    rti_text_line(&text, "worker");
    rti_text_number(&text, index);
    rti_text_number(&text, lost);
    rti_text_number(&text, count);
    return write_line(output, &text) &&
           output->sink(output->arg, output->room, count * sizeof(output->room[0]));
}

bool rti_recording_write(struct rti_sched *sched, const struct rti_recording *recording,
                         const struct rti_recording_output *output)
{
    bool is_taken = write_head(sched, recording, output);
    for (uint32_t i = 0; is_taken && i < recording->rings_count; i++) {
        is_taken = write_worker(worker_at(sched, i), i, recording, output);
    }
    return is_taken && output->sink(output->arg, "end\n", 4);
}

void rti_recording_tick(struct rti_sched *sched)
{
    for (uint32_t i = 0; i < rti_recording_workers(sched); i++) {
        rti_recorder_tick(&worker_at(sched, i)->recorder);
    }
}

void rti_recording_call(struct rti_sched *sched)
{
    for (uint32_t i = 0; sched->crew != NULL && i < sched->crew->members_max; i++) {
        rti_u32_store_relaxed(&sched->crew->members[i].attention, 1);
    }
    sched->port->ops->wake(sched->port);
}

#endif
