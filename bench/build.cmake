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
