# SPDX-License-Identifier: Apache-2.0
# What single benchmarks need beyond the library: the peers they compare with, where they are found.
# A benchmark runs without them as well and then prints its own figures only.

# Links `program` with the library `name` and tells it so, if library and header are there.
function(orrery_bench_peer program name header)
  string(TOUPPER ${name} upper)
  find_library(ORRERY_PEER_${upper} ${name})
  find_path(ORRERY_PEER_${upper}_INCLUDE ${header})
  mark_as_advanced(ORRERY_PEER_${upper} ORRERY_PEER_${upper}_INCLUDE)
  if(ORRERY_PEER_${upper} AND ORRERY_PEER_${upper}_INCLUDE)
    target_link_libraries(${program} PRIVATE ${ORRERY_PEER_${upper}})
    target_include_directories(${program} SYSTEM PRIVATE ${ORRERY_PEER_${upper}_INCLUDE})
    target_compile_definitions(${program} PRIVATE ORRERY_BENCH_LIB${upper}=1)
  endif()
endfunction()

orrery_bench_peer(wheel_bench ev ev.h)
orrery_bench_peer(wheel_bench uv uv.h)

# The parallel engine on virtual threads, for counts with more workers than the machine has
# processors: the library's sources once more, as the tests of test/virtual/ have them, but as they
# are released and with room for as many tasks. Built when it is asked for.
set(virtual_sources ${ORRERY_SOURCES})
list(FILTER virtual_sources EXCLUDE REGEX "/runtime/linux/host\\.c$")
file(GLOB virtual_port CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/port/virtual/*.c ${PROJECT_SOURCE_DIR}/src/runtime/virtual/*.c)
add_executable(virtual_workers EXCLUDE_FROM_ALL
  ${PROJECT_SOURCE_DIR}/bench/virtual/workers.c ${virtual_sources} ${virtual_port})
target_compile_definitions(virtual_workers PRIVATE RTI_LIBRARY RTI_VIRTUAL=1 RT_MAX_TASKS=300
  RT_MAX_CHANNELS=300 RT_MAX_CHANNEL_HANDLES=600 RT_STACK_ARENA_SIZE=16777216
  RT_CHANNEL_MEMORY_SIZE=1048576)
target_include_directories(virtual_workers
  PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(virtual_workers PRIVATE orrery_flags Threads::Threads)
set_target_properties(virtual_workers PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
