# SPDX-License-Identifier: Apache-2.0
# Flags, the library, the tests. A source file is found by where it lies; nothing lists files.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

option(ORRERY_CHECKS "Build the dear assertions and audits (RT_DCHECK, RT_AUDIT)" OFF)
option(ORRERY_TESTS "Build the tests" ON)

find_package(Threads REQUIRED)

add_library(orrery_flags INTERFACE)
target_compile_options(orrery_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Werror
  -fvisibility=hidden -fstack-clash-protection -ftls-model=initial-exec -fno-strict-aliasing)
target_compile_definitions(orrery_flags INTERFACE RT_CHECKS=$<BOOL:${ORRERY_CHECKS}>)

file(GLOB ORRERY_SOURCES CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/src/*/*.c ${CMAKE_SOURCE_DIR}/src/port/linux/*.c ${CMAKE_SOURCE_DIR}/src/port/sim/*.c)

add_library(orrery STATIC ${ORRERY_SOURCES})
target_include_directories(orrery PUBLIC ${CMAKE_SOURCE_DIR}/include PRIVATE ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(orrery PRIVATE orrery_flags PUBLIC Threads::Threads)

if(ORRERY_TESTS)
  file(GLOB ORRERY_TEST_SOURCES CONFIGURE_DEPENDS
    ${CMAKE_SOURCE_DIR}/test/unit/*_test.c ${CMAKE_SOURCE_DIR}/test/sim/*_test.c
    ${CMAKE_SOURCE_DIR}/test/conform/*_test.c ${CMAKE_SOURCE_DIR}/test/death/*_test.c
    ${CMAKE_SOURCE_DIR}/test/fault/*_test.c)
  add_library(orrery_test_support STATIC ${CMAKE_SOURCE_DIR}/test/support/test.c)
  target_link_libraries(orrery_test_support PRIVATE orrery_flags)
  target_include_directories(orrery_test_support PUBLIC ${CMAKE_SOURCE_DIR}/test)
  foreach(source ${ORRERY_TEST_SOURCES})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(${name} PRIVATE orrery orrery_flags orrery_test_support)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
  endforeach()
endif()
