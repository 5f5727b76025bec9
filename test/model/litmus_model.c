/* SPDX-License-Identifier: Apache-2.0 */

/* Litmus tests: the explorer's own ground truth. Each is a handful of accesses whose set of
 * possible outcomes is known for each memory, and the explorer must reach exactly that set: what it
 * misses is an unsound search, what it adds is a wrong machine.
 *
 * An outcome is the values read, a hexadecimal digit each, in the order of the threads. */

#include "base/atomic.h"

static rti_atomic_u32 x;
static rti_atomic_u32 y;
static uint32_t data;
static uint32_t r[4];

static void setup(void)
{
    rti_u32_init(&x, 0);
    rti_u32_init(&y, 0);
    explore_name(&x, "x");
    explore_name(&y, "y");
    data = 0;
    for (unsigned i = 0; i < 4; i++) {
        r[i] = 0;
    }
}

static void note_two(void)
{
    explore_outcome((uint64_t)r[0] << 4 | r[1]);
}

static void note_four(void)
{
    explore_outcome((uint64_t)r[0] << 12 | r[1] << 8 | r[2] << 4 | r[3]);
}

static void note_memory(void)
{
    explore_outcome((uint64_t)rti_u32_load_relaxed(&x) << 4 | rti_u32_load_relaxed(&y));
}

/* Store buffering: both may read 0 only with store buffers. */
static void sb0(void)
{
    rti_u32_store_release(&x, 1);
    r[0] = rti_u32_load_acquire(&y);
}

static void sb1(void)
{
    rti_u32_store_release(&y, 1);
    r[1] = rti_u32_load_acquire(&x);
}

MODEL(store_buffering){
    .about = "both threads miss each other's store under TSO only",
    .setup = setup,
    .threads = {sb0, sb1},
    .check = note_two,
    .outcomes = {{3, {0x01, 0x10, 0x11}}, {4, {0x00, 0x01, 0x10, 0x11}}},
};

static void sb_fenced0(void)
{
    rti_u32_store_relaxed(&x, 1);
    rti_fence_seqcst();
    r[0] = rti_u32_load_relaxed(&y);
}

static void sb_fenced1(void)
{
    rti_u32_store_relaxed(&y, 1);
    rti_fence_seqcst();
    r[1] = rti_u32_load_relaxed(&x);
}

MODEL(store_buffering_with_fences){
    .about = "a fence between store and load forbids it",
    .setup = setup,
    .threads = {sb_fenced0, sb_fenced1},
    .check = note_two,
    .outcomes = {{3, {0x01, 0x10, 0x11}}, {3, {0x01, 0x10, 0x11}}},
};

MODEL(store_buffering_with_one_fence){
    .about = "one fence is not enough",
    .setup = setup,
    .threads = {sb_fenced0, sb1},
    .check = note_two,
    .outcomes = {{3, {0x01, 0x10, 0x11}}, {4, {0x00, 0x01, 0x10, 0x11}}},
};

static void sb_exchange0(void)
{
    (void)rti_u32_exchange_acqrel(&x, 1);
    r[0] = rti_u32_load_acquire(&y);
}

static void sb_exchange1(void)
{
    (void)rti_u32_exchange_acqrel(&y, 1);
    r[1] = rti_u32_load_acquire(&x);
}

MODEL(store_buffering_with_exchanges){
    .about = "a locked instruction is a fence",
    .setup = setup,
    .threads = {sb_exchange0, sb_exchange1},
    .check = note_two,
    .outcomes = {{3, {0x01, 0x10, 0x11}}, {3, {0x01, 0x10, 0x11}}},
};

/* Load buffering: a load never takes a value stored after it. */
static void lb0(void)
{
    r[0] = rti_u32_load_acquire(&x);
    rti_u32_store_release(&y, 1);
}

static void lb1(void)
{
    r[1] = rti_u32_load_acquire(&y);
    rti_u32_store_release(&x, 1);
}

MODEL(load_buffering){
    .about = "no load takes a value from its own future",
    .setup = setup,
    .threads = {lb0, lb1},
    .check = note_two,
    .outcomes = {{3, {0x00, 0x01, 0x10}}, {3, {0x00, 0x01, 0x10}}},
};

/* Message passing: stores arrive in order. */
static void mp0(void)
{
    rti_u32_store_relaxed(&x, 1);
    rti_u32_store_release(&y, 1);
}

static void mp1(void)
{
    r[0] = rti_u32_load_acquire(&y);
    r[1] = rti_u32_load_relaxed(&x);
}

