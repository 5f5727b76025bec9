# SPDX-License-Identifier: Apache-2.0
# The programs of the tree: tests, examples, benchmarks. One file is one program; a folder under
# test/ that needs more than that says so in its own build.cmake, which is included from here.

# Adds the program that `source` is to the folder `folder` of the build and links it with `ARGN`.
function(orrery_add_program source folder)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE orrery_flags ${ARGN} orrery_static)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${folder} POSITION_INDEPENDENT_CODE ON)
  set(ORRERY_PROGRAM ${name} PARENT_SCOPE)
endfunction()

if(ORRERY_TESTS)
  file(GLOB ORRERY_TEST_SUPPORT CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/support/*.c)
  add_library(orrery_test_support STATIC ${ORRERY_TEST_SUPPORT})
  set_target_properties(orrery_test_support PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(orrery_test_support
    PUBLIC ${PROJECT_SOURCE_DIR}/test ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(orrery_test_support PRIVATE orrery_flags)

  file(GLOB ORRERY_TEST_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/*/*_test.c)
  # Those have a library of their own: test/virtual/build.cmake.
  list(FILTER ORRERY_TEST_SOURCES EXCLUDE REGEX "/test/virtual/")
  foreach(source ${ORRERY_TEST_SOURCES})
    orrery_add_program(${source} test orrery_test_support)
  endforeach()

  file(GLOB ORRERY_TEST_BUILDS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/*/build.cmake)
  foreach(build ${ORRERY_TEST_BUILDS})
    include(${build})
  endforeach()
endif()

if(ORRERY_EXAMPLES)
  add_custom_target(examples)
  file(GLOB ORRERY_EXAMPLE_SOURCES CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/examples/*.c ${PROJECT_SOURCE_DIR}/docs/tutorial/*.c)
  foreach(source ${ORRERY_EXAMPLE_SOURCES})
    orrery_add_program(${source} examples)
    add_dependencies(examples ${ORRERY_PROGRAM})
  endforeach()
  # docs/tools.md has it looked at right after `make`, with lines.
  add_dependencies(libraries deadlock)
  target_compile_options(deadlock PRIVATE -g)

  # A program of several files is a folder; the file named after the folder has its main. One that
  # needs more than that has its own build.cmake.
  file(GLOB ORRERY_EXAMPLE_FOLDERS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*/)
  foreach(folder ${ORRERY_EXAMPLE_FOLDERS})
    get_filename_component(name ${folder} NAME)
    if(EXISTS ${folder}/build.cmake)
      include(${folder}/build.cmake)
    elseif(EXISTS ${folder}/${name}.c)
      file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.c)
      list(REMOVE_ITEM sources ${folder}/${name}.c)
      orrery_add_program(${folder}/${name}.c examples)
      target_sources(${name} PRIVATE ${sources})
      add_dependencies(examples ${name})
    endif()
  endforeach()
endif()

if(ORRERY_BENCH)
  add_custom_target(benches)
  file(GLOB ORRERY_BENCH_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*_bench.c)
  foreach(source ${ORRERY_BENCH_SOURCES})
    orrery_add_program(${source} bench)
    target_include_directories(${ORRERY_PROGRAM}
      PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/bench)
    add_dependencies(benches ${ORRERY_PROGRAM})
  endforeach()
  include(${PROJECT_SOURCE_DIR}/bench/build.cmake)
endif()
