/* SPDX-License-Identifier: Apache-2.0 */
/* Prints, for each seed of a range, a hash over everything that a simulated network answered.
 *
 * Sockets are opened, connected, written to, read from and closed at random, by ops given straight
 * to the port; each answer, with its time and its bytes, goes into the hash, and so does what the
 * network itself decided. The machine that lends memory and addresses is one of paper, so that
 * nothing of the real one is in it. same_hash_test.sh compares compilers, optimization levels,
 * address layouts and machines.
 *
 * Usage: net_hash FIRST COUNT */
#define RTI_MODULE "net_hash"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/hash.h"
#include "port/sim/sim_net.h"

#define OPS     24
#define FDS_MAX 40
#define STEPS   3000
#define PORTS   4

struct errand {
    struct rti_op op;
    bool is_used;
    unsigned char bytes[300];
    struct rti_sockaddr address;
};

static struct rti_port_sim sim;
static struct rti_sim_net net;
static struct errand errands[OPS];
static int fds[FDS_MAX];
static size_t fds_count;
static uint64_t digest;

/* ---- The machine of paper. ---- */

static _Alignas(16) unsigned char lent[sizeof(struct rti_sim_hall)];

static void *paper_map(struct rti_port *port, size_t size)
{
    (void)port;
    RT_ASSERT(size <= sizeof(lent));
    memset(lent, 0, size);
    return lent;
}

static void paper_unmap(struct rti_port *port, void *memory, size_t size)
{
    (void)port;
    (void)memory;
    (void)size;
}

static void paper_encode(const rt_net_address *address, struct rti_sockaddr *to)
{
    memcpy(to->bytes, address, sizeof(*address));
    to->length = sizeof(*address);
}

static bool paper_decode(const struct rti_sockaddr *from, rt_net_address *address)
{
    memcpy(address, from->bytes, sizeof(*address));
    return from->length == sizeof(*address);
}

static const struct rti_port_ops paper_ops = {.memory_map = paper_map, .memory_unmap = paper_unmap};
static const struct rti_port_net paper_net = {.encode = paper_encode, .decode = paper_decode};
static struct rti_port paper = {.ops = &paper_ops, .net = &paper_net};

/* ---- The program. ---- */

static uint64_t draw(uint64_t n)
{
    return rti_rng_below(&sim.rng, n);
}

static void mix(uint64_t word)
{
    digest = rti_digest_mix(digest, word);
}

static void fds_add(int fd)
{
    if (fds_count == FDS_MAX) {
        mix((uint64_t)sim.port.ops->close_fd(&sim.port, fd).code);
        return;
    }
    fds[fds_count++] = fd;
}

static void answered(struct rti_op *op)
{
    struct errand *errand = RTI_CONTAINER_OF(op, struct errand, op);
    mix((uint64_t)op->status);
    mix((uint64_t)op->result);
    mix((uint64_t)op->error);
    mix(sim.now_ns);
    bool has_bytes = op->code == RTI_OP_READ || op->code == RTI_OP_RECVFROM;
    for (int64_t i = 0; has_bytes && i < op->result; i++) {
        mix(errand->bytes[i]);
    }
    if (op->code == RTI_OP_ACCEPT && op->status == RT_OK) {
        fds_add((int)op->result);
    }
    errand->is_used = false;
}

static void encode_port(struct rti_sockaddr *to)
{
    const rt_net_address address = {.ip = {127, 0, 0, 1}, .port = (uint16_t)(1 + draw(PORTS))};
    paper_encode(&address, to);
}

static void open_one(enum rti_socket_kind kind)
{
    struct rti_sockaddr address;
    int fd = -1;
    encode_port(&address);
    const struct rti_socket_config config = {
        .kind = kind, .address = &address, .backlog = (int)draw(3)};
    rt_status status = fds_count < FDS_MAX ? sim.port.net->open(&config, &fd) : RT_SUCCESS;
    mix((uint64_t)status.code);
    if (fd >= 0) {
        fds_add(fd);
    }
}

static void begin_one(struct errand *errand)
{
    static const enum rti_op_code codes[] = {RTI_OP_READ,    RTI_OP_WRITE,   RTI_OP_ACCEPT,
                                             RTI_OP_CONNECT, RTI_OP_SENDTO,  RTI_OP_RECVFROM,
                                             RTI_OP_POLL_IN, RTI_OP_POLL_OUT};
    enum rti_op_code code = codes[draw(RTI_COUNT_OF(codes))];
    rti_op_init(&errand->op, code, answered);
    errand->op.fd = fds_count > 0 ? fds[draw(fds_count)] : 0;
    errand->op.buffer = errand->bytes;
    errand->op.length = 1 + draw(sizeof(errand->bytes));
    for (size_t i = 0; i < errand->op.length; i++) {
        errand->bytes[i] = (unsigned char)draw(256);
    }
    encode_port(&errand->address);
    if (code == RTI_OP_CONNECT) {
        errand->op.buffer = errand->address.bytes;
        errand->op.length = errand->address.length;
    } else if (code == RTI_OP_SENDTO) {
        errand->op.address = errand->address.bytes;
        errand->op.address_length = errand->address.length;
    }
    errand->is_used = true;
    sim.port.ops->submit(&sim.port, &errand->op);
}

static void step(void)
{
    struct errand *errand = &errands[draw(OPS)];
    uint64_t what = draw(20);
    if (what < 3) {
        open_one((enum rti_socket_kind)what);
    } else if (what == 3 && fds_count > 0) {
        size_t index = draw(fds_count);
        mix((uint64_t)sim.port.ops->close_fd(&sim.port, fds[index]).code);
        fds[index] = fds[--fds_count];
    } else if (what == 4) {
        rti_sim_net_cut(&net, draw(4) == 0);
    } else if (what == 5 && errand->is_used) {
        sim.port.ops->cancel(&sim.port, &errand->op);
    } else if (what < 8) {
        sim.port.ops->wait(&sim.port, sim.now_ns + draw(RTI_NS_PER_MS));
    } else if (!errand->is_used) {
        begin_one(errand);
    }
}

static void run(uint64_t seed)
{
    const rt_sim_network config = {.latency_max = draw(3) * 200 * RTI_NS_PER_US,
                                   .split = 300,
                                   .reset = 10,
                                   .loss = 100,
                                   .duplicate = 100};
    rti_port_sim_init(&sim, seed, RTI_NS_PER_S, &paper);
    rti_sim_net_attach(&net, &sim, &config, seed);
    digest = rti_digest_init(0);
    fds_count = 0;
    memset(errands, 0, sizeof(errands));
    for (int i = 0; i < STEPS; i++) {
        step();
    }
    while (fds_count > 0) {
        mix((uint64_t)sim.port.ops->close_fd(&sim.port, fds[--fds_count]).code);
    }
    rti_sim_net_cut(&net, false);
    sim.port.ops->wait(&sim.port, sim.now_ns + RTI_NS_PER_S);
    mix(rti_sim_net_open_count(&net));
    mix(net.digest);
    rti_sim_net_detach(&net);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: net_hash FIRST COUNT\n");
        return 2;
    }
    uint64_t first = strtoull(argv[1], NULL, 10);
    uint64_t count = strtoull(argv[2], NULL, 10);
    rti_rng_init(&sim.rng, 0);
    for (uint64_t seed = first; seed < first + count; seed++) {
        run(seed);
        printf("%" PRIu64 "\t%016" PRIx64 "\tRT_OK\n", seed, rti_digest_final(digest));
    }
    return 0;
}
