# SPDX-License-Identifier: Apache-2.0
# The options of a build and the flags that follow from them.
#
# Everything compiled here links `orrery_flags`; nothing else sets a compile flag. What a flag is
# for is said where it is set.
include(CheckCCompilerFlag)

option(ORRERY_CHECKS "Build the dear assertions and audits (RT_DCHECK, RT_AUDIT)" OFF)
option(ORRERY_SHARED "Build the shared library beside the static one" ON)
option(ORRERY_WERROR "A warning is an error" ON)
option(ORRERY_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(ORRERY_EXAMPLES "Build the programs in examples/" ${PROJECT_IS_TOP_LEVEL})
option(ORRERY_TOOL "Build the command line tool orrery" ${PROJECT_IS_TOP_LEVEL})
option(ORRERY_BENCH "Build the benchmarks in bench/" ${PROJECT_IS_TOP_LEVEL})
option(ORRERY_VIRTUAL "Build the tests on virtual threads, with a library of their own" OFF)
set(ORRERY_SANITIZE "" CACHE STRING
  "Sanitizers to build everything with, such as address,undefined")

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Kind of build" FORCE)
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(orrery_flags INTERFACE)

# -fno-strict-aliasing: messages are bytes that change their type on the way.
# -ftls-model=initial-exec: the one thread-local costs one load, in the shared library too.
# -fmacro-prefix-map: no path of the building machine ends up in the library.
set(orrery_c_flags
  -Wall -Wextra -Wshadow -Wconversion
  -fvisibility=hidden -ftls-model=initial-exec -fno-strict-aliasing
  -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
if(ORRERY_WERROR)
  list(APPEND orrery_c_flags -Werror)
endif()

# A frame larger than a page would step over the guard page of a stack without touching it. The
# flag makes it touch every page. Users of the library get it too (cmake/install.cmake).
set(CMAKE_REQUIRED_FLAGS -Werror)
check_c_compiler_flag(-fstack-clash-protection ORRERY_HAS_STACK_CLASH_PROTECTION)
unset(CMAKE_REQUIRED_FLAGS)
if(ORRERY_HAS_STACK_CLASH_PROTECTION)
  list(APPEND orrery_c_flags -fstack-clash-protection)
endif()

target_compile_options(orrery_flags INTERFACE "$<$<COMPILE_LANGUAGE:C>:${orrery_c_flags}>")
target_compile_definitions(orrery_flags INTERFACE RT_CHECKS=$<BOOL:${ORRERY_CHECKS}>)

if(ORRERY_SANITIZE)
  set(orrery_sanitize_flags
    -fsanitize=${ORRERY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(orrery_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:C>:${orrery_sanitize_flags}>")
  target_link_options(orrery_flags INTERFACE -fsanitize=${ORRERY_SANITIZE})
endif()

# Editors find the flags of every file at the root of the tree: those of the plain build, or of the
# first one there is. Only a build inside build/ makes the link, so that no link outlives its build.
if(PROJECT_IS_TOP_LEVEL AND ORRERY_TESTS)
  set(orrery_commands ${PROJECT_SOURCE_DIR}/compile_commands.json)
  file(RELATIVE_PATH orrery_build ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  if(orrery_build STREQUAL "build/plain" OR
      (orrery_build MATCHES "^build/" AND NOT EXISTS ${orrery_commands}))
    file(CREATE_LINK ${orrery_build}/compile_commands.json ${orrery_commands} SYMBOLIC)
  endif()
endif()
