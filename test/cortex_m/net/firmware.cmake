# SPDX-License-Identifier: Apache-2.0
# The network on the board: lwIP's sources, which tools/setup brings (nothing of them is in this
# tree), the device over them and the program that echoes. Without the sources there is no such
# program, and its test is skipped.

set(LWIP_PATH "${PROJECT_SOURCE_DIR}/build/lwip" CACHE PATH "Sources of lwIP, 2.1 or later")

if(EXISTS ${LWIP_PATH}/src/core/tcp.c)
  file(GLOB ORRERY_LWIP_SOURCES
    ${LWIP_PATH}/src/core/*.c ${LWIP_PATH}/src/core/ipv4/*.c ${LWIP_PATH}/src/netif/ethernet.c)
  file(GLOB ORRERY_LWIP_OWN CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/port/lwip/*.c)
  add_library(lwip_m3 STATIC ${ORRERY_LWIP_SOURCES})
  target_include_directories(lwip_m3 SYSTEM PUBLIC ${LWIP_PATH}/src/include)
  target_include_directories(lwip_m3 PUBLIC ${PROJECT_SOURCE_DIR}/src/port/lwip
    ${PROJECT_SOURCE_DIR}/test/cortex_m/net ${PROJECT_SOURCE_DIR}/src
    ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(lwip_m3 PRIVATE ${ORRERY_m3_CPU} ${ORRERY_CORTEX_M_FLAGS})
  add_library(orrery_lwip_m3 STATIC ${ORRERY_LWIP_OWN})
  target_link_libraries(orrery_lwip_m3 PUBLIC orrery_m3 lwip_m3)
  target_compile_options(orrery_lwip_m3 PRIVATE ${ORRERY_CORTEX_M_WARNINGS})
  orrery_add_firmware(m3_echo_board m3 orrery_lwip_m3
    ${PROJECT_SOURCE_DIR}/test/cortex_m/net/echo_board.c)
  target_compile_options(m3_echo_board PRIVATE ${ORRERY_CORTEX_M_WARNINGS})
  target_link_options(m3_echo_board PRIVATE --specs=nano.specs -Wl,-u,rti_part_io
    -Wl,-u,rti_board_network_open -Wl,-u,rti_port_cortex_m_attach
    -Wl,--defsym=rti_main_stack_size=0x4000
    -Wl,--defsym=rti_handler_stack_size=0x1000)
  set_target_properties(m3_echo_board PROPERTIES OUTPUT_NAME echo_board SUFFIX .elf)
endif()
