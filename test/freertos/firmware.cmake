# SPDX-License-Identifier: Apache-2.0
# The port to FreeRTOS (docs/ports/freertos.md). It is compiled always, against declarations of what
# it uses; with -DFREERTOS_KERNEL_PATH=DIR also against that kernel, with the program that tries it.
# Nothing of a kernel is in this tree.

set(FREERTOS_KERNEL_PATH "" CACHE PATH "Sources of a FreeRTOS kernel, V11 or later")

set(ORRERY_FREERTOS_SOURCES ${ORRERY_CORTEX_M_SOURCES})
list(FILTER ORRERY_FREERTOS_SOURCES EXCLUDE REGEX
  "/cortex_m/(port_cortex_m|port_device|systick|host|sizes)\\.c")
file(GLOB ORRERY_FREERTOS_OWN CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/port/freertos/*.c ${PROJECT_SOURCE_DIR}/src/runtime/freertos/*.c)

add_library(freertos_declared OBJECT ${ORRERY_FREERTOS_OWN})
target_include_directories(freertos_declared PRIVATE ${PROJECT_SOURCE_DIR}/include
  ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/test/freertos/include)
target_compile_options(freertos_declared PRIVATE
  ${ORRERY_m3_CPU} ${ORRERY_CORTEX_M_FLAGS} ${ORRERY_CORTEX_M_WARNINGS})

if(FREERTOS_KERNEL_PATH)
  set(ORRERY_m3_FREERTOS ARM_CM3)
  set(ORRERY_m4f_FREERTOS ARM_CM4F)
  set(ORRERY_m7_FREERTOS ARM_CM7/r0p1)
  foreach(board m3 m4f m7)
    set(kernel_port ${FREERTOS_KERNEL_PATH}/portable/GCC/${ORRERY_${board}_FREERTOS})
    add_library(freertos_${board} STATIC
      ${FREERTOS_KERNEL_PATH}/tasks.c ${FREERTOS_KERNEL_PATH}/queue.c
      ${FREERTOS_KERNEL_PATH}/list.c ${kernel_port}/port.c)
    target_include_directories(freertos_${board} SYSTEM PUBLIC
      ${FREERTOS_KERNEL_PATH}/include ${kernel_port})
    target_include_directories(freertos_${board} PUBLIC ${PROJECT_SOURCE_DIR}/test/freertos/by_hand)
    target_compile_options(freertos_${board} PUBLIC ${ORRERY_${board}_CPU} -mthumb -Os -g
      -ffunction-sections -fdata-sections)
    add_library(orrery_freertos_${board} STATIC ${ORRERY_FREERTOS_SOURCES} ${ORRERY_FREERTOS_OWN})
    target_include_directories(orrery_freertos_${board} PUBLIC
      ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(orrery_freertos_${board} PUBLIC freertos_${board})
    target_compile_options(orrery_freertos_${board} PUBLIC
      $<$<COMPILE_LANGUAGE:C>:${ORRERY_CORTEX_M_FLAGS}>)
    target_compile_definitions(orrery_freertos_${board} PUBLIC RT_MAX_ACTORS=8
      RT_STACK_ARENA_SIZE=32768 RT_DEFAULT_STACK_SIZE=2048)
    orrery_add_firmware(${board}_freertos_try ${board} orrery_freertos_${board}
      ${PROJECT_SOURCE_DIR}/test/freertos/by_hand/freertos_try.c
      ${PROJECT_SOURCE_DIR}/test/support/flat_files.c)
    target_include_directories(${board}_freertos_try PRIVATE ${PROJECT_SOURCE_DIR}/test)
    target_link_options(${board}_freertos_try PRIVATE --specs=nano.specs
      -Wl,-u,rti_part_io -Wl,-u,rti_storage_file)
    set_target_properties(${board}_freertos_try PROPERTIES
      OUTPUT_NAME freertos_try SUFFIX .elf EXCLUDE_FROM_ALL ON)
  endforeach()

  # The echo of test/cortex_m/net, with the runtime as a task and lwIP in the task of the network.
  if(TARGET lwip_m3)
    add_library(orrery_freertos_lwip STATIC ${ORRERY_LWIP_OWN})
    target_link_libraries(orrery_freertos_lwip PUBLIC orrery_freertos_m3 lwip_m3)
    orrery_add_firmware(m3_freertos_echo m3 orrery_freertos_lwip
      ${PROJECT_SOURCE_DIR}/test/cortex_m/net/echo_board.c
      ${PROJECT_SOURCE_DIR}/test/freertos/by_hand/echo_main.c)
    target_compile_definitions(m3_freertos_echo PRIVATE main=echo_main)
    set_source_files_properties(${PROJECT_SOURCE_DIR}/test/freertos/by_hand/echo_main.c PROPERTIES
      COMPILE_OPTIONS -Umain)
    target_link_options(m3_freertos_echo PRIVATE --specs=nano.specs -Wl,-u,rti_part_io
      -Wl,-u,rti_board_network_open -Wl,-u,rti_port_freertos_attach
      -Wl,-u,rti_port_freertos_detach)
    set_target_properties(m3_freertos_echo PROPERTIES
      OUTPUT_NAME freertos_echo SUFFIX .elf EXCLUDE_FROM_ALL ON)
  endif()
endif()
