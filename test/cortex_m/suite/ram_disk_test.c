/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "ram_disk_test"
#include "port/storage/ram_disk.h"

#include "support/test.h"

static uint8_t memory[4 * 32];
static struct rti_ram_disk disk;

TEST(ram_disk_keeps_its_blocks_apart)
{
    struct rti_block_device *device = &disk.device;
    uint8_t seen[32];
    rti_ram_disk_init(&disk, memory, 32, 4);
    CHECK(device->program(device, 0, 31, "a", 1));
    CHECK(device->program(device, 1, 0, "bc", 2));
    CHECK(device->read(device, 0, 31, seen, 1) && seen[0] == 'a');
    CHECK(device->read(device, 1, 0, seen, 32) && seen[1] == 'c' && seen[2] == 0xFF);
    CHECK(device->erase(device, 1));
    CHECK(device->read(device, 1, 0, seen, 32) && seen[0] == 0xFF && seen[1] == 0xFF);
    CHECK(device->read(device, 0, 31, seen, 1) && seen[0] == 'a');
    CHECK(device->program(device, 1, 0, "bc", 2));
    CHECK_EQ(disk.erases, 1);
    CHECK(device->sync(device));
}

static void program_twice(void *arg)
{
    (void)arg;
    rti_ram_disk_init(&disk, memory, 32, 4);
    (void)disk.device.program(&disk.device, 2, 5, "a", 1);
    (void)disk.device.program(&disk.device, 2, 4, "bc", 2);
}

static void read_beyond(void *arg)
{
    uint8_t seen[2];
    (void)arg;
    rti_ram_disk_init(&disk, memory, 32, 4);
    (void)disk.device.read(&disk.device, 0, 31, seen, 2);
}

TEST(ram_disk_forgives_no_byte_programmed_twice_and_no_access_beyond_a_block)
{
    CHECK_PANICS("ram_disk", program_twice, NULL);
    CHECK_PANICS("ram_disk", read_beyond, NULL);
}