MODEL(message_passing){
    .about = "who sees the flag sees the message",
    .setup = setup,
    .threads = {mp0, mp1},
    .check = note_two,
    .outcomes = {{3, {0x00, 0x01, 0x11}}, {3, {0x00, 0x01, 0x11}}},
};

/* Independent reads of independent writes: all agree on the order of two stores. */
static void write_x(void)
{
    rti_u32_store_release(&x, 1);
}

static void write_y(void)
{
    rti_u32_store_release(&y, 1);
}

static void read_xy(void)
{
    r[0] = rti_u32_load_acquire(&x);
    r[1] = rti_u32_load_acquire(&y);
}

static void read_yx(void)
{
    r[2] = rti_u32_load_acquire(&y);
    r[3] = rti_u32_load_acquire(&x);
}

#define IRIW_OUTCOMES                                                                              \
    {                                                                                              \
        15,                                                                                        \
        {                                                                                          \
            0x0000, 0x0001, 0x0010, 0x0011, 0x0100, 0x0101, 0x0110, 0x0111, 0x1000, 0x1001,        \
                0x1011, 0x1100, 0x1101, 0x1110, 0x1111                                             \
        }                                                                                          \
    }

MODEL(independent_reads_of_independent_writes){
    .about = "all threads agree on the order of stores",
    .setup = setup,
    .threads = {write_x, write_y, read_xy, read_yx},
    .check = note_four,
    .outcomes = {IRIW_OUTCOMES, IRIW_OUTCOMES},
};

/* 2+2W: stores of one thread reach memory in order, so the two first ones cannot both be last. */
static void ww0(void)
{
    rti_u32_store_release(&x, 1);
    rti_u32_store_release(&y, 2);
}

static void ww1(void)
{
    rti_u32_store_release(&y, 1);
    rti_u32_store_release(&x, 2);
}

MODEL(two_plus_two_writes){
    .about = "stores of a thread arrive in order",
    .setup = setup,
    .threads = {ww0, ww1},
    .check = note_memory,
    .outcomes = {{3, {0x12, 0x21, 0x22}}, {3, {0x12, 0x21, 0x22}}},
};

/* R: store then store against store then load. */
static void r1(void)
{
    rti_u32_store_release(&y, 2);
    r[0] = rti_u32_load_acquire(&x);
}

static void note_r(void)
{
    explore_outcome((uint64_t)rti_u32_load_relaxed(&y) << 4 | r[0]);
}

static void r0(void)
{
    rti_u32_store_release(&x, 1);
    rti_u32_store_release(&y, 1);
}

MODEL(write_then_read){
    .about = "the later store wins and yet its thread misses the earlier one, under TSO only",
    .setup = setup,
    .threads = {r0, r1},
    .check = note_r,
    .outcomes = {{3, {0x10, 0x11, 0x21}}, {4, {0x10, 0x11, 0x20, 0x21}}},
};

/* A thread reads its own store before others can: n6 of the x86-TSO papers. */
static void own0(void)
{
    rti_u32_store_relaxed(&x, 1);
    r[0] = rti_u32_load_relaxed(&x);
    r[1] = rti_u32_load_relaxed(&y);
}

static void own1(void)
{
    rti_u32_store_relaxed(&y, 1);
    r[2] = rti_u32_load_relaxed(&y);
    r[3] = rti_u32_load_relaxed(&x);
}

MODEL(own_store_is_seen_early){
    .about = "each sees its own store and misses the other's",
    .setup = setup,
    .threads = {own0, own1},
    .check = note_four,
    .outcomes = {{3, {0x1011, 0x1110, 0x1111}}, {4, {0x1010, 0x1011, 0x1110, 0x1111}}},
};

static void own_overwritten0(void)
{
    rti_u32_store_relaxed(&x, 1);
    r[0] = rti_u32_load_relaxed(&x);
    r[1] = rti_u32_load_relaxed(&x);
}

static void own_overwritten1(void)
{
    rti_u32_store_relaxed(&x, 2);
}

static void note_coherence(void)
{
    explore_outcome((uint64_t)r[0] << 8 | r[1] << 4 | rti_u32_load_relaxed(&x));
}

#define COHERENCE_OUTCOMES                                                                         \
    {                                                                                              \
        4,                                                                                         \
        {                                                                                          \
            0x111, 0x112, 0x122, 0x222                                                             \
        }                                                                                          \
    }

MODEL(own_store_is_overwritten){
    .about = "reads of one word never go back in time",
    .setup = setup,
    .threads = {own_overwritten0, own_overwritten1},
    .check = note_coherence,
    .outcomes = {COHERENCE_OUTCOMES, COHERENCE_OUTCOMES},
};

