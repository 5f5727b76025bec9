# SPDX-License-Identifier: Apache-2.0
# A thousand connections with both ends in one program are two thousand actors, and the limits of
# the library are fixed when it is compiled. So this program brings a library with limits of its
# own, and is compiled with the same definitions.
set(ORRERY_ECHO_LIMITS
  RT_MAX_ACTORS=2048
  RT_STACK_ARENA_SIZE=33554432
  RT_MAILBOX_ENTRY_POOL_SIZE=2048
  RT_MESSAGE_DATA_POOL_SIZE=2048
  RT_MONITOR_ENTRY_POOL_SIZE=1024
  RT_COMPLETION_QUEUE_SIZE=2048
  RT_MAX_DESCRIPTORS=4096)

add_library(orrery_echo OBJECT EXCLUDE_FROM_ALL ${ORRERY_SOURCES})
set_target_properties(orrery_echo PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_include_directories(orrery_echo
  PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(orrery_echo PRIVATE ${ORRERY_ECHO_LIMITS})
target_link_libraries(orrery_echo PRIVATE orrery_flags Threads::Threads)

add_executable(echo_server
  ${CMAKE_CURRENT_LIST_DIR}/echo_server.c $<TARGET_OBJECTS:orrery_echo>)
target_include_directories(echo_server PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(echo_server PRIVATE ${ORRERY_ECHO_LIMITS})
target_link_libraries(echo_server PRIVATE orrery_flags Threads::Threads)
set_target_properties(echo_server PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples POSITION_INDEPENDENT_CODE ON)
add_dependencies(examples echo_server)
