# SPDX-License-Identifier: Apache-2.0
# The library. A source file is found by where it lies; nothing lists files.
#
# Every file is compiled once, position independent, into `orrery_objects`; the static and the
# shared library are two ways to pack the same objects. Tests and benchmarks link the static one,
# because they also look at what the shared one hides.
find_package(Threads REQUIRED)

file(GLOB ORRERY_SOURCES CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/*/*.c
  ${PROJECT_SOURCE_DIR}/src/runtime/linux/*.c
  ${PROJECT_SOURCE_DIR}/src/port/linux/*.c
  ${PROJECT_SOURCE_DIR}/src/port/sim/*.c
  ${PROJECT_SOURCE_DIR}/src/port/arch/${CMAKE_SYSTEM_PROCESSOR}/*.c
  ${PROJECT_SOURCE_DIR}/src/port/arch/${CMAKE_SYSTEM_PROCESSOR}/*.S)

add_library(orrery_objects OBJECT ${ORRERY_SOURCES})
set_target_properties(orrery_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_include_directories(orrery_objects
  PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(orrery_objects PRIVATE orrery_flags Threads::Threads)
# A debugger reads tasks and what they wait for by the names of the library's own structures, so the
# library has its debug information in every kind of build (tools/gdb/). It is never loaded.
target_compile_options(orrery_objects PRIVATE $<$<COMPILE_LANGUAGE:C>:-g>)
if(NOT ORRERY_TESTS)
  # What is installed names no path of the building machine, in its debug information neither.
  # (A compiler cache may have made the paths relative to where it builds.)
  file(RELATIVE_PATH orrery_relative ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  string(REGEX REPLACE "/$" "" orrery_relative "${orrery_relative}")
  set(orrery_maps -ffile-prefix-map=${PROJECT_SOURCE_DIR}=orrery
    -ffile-prefix-map=${orrery_relative}=orrery
    -ffile-prefix-map=${PROJECT_BINARY_DIR}=orrery/build)
  target_compile_options(orrery_objects PRIVATE "$<$<COMPILE_LANGUAGE:C>:${orrery_maps}>")
endif()
# Each file enters its code into the table of the library's text: see base/text.h.
target_compile_definitions(orrery_objects PRIVATE RTI_LIBRARY)

# Gives a library made of the objects its public face.
function(orrery_add_library target kind)
  add_library(${target} ${kind} $<TARGET_OBJECTS:orrery_objects>)
  add_library(orrery::${target} ALIAS ${target})
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  target_link_libraries(${target} PUBLIC Threads::Threads)
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME orrery
    LINKER_LANGUAGE C
    ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  if(ORRERY_HAS_STACK_CLASH_PROTECTION)
    target_compile_options(${target} INTERFACE
      $<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:C>:-fstack-clash-protection>>)
  endif()
endfunction()

orrery_add_library(orrery_static STATIC)
set(ORRERY_LIBRARIES orrery_static)

if(ORRERY_SHARED)
  orrery_add_library(orrery SHARED)
  target_link_libraries(orrery PRIVATE $<BUILD_INTERFACE:orrery_flags>)
  # -z defs: a symbol that nobody defines is found here, not at the user's.
  # Sanitizers leave their runtime to the program, so theirs stay open.
  if(NOT ORRERY_SANITIZE)
    target_link_options(orrery PRIVATE -Wl,-z,defs)
  endif()
  target_link_options(orrery PRIVATE -Wl,-z,now)
  set_target_properties(orrery PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${ORRERY_ABI})
  set(ORRERY_EXPORTS ${PROJECT_SOURCE_DIR}/cmake/exports.map)
  target_link_options(orrery PRIVATE -Wl,--version-script=${ORRERY_EXPORTS})
  set_target_properties(orrery PROPERTIES LINK_DEPENDS ${ORRERY_EXPORTS})
  list(APPEND ORRERY_LIBRARIES orrery)
else()
  add_library(orrery ALIAS orrery_static)
  add_library(orrery::orrery ALIAS orrery_static)
endif()

add_custom_target(libraries DEPENDS ${ORRERY_LIBRARIES})