/* Spin: the loop ends in every schedule, and sees the message. */
static void spin0(void)
{
    data = 7;
    RTI_PLAIN_WRITE(&data, sizeof data);
    rti_u32_store_release(&x, 1);
}

static void spin1(void)
{
    while (rti_u32_load_acquire(&x) == 0) {
        rti_spin_hint();
    }
    RTI_PLAIN_READ(&data, sizeof data);
    r[0] = data;
}

static void check_spin(void)
{
    EXPLORE_ASSERT(r[0] == 7);
}

MODEL(spinning_ends){
    .about = "a spin loop ends when its word changes",
    .setup = setup,
    .threads = {spin0, spin1, spin1},
    .check = check_spin,
};

static void spin_for_ever(void)
{
    while (rti_u32_load_acquire(&y) == 0) {
        rti_spin_hint();
    }
}

MODEL(spinning_for_nothing_is_found){
    .about = "a spin loop that nobody ends is a deadlock",
    .setup = setup,
    .threads = {spin0, spin_for_ever},
    .must_fail = {EXPLORE_DEADLOCK, EXPLORE_DEADLOCK},
};

static void spin_without_hint(void)
{
    while (rti_u32_load_acquire(&y) == 0) {
    }
}

MODEL(loop_without_end_is_found){
    .about = "an execution of too many steps is a livelock",
    .setup = setup,
    .threads = {spin0, spin_without_hint},
    .must_fail = {EXPLORE_LIVELOCK, EXPLORE_LIVELOCK},
};

static void hang(void)
{
    rti_u32_store_release(&x, 1);
    for (volatile bool is_over = false; !is_over;) {
    }
}

MODEL(loop_without_steps_is_found){
    .about = "code that takes no step any more is a livelock",
    .setup = setup,
    .threads = {hang, spin0},
    .must_fail = {EXPLORE_LIVELOCK, EXPLORE_LIVELOCK},
};

static void use_bad_address(void)
{
    volatile uint32_t *volatile nowhere = NULL;
    rti_u32_store_release(&x, 1);
    *nowhere = 1;
}

MODEL(bad_address_is_found){
    .about = "a crash is a failed execution with a schedule",
    .setup = setup,
    .threads = {use_bad_address, spin0},
    .must_fail = {EXPLORE_CRASH, EXPLORE_CRASH},
};

/* A choice is tried both ways, whatever the schedule. */
static void choose_and_store(void)
{
    rti_u32_store_release(&x, 1);
    r[0] = 1 + explore_choose(2);
    rti_u32_store_release(&y, r[0]);
}

static void read_choice(void)
{
    r[1] = rti_u32_load_acquire(&y);
}

MODEL(choices_are_all_tried){
    .about = "each value of a choice, with each order of the accesses",
    .setup = setup,
    .threads = {choose_and_store, read_choice},
    .check = note_two,
    .outcomes = {{4, {0x10, 0x11, 0x20, 0x22}}, {4, {0x10, 0x11, 0x20, 0x22}}},
};

/* Futex: all waiters are woken, also with a wake-up without cause. */
static void sleeper(void)
{
    while (rti_u32_load_acquire(&x) == 0) {
        (void)explore_futex_wait(&x, 0, true, EXPLORE_SITE);
    }
}

static void waker(void)
{
    rti_u32_store_release(&x, 1);
    explore_futex_wake(&x, 2, EXPLORE_SITE);
}

static void waker_of_one(void)
{
    rti_u32_store_release(&x, 1);
    explore_futex_wake(&x, 1, EXPLORE_SITE);
}

MODEL(futex_wakes_all){
    .about = "sleepers on a futex wake, spurious wakes and timeouts included",
    .setup = setup,
    .threads = {sleeper, sleeper, waker},
    .spurious_wakes_max = 1,
    .timeouts_max = 1,
};

MODEL(futex_that_wakes_too_few_is_found){
    .about = "one wake for two sleepers is a lost wake-up",
    .setup = setup,
    .threads = {sleeper, sleeper, waker_of_one},
    .must_fail = {EXPLORE_DEADLOCK, EXPLORE_DEADLOCK},
};

/* The checker's own mutants, which only one of its eyes can see. */
static void dekker0(void)
{
    rti_u32_store_release(&x, 1);
    if (rti_u32_load_acquire(&y) == 0) {
        r[0] = 1;
    }
}

static void dekker1(void)
{
    rti_u32_store_release(&y, 1);
    if (rti_u32_load_acquire(&x) == 0) {
        r[1] = 1;
    }
}

