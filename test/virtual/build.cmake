# SPDX-License-Identifier: Apache-2.0
# The tests on virtual threads (src/port/virtual/): the library once more, with a point before each
# access to a shared word, rings of 8 so that they overflow, and the virtual port and host in the
# place of the system's.
if(ORRERY_VIRTUAL)
  set(virtual_sources ${ORRERY_SOURCES})
  list(FILTER virtual_sources EXCLUDE REGEX "/runtime/linux/host\\.c$")
  file(GLOB virtual_port CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/src/port/virtual/*.c ${PROJECT_SOURCE_DIR}/src/runtime/virtual/*.c)
  file(GLOB virtual_support CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/virtual/*.c)
  list(FILTER virtual_support EXCLUDE REGEX "_test\\.c$")

  add_library(orrery_virtual STATIC ${virtual_sources} ${virtual_port})
  target_compile_definitions(orrery_virtual PRIVATE RTI_LIBRARY)
  target_compile_definitions(orrery_virtual PUBLIC RTI_VIRTUAL=1 RTI_RING_CAPACITY=8
    RTI_WATCH_LOOKS_MAX=4 RTI_WATCH_CALM_MAX=1 RTI_WATCH_PAUSES=8
    # In three worlds of four all turns are short, and every other look of the warden is a trial.
    RTI_WIDTH_SHORT_NS=rti_virtual_short_ns RTI_WIDTH_LONG_NS=1000000000 RTI_WIDTH_WINDOW_NS=20000
    RTI_WIDTH_SETTLE_NS=20000 RTI_WIDTH_PAUSE_MIN_NS=20000 RTI_WIDTH_PAUSE_MAX_NS=80000
    RTI_WIDTH_CARE_NS=100000)
  target_include_directories(orrery_virtual
    PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(orrery_virtual PRIVATE orrery_flags PUBLIC Threads::Threads)

  # What chooses and what looks is no part of any thread: the sanitizer does not see it.
  if(ORRERY_SANITIZE)
    file(GLOB virtual_unseen CONFIGURE_DEPENDS
      ${PROJECT_SOURCE_DIR}/src/port/virtual/*.c ${PROJECT_SOURCE_DIR}/test/virtual/witness.c)
    set_source_files_properties(${virtual_unseen} PROPERTIES
      COMPILE_OPTIONS -fno-sanitize=all COMPILE_DEFINITIONS RTI_TSAN=1)
  endif()

  file(GLOB virtual_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/virtual/*_test.c)
  foreach(source ${virtual_tests})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source} ${virtual_support})
    target_link_libraries(${name} PRIVATE orrery_flags orrery_test_support orrery_virtual)
    set_target_properties(${name} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test POSITION_INDEPENDENT_CODE ON)
  endforeach()
endif()
