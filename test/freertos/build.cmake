# SPDX-License-Identifier: Apache-2.0
# The test of the port to FreeRTOS: the port itself, over a kernel of threads.
file(GLOB freertos_port CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/port/freertos/*.c)
target_sources(port_freertos_test PRIVATE
  ${freertos_port} ${PROJECT_SOURCE_DIR}/test/freertos/kernel_on_threads.c)
target_include_directories(port_freertos_test PRIVATE ${PROJECT_SOURCE_DIR}/test/freertos/include)
target_link_libraries(port_freertos_test PRIVATE Threads::Threads)