static void check_dekker(void)
{
    EXPLORE_ASSERT(r[0] + r[1] <= 1);
}

MODEL(dekker_without_fence_is_found_by_store_buffers){
    .about = "Dekker's entry without a fence passes under SC and fails under TSO",
    .setup = setup,
    .threads = {dekker0, dekker1},
    .check = check_dekker,
    .must_fail = {EXPLORE_PASSES, EXPLORE_ASSERTION},
};

static void publish_relaxed(void)
{
    data = 7;
    RTI_PLAIN_WRITE(&data, sizeof data);
    rti_u32_store_relaxed(&x, 1);
}

static void take_acquire(void)
{
    if (rti_u32_load_acquire(&x) == 1) {
        RTI_PLAIN_READ(&data, sizeof data);
        EXPLORE_ASSERT(data == 7);
    }
}

MODEL(relaxed_publication_is_found_by_the_race_detector){
    .about = "a relaxed store publishes nothing, though every machine with TSO hides it",
    .setup = setup,
    .threads = {publish_relaxed, take_acquire},
    .must_fail = {EXPLORE_RACE, EXPLORE_RACE},
};

static void take_relaxed(void)
{
    if (rti_u32_load_relaxed(&x) == 1) {
        RTI_PLAIN_READ(&data, sizeof data);
        EXPLORE_ASSERT(data == 7);
    }
}

MODEL(relaxed_taking_is_found_by_the_race_detector){
    .about = "a relaxed load learns nothing",
    .setup = setup,
    .threads = {spin0, take_relaxed},
    .must_fail = {EXPLORE_RACE, EXPLORE_RACE},
};

/* A release sequence goes on through a read-modify-write, and fences publish relaxed accesses. */
static void add_relaxed(void)
{
    (void)rti_u32_add_relaxed(&x, 2);
}

static void take_after_add(void)
{
    if ((rti_u32_load_acquire(&x) & 1) != 0) {
        RTI_PLAIN_READ(&data, sizeof data);
        EXPLORE_ASSERT(data == 7);
    }
}

static void publish_or(void)
{
    data = 7;
    RTI_PLAIN_WRITE(&data, sizeof data);
    (void)rti_u32_or_acqrel(&x, 1);
}

MODEL(release_sequence_goes_on_through_rmw){
    .about = "an add in between keeps what was published",
    .setup = setup,
    .threads = {publish_or, add_relaxed, take_after_add},
};

static void publish_fenced(void)
{
    data = 7;
    RTI_PLAIN_WRITE(&data, sizeof data);
    rti_fence_seqcst();
    rti_u32_store_relaxed(&x, 1);
}

static void take_fenced(void)
{
    if (rti_u32_load_relaxed(&x) == 1) {
        rti_fence_seqcst();
        RTI_PLAIN_READ(&data, sizeof data);
        EXPLORE_ASSERT(data == 7);
    }
}

MODEL(fences_publish_relaxed_accesses){
    .about = "fence, relaxed store, relaxed load, fence is a publication",
    .setup = setup,
    .threads = {publish_fenced, take_fenced},
};

/* Neighbouring bytes are no race; overlapping ones are. */
static uint8_t bytes[8];

static void write_low(void)
{
    RTI_PLAIN_WRITE(&bytes[0], 3);
    RTI_PLAIN_READ(&bytes[0], 3);
    rti_u32_store_relaxed(&x, 1);
}

static void write_high(void)
{
    RTI_PLAIN_WRITE(&bytes[3], 5);
    rti_u32_store_relaxed(&y, 1);
}

static void write_overlapping(void)
{
    RTI_PLAIN_WRITE(&bytes[2], 4);
    rti_u32_store_relaxed(&y, 1);
}

MODEL(neighbouring_bytes_do_not_race){
    .about = "accesses to neighbouring bytes are independent",
    .setup = setup,
    .threads = {write_low, write_high},
};

MODEL(overlapping_bytes_race){
    .about = "one byte in common is a race",
    .setup = setup,
    .threads = {write_low, write_overlapping},
    .must_fail = {EXPLORE_RACE, EXPLORE_RACE},
};

static void init_late(void)
{
    rti_u32_init(&x, 1);
}

static void use_early(void)
{
    (void)rti_u32_add_relaxed(&x, 1);
}

MODEL(init_of_a_shared_word_is_found){
    .about = "a word is made before it is shared",
    .setup = setup,
    .threads = {init_late, use_early},
    .must_fail = {EXPLORE_RACE, EXPLORE_RACE},
};
