# SPDX-License-Identifier: Apache-2.0
# The library as a small product has it, and the program that measures its core (`make size`): -Os,
# no checks, numbered assertions, four actors.

set(ORRERY_PRODUCT_LIMITS
  RT_MAX_ACTORS=4 RT_STACK_ARENA_SIZE=8192 RT_DEFAULT_STACK_SIZE=1024
  RT_MAILBOX_ENTRY_POOL_SIZE=16 RT_MESSAGE_DATA_POOL_SIZE=16 RT_SYNC_BUFFER_POOL_SIZE=4
  RT_MAX_MESSAGE_SIZE=32 RT_LINK_ENTRY_POOL_SIZE=8 RT_MONITOR_ENTRY_POOL_SIZE=4
  RT_TIMER_ENTRY_POOL_SIZE=4 RT_NAME_POOL_SIZE=4 RT_WHEEL_DIGIT_BITS=0)

orrery_add_cortex_m_library(orrery_product m3 RT_ASSERT_NUMBERED ${ORRERY_PRODUCT_LIMITS})
orrery_add_firmware(core_bench m3 orrery_product bench/cortex_m/core_bench.c)
target_compile_options(core_bench PRIVATE ${ORRERY_CORTEX_M_WARNINGS})
target_link_options(core_bench PRIVATE -Wl,-Map=${PROJECT_BINARY_DIR}/m3/core_bench.map)
set_target_properties(core_bench PROPERTIES SUFFIX .elf)
