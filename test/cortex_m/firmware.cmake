# SPDX-License-Identifier: Apache-2.0
# The test programs of the firmware build (cmake/cortex_m.cmake): the portable sources of test/,
# and those of this folder, for each board.

file(GLOB ORRERY_CORTEX_M_TESTS CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/test/unit/*_test.c
  ${PROJECT_SOURCE_DIR}/test/conform/*_test.c
  ${PROJECT_SOURCE_DIR}/test/sim/*_test.c
  ${PROJECT_SOURCE_DIR}/test/cortex_m/suite/*_test.c)

# The test files of Linux that need neither processes, threads, descriptors nor files; a case in
# them that does is skipped here.
set(ORRERY_CORTEX_M_PORTABLE
  actor actor_core actor_cycle actor_death actor_examples actor_ipc actor_life actor_limits
  actor_sched actor_sim actor_sync actor_timer actor_types actors arena bitmap budget bus
  bus_conform bus_entries bus_examples bus_rules call channel channel_fixtures channel_io
  channel_rules channel_sim channel_wait channels chooser context cx deadline death fiber ghost
  handle hash histogram ipc ipc_pools isr journal kernel_fixtures kernel_rules key_chooser link
  list loop_runnable machine_channel machine_close machine_conform machine_errors machine_http
  machine_loop machine_op machine_ring machine_sim machine_tree mailbox monitor mpsc op outcome
  parking permit pool port_sim processor region region_timer registry ring rng sched_storm
  scheduler sim spsc stack status supervisor supervisor_calls supervisor_table timer_heap wait
  wheel wheel_conform child behaviour behaviour_send blob cell group pressure private_heap)

file(GLOB ORRERY_CORTEX_M_HARNESS CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/test/cortex_m/harness/*.c)
set(ORRERY_CORTEX_M_SUPPORT ${ORRERY_CORTEX_M_HARNESS})
file(GLOB ORRERY_CORTEX_M_SHARED CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/support/*.c)
list(FILTER ORRERY_CORTEX_M_SHARED EXCLUDE REGEX
  "/(test|actors_capture|io_world|heap_watch[^/]*)\\.c$")
list(APPEND ORRERY_CORTEX_M_SUPPORT ${ORRERY_CORTEX_M_SHARED})

# The M3 runs them all. The switch, the guard and the floating-point unit make the others different,
# so they run what depends on these, and one suite of each kind.
set(ORRERY_CORTEX_M_CORE context fiber scheduler sim actor ipc call actor_timer actor_sched
  actor_death channel_io channel_fixtures bus wheel wheel_conform wheel_heap spsc mpsc actor_core
  isr loop_runnable machine_conform machine_op channel supervisor supervisor_calls supervisor_table)

foreach(board ${ORRERY_CORTEX_M_BOARDS})
  # The M3 has behaviours. The M7 has the small wheel, the M33 none.
  set(own_m3 RT_HAS_BEHAVIOURS=1)
  set(own_m7 RT_WHEEL_DIGIT_BITS=4)
  set(own_m33 RT_WHEEL_DIGIT_BITS=0)
  orrery_add_cortex_m_library(orrery_${board} ${board}
    RT_CHECKS=1 RT_ASSERT_NUMBERED ${own_${board}})
  add_library(support_${board} STATIC ${ORRERY_CORTEX_M_SUPPORT})
  # posix: the threads that some cases want, and skip without. What follows is newlib's: 32-bit
  # integers are long there, and the formats of 64-bit ones hide behind a name of its own.
  target_include_directories(support_${board} BEFORE PUBLIC
    ${PROJECT_SOURCE_DIR}/test ${PROJECT_SOURCE_DIR}/test/cortex_m/posix)
  target_compile_options(support_${board} PUBLIC
    -Wall -Wextra -Wshadow -Werror -Wno-format)
  target_compile_definitions(support_${board} PUBLIC __int64_t_defined=1)
  target_link_libraries(support_${board} PUBLIC orrery_${board})
  foreach(source ${ORRERY_CORTEX_M_TESTS})
    get_filename_component(name ${source} NAME_WE)
    string(REGEX REPLACE "_test$" "" noun ${name})
    if(board STREQUAL "m33" AND noun STREQUAL "wheel_conform")
      continue() # It looks at the slots.
    endif()
    if(source MATCHES "/suite/" OR noun IN_LIST ORRERY_CORTEX_M_CORE OR
        (board STREQUAL "m3" AND noun IN_LIST ORRERY_CORTEX_M_PORTABLE))
      orrery_add_firmware(${board}_${name} ${board} support_${board} ${source})
      target_link_options(${board}_${name} PRIVATE
        -Wl,--defsym=rti_test_snapshot=${ORRERY_${board}_SPARE}
        -Wl,--defsym=rti_main_stack_size=0x10000 -Wl,--defsym=rti_handler_stack_size=0x1000
        -Wl,-u,main)
      # Those that have the clock for themselves are without a runtime.
      if(NOT noun MATCHES "^(systick|port_cortex_m|storage|ram_disk)$")
        target_link_options(${board}_${name} PRIVATE
          -Wl,-u,rti_part_bus -Wl,-u,rti_part_channel
          -Wl,-u,rti_part_behaviour -Wl,-u,rti_part_supervisor)
      endif()
      set_target_properties(${board}_${name} PROPERTIES OUTPUT_NAME ${name} SUFFIX .elf)
    endif()
  endforeach()
endforeach()

# The program whose trace hash must be the same here as on Linux (board_hash_test.sh).
foreach(board ${ORRERY_CORTEX_M_BOARDS})
  add_library(trace_hash_${board} OBJECT ${PROJECT_SOURCE_DIR}/test/sim/program/trace_hash.c)
  target_compile_definitions(trace_hash_${board} PRIVATE main=program_main)
  target_link_libraries(trace_hash_${board} PRIVATE support_${board})
  orrery_add_firmware(${board}_trace_hash ${board} support_${board}
    ${PROJECT_SOURCE_DIR}/test/cortex_m/program/arguments_main.c
    $<TARGET_OBJECTS:trace_hash_${board}>)
  target_link_options(${board}_trace_hash PRIVATE
    -Wl,--defsym=rti_test_snapshot=${ORRERY_${board}_SPARE}
    -Wl,--defsym=rti_main_stack_size=0x10000 -Wl,--defsym=rti_handler_stack_size=0x1000)
  set_target_properties(${board}_trace_hash PROPERTIES OUTPUT_NAME trace_hash SUFFIX .elf)
endforeach()

# The flagship of the examples, which must print the same here as on Linux (flight_test.sh). It has
# the board's clock where it asks for the time of day, and neither network nor files.
file(GLOB ORRERY_FLIGHT_SOURCES CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/examples/flight_controller/*.c)
foreach(board ${ORRERY_CORTEX_M_BOARDS})
  add_library(flight_${board} OBJECT ${ORRERY_FLIGHT_SOURCES})
  target_compile_definitions(flight_${board} PRIVATE main=program_main _POSIX_TIMERS=1
    _POSIX_MONOTONIC_CLOCK=1)
  target_link_libraries(flight_${board} PRIVATE support_${board})
  orrery_add_firmware(${board}_flight ${board} support_${board}
    ${PROJECT_SOURCE_DIR}/test/cortex_m/program/arguments_main.c
    ${PROJECT_SOURCE_DIR}/test/cortex_m/program/posix_clock.c
    ${PROJECT_SOURCE_DIR}/test/cortex_m/harness/syscalls.c
    $<TARGET_OBJECTS:flight_${board}>)
  target_link_options(${board}_flight PRIVATE
    -Wl,-u,rti_part_bus -Wl,-u,rti_part_io -Wl,--defsym=rti_test_snapshot=${ORRERY_${board}_SPARE}
    -Wl,--defsym=rti_main_stack_size=0x10000 -Wl,--defsym=rti_handler_stack_size=0x1000)
  set_target_properties(${board}_flight PROPERTIES OUTPUT_NAME flight SUFFIX .elf)
endforeach()

# The UART of the board, from outside (uart_test.sh).
orrery_add_firmware(m3_uart_board m3 orrery_m3
  ${PROJECT_SOURCE_DIR}/test/cortex_m/program/uart_board.c)
target_compile_options(m3_uart_board PRIVATE ${ORRERY_CORTEX_M_WARNINGS})
target_link_options(m3_uart_board PRIVATE --specs=nano.specs)
set_target_properties(m3_uart_board PROPERTIES OUTPUT_NAME uart_board SUFFIX .elf)

# The M3 without all that a small product leaves out, with checks (small/).
set(small ${ORRERY_PRODUCT})
list(REMOVE_ITEM small RT_ASSERT_TRAP)
orrery_add_cortex_m_library(orrery_small m3 ${small} RT_CHECKS=1 RT_ASSERT_NUMBERED)
orrery_add_firmware(m3_small_product_test m3 orrery_small
  ${PROJECT_SOURCE_DIR}/test/cortex_m/small/small_product_test.c)
target_compile_options(m3_small_product_test PRIVATE ${ORRERY_CORTEX_M_WARNINGS})
target_link_options(m3_small_product_test PRIVATE --specs=nano.specs)
set_target_properties(m3_small_product_test PROPERTIES OUTPUT_NAME small_product_test SUFFIX .elf)
