/* SPDX-License-Identifier: Apache-2.0 */
/* Step 7: the simulator finds a bug that only some orders reveal.
 *
 *     step7               looks for a seed with which the audit fails
 *     step7 SEED          runs that one and tells what happens, in order
 *     step7 --repaired    looks for such a seed with the repaired program
 *
 * Two accounts are actors. A teller moves money from one to the other, an auditor asks both for
 * their balance and adds them up. It works on every machine, every time, until it does not.
 *
 * Tested: step7
 * Tested: step7 3
 * Tested: step7 --repaired */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/rt.h>

#define SEEDS_MAX 1000
#define TOTAL     200

struct bank {
    actor_id account[2];
    bool is_repaired;
    bool tells; /* what happens, on standard output */
    int audit;  /* what the auditor found */
};

static void must(rt_status status)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "%s\n", status.msg != NULL ? status.msg : rt_status_text(status.code));
        exit(EXIT_FAILURE);
    }
}

/* To an account: books an amount and asks for the balance. */
struct booking {
    int amount; /* 0: only asks */
    char who[8];
};

static void account(void *arg)
{
    const struct bank *bank = arg;
    int balance = TOTAL / 2;
    for (;;) {
        rt_message msg;
        must(rt_ipc_recv(&msg, -1));
        if (rt_is_exit_msg(&msg)) {
            rt_exit(); /* the bank is closed */
        }
        const struct booking *booking = msg.data;
        balance += booking->amount;
        if (bank->tells) {
            printf("account %d: %+3d by the %s, balance %d\n", rt_self() == bank->account[1],
                   booking->amount, booking->who, balance);
        }
        must(rt_reply(&msg, &balance, sizeof(balance)));
    }
}

static int book(const struct bank *bank, int number, const struct booking *booking)
{
    rt_message reply;
    must(rt_call(bank->account[number], booking, sizeof(*booking), &reply, -1));
    return *(const int *)reply.data;
}

static void teller(void *arg)
{
    const struct bank *bank = arg;
    (void)book(bank, 0, &(struct booking){-30, "teller"});
    (void)book(bank, 1, &(struct booking){+30, "teller"});
    rt_exit();
}

static void auditor(void *arg)
{
    struct bank *bank = arg;
    bank->audit = book(bank, 0, &(struct booking){0, "auditor"});
    bank->audit += book(bank, 1, &(struct booking){0, "auditor"});
    rt_exit();
}

/* Waits until somebody that we watch has ended. */
static void end_wait(void)
{
    rt_message msg;
    must(rt_ipc_recv(&msg, -1));
}

/* Opens the bank for one transfer and one audit. */
static void day(void *arg)
{
    struct bank *bank = arg;
    for (int i = 0; i < 2; i++) {
        bank->account[i] = rt_spawn(account, bank);
        must(rt_link(bank->account[i])); /* they end when they hear of our end */
    }
    uint32_t ref;
    must(rt_monitor(rt_spawn(teller, bank), &ref));
    if (bank->is_repaired) {
        end_wait(); /* the audit begins when the transfer is over, not just somewhat later */
    }
    must(rt_monitor(rt_spawn(auditor, bank), &ref));
    end_wait();
    if (!bank->is_repaired) {
        end_wait();
    }
    rt_exit();
}

/* Runs one day. Returns whether the audit came out right. */
static bool day_run(struct bank *bank, const rt_sim_config *config)
{
    must(rt_sim_run(config, day, bank));
    return bank->audit == TOTAL;
}

/* Looks for a seed that breaks the audit. Returns whether there is one. */
static bool search(bool is_repaired)
{
    struct bank bank = {.is_repaired = is_repaired};
    const rt_sim_config in_order = {.fixed_order = true}; /* as it would run without simulator */
    printf("first come, first served: the audit is %s\n",
           day_run(&bank, &in_order) ? "right" : "wrong");

    for (uint64_t seed = 1; seed <= SEEDS_MAX; seed++) {
        const rt_sim_config config = {.seed = seed};
        if (!day_run(&bank, &config)) {
            printf("seed %" PRIu64 ": the audit found %d instead of %d\n", seed, bank.audit, TOTAL);
            printf("repeat: step7 %" PRIu64 "\n", seed);
            return true;
        }
    }
    printf("%d seeds: every audit is right\n", SEEDS_MAX);
    return false;
}

int main(int argc, char **argv)
{
    bool is_repaired = argc > 1 && strcmp(argv[1], "--repaired") == 0;
    if (argc == 1 || is_repaired) {
        return search(is_repaired) != is_repaired ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    struct bank bank = {.tells = true};
    const rt_sim_config config = {.seed = strtoull(argv[1], NULL, 10)};
    bool is_right = day_run(&bank, &config);
    printf("the audit found %d and is %s\n", bank.audit, is_right ? "right" : "wrong");
    return EXIT_SUCCESS;
}
