/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of a standing receive against a plain list of bytes, under both policies. */
#define RTI_MODULE "machine_ring_test"
#include "machine/recv_ring.h"

#include "base/assert.h"
#include "base/rng.h"
#include "support/test.h"

static unsigned char memory[128];
static unsigned char out[256];

TEST(recv_ring_drops_the_newest_bytes_of_a_stream)
{
    rt_recv_ring ring;
    CHECK_OK(rt_recv_ring_init(&ring, memory, 8, RT_RECV_DROP_NEWEST));
    rti_recv_ring_put(&ring, (const unsigned char *)"abcdef", 6);
    rti_recv_ring_put(&ring, (const unsigned char *)"ghij", 4);
    rti_recv_ring_put(&ring, (const unsigned char *)"k", 1);
    CHECK_EQ(ring.stats.received_bytes, 11);
    CHECK_EQ(ring.stats.received_entries, 3);
    CHECK_EQ(ring.stats.dropped_bytes, 3);
    CHECK_EQ(ring.stats.dropped_entries, 2);
    CHECK_EQ(rt_recv_ring_read(&ring, out, 3), 3);
    CHECK_EQ(rt_recv_ring_read(&ring, out + 3, 100), 5);
    CHECK_EQ(memcmp(out, "abcdefgh", 8), 0);
    CHECK_EQ(rt_recv_ring_read(&ring, out, 100), 0);
}

TEST(recv_ring_overwrites_the_oldest_bytes_of_a_stream)
{
    rt_recv_ring ring;
    CHECK_OK(rt_recv_ring_init(&ring, memory, 8, RT_RECV_OVERWRITE_OLDEST));
    rti_recv_ring_put(&ring, (const unsigned char *)"abcdef", 6);
    rti_recv_ring_put(&ring, (const unsigned char *)"ghij", 4);
    CHECK_EQ(ring.stats.overwritten_bytes, 2);
    CHECK_EQ(rt_recv_ring_read(&ring, out, 100), 8);
    CHECK_EQ(memcmp(out, "cdefghij", 8), 0);
    rti_recv_ring_put(&ring, (const unsigned char *)"0123456789", 10);
    CHECK_EQ(ring.stats.overwritten_bytes, 4);
    CHECK_EQ(ring.stats.dropped_bytes, 0);
    CHECK_EQ(rt_recv_ring_read(&ring, out, 100), 8);
    CHECK_EQ(memcmp(out, "23456789", 8), 0);
}

TEST(recv_ring_gives_its_free_bytes_in_pieces)
{
    rt_recv_ring ring;
    size_t size;
    CHECK_OK(rt_recv_ring_init(&ring, memory, 8, RT_RECV_DROP_NEWEST));
    CHECK(rti_recv_ring_space(&ring, &size) == memory);
    CHECK_EQ(size, 8);
    memcpy(memory, "abcdef", 6);
    rti_recv_ring_commit(&ring, 6);
    /* Three bytes are left, more than are moved to the front. */
    CHECK_EQ(rt_recv_ring_read(&ring, out, 3), 3);
    CHECK(rti_recv_ring_space(&ring, &size) == memory + 6);
    CHECK_EQ(size, 2);
    rti_recv_ring_commit(&ring, 2);
    CHECK(rti_recv_ring_space(&ring, &size) == memory);
    CHECK_EQ(size, 3);
    rti_recv_ring_commit(&ring, 3);
    CHECK(rti_recv_ring_space(&ring, &size) == NULL);
    CHECK_EQ(size, 0);
}

/* A read that fills its room is followed by one that most of the time finds nothing. */
TEST(recv_ring_moves_the_little_it_holds_to_its_front)
{
    rt_recv_ring ring;
    size_t size;
    CHECK_OK(rt_recv_ring_init(&ring, memory, 32, RT_RECV_DROP_NEWEST));
    CHECK(rti_recv_ring_space(&ring, &size) == memory);
    memcpy(memory, "0123456789abcdefghijklmn", 24);
    rti_recv_ring_commit(&ring, 24);
    CHECK_EQ(rt_recv_ring_read(&ring, out, 15), 15);
    /* Nine bytes are more than a quarter: they stay, and there are eight behind them. */
    CHECK(rti_recv_ring_space(&ring, &size) == memory + 24);
    CHECK_EQ(size, 8);
    CHECK_EQ(rt_recv_ring_read(&ring, out, 1), 1);
    CHECK(rti_recv_ring_space(&ring, &size) == memory + 8);
    CHECK_EQ(size, 24);
    memcpy(memory + 8, "opqr", 4);
    rti_recv_ring_commit(&ring, 4);
    CHECK_EQ(rt_recv_ring_read(&ring, out, 100), 12);
    CHECK_EQ(memcmp(out, "ghijklmnopqr", 12), 0);
}

/* What is in two pieces stays where it is. */
TEST(recv_ring_keeps_the_order_of_bytes_wherever_they_lie)
{
    rt_recv_ring ring;
    unsigned char next_in = 0;
    unsigned char next_out = 0;
    CHECK_OK(rt_recv_ring_init(&ring, memory, 32, RT_RECV_DROP_NEWEST));
    for (unsigned i = 0; i < 2000; i++) {
        size_t size;
        unsigned char *space = rti_recv_ring_space(&ring, &size);
        size_t wanted = 1 + i * 7 % 13;
        size_t count = space == NULL ? 0 : wanted < size ? wanted : size;
        for (size_t at = 0; at < count; at++) {
            space[at] = next_in++;
        }
        rti_recv_ring_commit(&ring, count);
        rti_recv_ring_audit(&ring);
        size_t taken = rt_recv_ring_read(&ring, out, 1 + i * 5 % 11);
        for (size_t at = 0; at < taken; at++) {
            CHECK_EQ((unsigned char)out[at], next_out++);
        }
    }
}

