# SPDX-License-Identifier: Apache-2.0
# The library as a small product has it, and the program that measures its core (`make size`): -Os,
# assertions of one instruction, four actors, nothing but scheduler, messages, timers and links.

set(ORRERY_PRODUCT
  RT_MAX_ACTORS=4 RT_MAX_TASKS=1 RT_STACK_SLOTS=1 RT_DEFAULT_STACK_SIZE=1024
  RT_MAILBOX_ENTRY_POOL_SIZE=16 RT_MESSAGE_DATA_POOL_SIZE=16 RT_SYNC_BUFFER_POOL_SIZE=4
  RT_MAX_MESSAGE_SIZE=32 RT_LINK_ENTRY_POOL_SIZE=6 RT_TIMER_ENTRY_POOL_SIZE=4
  RT_NAME_LENGTH_MAX=0 RT_WHEEL_DIGIT_BITS=0
  RT_ASSERT_TRAP RT_SENTENCES=0 RT_STATUS_MSG=0 RT_TRACE=0 RT_KEEP_ERRNO=0 RT_GUARD_WORDS=0
  RT_SWITCH_MARK=0 RT_HAS_BUS=0 RT_HAS_CALLS=0 RT_HAS_NAMES=0
  RT_HAS_TASKS=0 RT_HAS_MONITORS=0 RT_POOL_COUNTS=0)

orrery_add_cortex_m_library(orrery_product m3 ${ORRERY_PRODUCT})
orrery_add_firmware(core_bench m3 orrery_product bench/cortex_m/core_bench.c)
target_compile_options(core_bench PRIVATE ${ORRERY_CORTEX_M_WARNINGS})
target_link_options(core_bench PRIVATE --specs=nano.specs -Wl,-u,rti_ram_total
  -Wl,-Map=${PROJECT_BINARY_DIR}/m3/core_bench.map)
set_target_properties(core_bench PROPERTIES SUFFIX .elf)
