# SPDX-License-Identifier: Apache-2.0
# Firmware for the boards that the emulator knows: for each a library with checks and the test
# programs over it; for all a library as a product has it (-Os, numbered assertions).
#
# A test program is a source of test/ that needs neither processes nor descriptors; those that do
# are named below, everything else must build here.

set(ORRERY_CORTEX_M_BOARDS m3 m4f m7 m33)
set(ORRERY_m3_CPU -mcpu=cortex-m3)
set(ORRERY_m4f_CPU -mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard)
set(ORRERY_m7_CPU -mcpu=cortex-m7 -mfpu=fpv5-sp-d16 -mfloat-abi=hard)
set(ORRERY_m33_CPU -mcpu=cortex-m33 -mfpu=fpv5-sp-d16 -mfloat-abi=hard)
set(ORRERY_m3_SCRIPT mps2.ld)
set(ORRERY_m4f_SCRIPT mps2.ld)
set(ORRERY_m7_SCRIPT mps2.ld)
set(ORRERY_m33_SCRIPT mps2_an505.ld)
# Where the emulator has memory to spare for snapshots.
set(ORRERY_m3_SPARE 0x21000000)
set(ORRERY_m4f_SPARE 0x21000000)
set(ORRERY_m7_SPARE 0x60000000)
set(ORRERY_m33_SPARE 0x80000000)

# What the clock of the processor counts in a second.
set(ORRERY_m3_HZ 25000000)
set(ORRERY_m4f_HZ 25000000)
set(ORRERY_m7_HZ 25000000)
set(ORRERY_m33_HZ 20000000)

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)

set(ORRERY_CORTEX_M_WARNINGS -Wall -Wextra -Wshadow -Wconversion -Werror)
set(ORRERY_CORTEX_M_FLAGS -mthumb -Os -g
  -fno-strict-aliasing -ffunction-sections -fdata-sections
  -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)

file(GLOB ORRERY_CORTEX_M_SOURCES CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/*/*.c
  ${PROJECT_SOURCE_DIR}/src/port/sim/*.c
  ${PROJECT_SOURCE_DIR}/src/port/cortex_m/*.c
  ${PROJECT_SOURCE_DIR}/src/port/mps2/*.c
  ${PROJECT_SOURCE_DIR}/src/port/storage/*.c
  ${PROJECT_SOURCE_DIR}/src/runtime/cortex_m/*.c
  ${PROJECT_SOURCE_DIR}/src/port/arch/armv7m/*.S)
list(FILTER ORRERY_CORTEX_M_SOURCES EXCLUDE REGEX "/src/observe/report|/src/sched/worker_local\\.c")
# What only several workers need.
list(FILTER ORRERY_CORTEX_M_SOURCES EXCLUDE REGEX
  "/src/sched/(backlog|crew|crew_[a-z]*|overrun|passing|pin|preempt|station|warden|width)\\.c")

# The files that a library with this definition does without.
set(ORRERY_CORTEX_M_OPTIONS RT_HAS_TASKS=0 RT_HAS_MONITORS=0 RT_STACK_SLOTS=1)
string(CONCAT ORRERY_WITHOUT_RT_HAS_TASKS=0
  "/src/(sync|task|io|machine|observe)/|/src/sched/(trace|key_chooser)\\.c"
  "|/src/runtime/(part_(async|channel|io|signal|task)|run_main|sim|runtime_d|cortex_m/loop_port)")
set(ORRERY_WITHOUT_RT_HAS_MONITORS=0 "/src/actor/(monitor|child|supervisor)\\.c")
set(ORRERY_WITHOUT_RT_STACK_SLOTS=1 "/src/sched/stacks\\.c")

# Adds the library of one processor; the definitions follow.
function(orrery_add_cortex_m_library target board)
  set(sources ${ORRERY_CORTEX_M_SOURCES})
  foreach(option ${ORRERY_CORTEX_M_OPTIONS})
    if(option IN_LIST ARGN)
      list(FILTER sources EXCLUDE REGEX "${ORRERY_WITHOUT_${option}}")
    endif()
  endforeach()
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} PUBLIC
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(${target} PUBLIC
    ${ORRERY_${board}_CPU} $<$<COMPILE_LANGUAGE:C>:${ORRERY_CORTEX_M_FLAGS}>)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:C>:${ORRERY_CORTEX_M_WARNINGS}>)
  target_compile_definitions(${target} PUBLIC
    RT_SYSTICK_HZ=${ORRERY_${board}_HZ} ${ARGN})
endfunction()

# Adds a firmware of `board` from the sources that follow, over `library`.
function(orrery_add_firmware target board library)
  set(scripts ${PROJECT_SOURCE_DIR}/src/port/cortex_m)
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE ${library})
  target_link_options(${target} PRIVATE ${ORRERY_${board}_CPU} -mthumb -nostartfiles
    -Wl,--gc-sections -Wl,--fatal-warnings -Wl,-u,rti_vectors
    -L${scripts} -T ${ORRERY_${board}_SCRIPT})
  set_target_properties(${target} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${board}
    LINK_DEPENDS "${scripts}/sections.ld;${scripts}/${ORRERY_${board}_SCRIPT}")
endfunction()

include(bench/cortex_m/build.cmake)
include(test/cortex_m/firmware.cmake)
include(test/cortex_m/net/firmware.cmake)
include(test/freertos/firmware.cmake)