static void put(rt_recv_ring *ring, const void *bytes, size_t size, uint16_t port)
{
    const rt_net_address from = {.ip = {10, 0, 0, 1}, .port = port};
    rti_recv_ring_put_datagram(ring, bytes, size, &from);
}

TEST(recv_ring_keeps_datagrams_whole_with_their_senders)
{
    const size_t entry = RT_RECV_ENTRY_OVERHEAD;
    rt_recv_ring ring;
    rt_net_address from = {.port = 0};
    size_t length = 77;
    CHECK_OK(rt_recv_ring_init(&ring, memory, 3 * entry + 8, RT_RECV_DROP_NEWEST));
    put(&ring, "abcdef", 6, 1);
    put(&ring, "", 0, 2);
    put(&ring, "xyz", 3, 3); /* one byte more than is left */
    CHECK_EQ(ring.stats.dropped_entries, 1);
    CHECK_EQ(ring.stats.dropped_bytes, 3);
    CHECK(rt_recv_ring_next_from(&ring, out, 4, &length, &from));
    CHECK_EQ(length, 6);
    CHECK_EQ(memcmp(out, "abcd", 4), 0);
    CHECK(from.port == 1 && from.ip[0] == 10 && from.ip[3] == 1);
    CHECK(rt_recv_ring_next_from(&ring, out, 4, &length, &from));
    CHECK_EQ(length, 0);
    CHECK_EQ(from.port, 2);
    length = 77;
    CHECK(!rt_recv_ring_next_from(&ring, out, 4, &length, &from));
    CHECK_EQ(length, 77);
    CHECK_EQ(from.port, 2);
}

TEST(recv_ring_overwrites_whole_datagrams)
{
    const size_t entry = RT_RECV_ENTRY_OVERHEAD;
    rt_recv_ring ring;
    size_t length = 0;
    CHECK_OK(rt_recv_ring_init(&ring, memory, 3 * entry + 8, RT_RECV_OVERWRITE_OLDEST));
    for (unsigned i = 0; i < 10; i++) {
        char text[4] = {'0', '0', '0', (char)('0' + i)};
        put(&ring, text, 4, 1);
    }
    put(&ring, memory, 2 * entry + 9, 1); /* never fits */
    CHECK_EQ(ring.stats.overwritten_entries, 8);
    CHECK_EQ(ring.stats.dropped_entries, 1);
    CHECK(rt_recv_ring_next(&ring, out, 10, &length));
    CHECK_EQ(memcmp(out, "0008", 4), 0);
    CHECK(rt_recv_ring_next(&ring, out, 10, &length));
    CHECK_EQ(memcmp(out, "0009", 4), 0);
    CHECK(!rt_recv_ring_next(&ring, out, 10, &length));
    CHECK_OK(rt_recv_ring_init(&ring, memory, 8, RT_RECV_OVERWRITE_OLDEST));
    put(&ring, "", 0, 1); /* nor does any in a ring that is smaller than what lies before one */
    CHECK_EQ(ring.stats.dropped_entries, 1);
}

TEST(recv_ring_accounts_for_every_byte)
{
    struct rti_rng rng;
    rti_rng_init(&rng, 7);
    for (unsigned policy = 0; policy < 2; policy++) {
        rt_recv_ring ring;
        uint64_t taken = 0;
        unsigned char next_in = 0;
        CHECK_OK(
            rt_recv_ring_init(&ring, memory, 8 + rti_rng_below(&rng, 50), (rt_recv_policy)policy));
        for (unsigned i = 0; i < 20000; i++) {
            size_t size = (size_t)rti_rng_below(&rng, 80);
            if (rti_rng_chance(&rng, 1, 2)) {
                unsigned char in[80];
                for (size_t k = 0; k < size; k++) {
                    in[k] = next_in++;
                }
                rti_recv_ring_put(&ring, in, size);
            } else {
                size_t got = rt_recv_ring_read(&ring, out, size);
                taken += got;
                for (size_t k = 1; policy == 1 && k < got; k++) {
                    /* The newest bytes are an unbroken run. */
                    CHECK_EQ(out[k], (unsigned char)(out[k - 1] + 1));
                }
            }
            rti_recv_ring_audit(&ring);
            CHECK_EQ(ring.stats.received_bytes,
                     ring.count + taken + ring.stats.dropped_bytes + ring.stats.overwritten_bytes);
        }
        CHECK(policy == 0 ? ring.stats.dropped_bytes > 0 : ring.stats.overwritten_bytes > 0);
    }
}

TEST(recv_ring_init_refuses_what_is_no_ring)
{
    rt_recv_ring ring;
    CHECK_STATUS(rt_recv_ring_init(NULL, memory, 8, RT_RECV_DROP_NEWEST), RT_ERR_INVALID);
    CHECK_STATUS(rt_recv_ring_init(&ring, NULL, 8, RT_RECV_DROP_NEWEST), RT_ERR_INVALID);
    CHECK_STATUS(rt_recv_ring_init(&ring, memory, 7, RT_RECV_DROP_NEWEST), RT_ERR_INVALID);
    CHECK_STATUS(rt_recv_ring_init(&ring, memory, 8, (rt_recv_policy)2), RT_ERR_INVALID);
}
