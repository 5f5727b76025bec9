# SPDX-License-Identifier: Apache-2.0
# The command line tool: one program, linked statically with the library so that it runs wherever it
# is put.
file(GLOB ORRERY_TOOL_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.c)
add_executable(orrery_tool ${ORRERY_TOOL_SOURCES})
target_include_directories(orrery_tool PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(orrery_tool PRIVATE orrery_flags orrery_static)
target_compile_definitions(orrery_tool PRIVATE ORRERY_VERSION="${PROJECT_VERSION}")
set_target_properties(orrery_tool PROPERTIES OUTPUT_NAME orrery
  RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin POSITION_INDEPENDENT_CODE ON)
add_dependencies(libraries orrery_tool)
install(TARGETS orrery_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT orrery)

# `orrery lint` hands over to a program that lies beside it: here the one of the tree.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/libexec/orrery)
file(CREATE_LINK ${CMAKE_CURRENT_LIST_DIR}/lint ${PROJECT_BINARY_DIR}/libexec/orrery/lint SYMBOLIC)
install(DIRECTORY ${CMAKE_CURRENT_LIST_DIR}/lint DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/orrery
  COMPONENT orrery FILES_MATCHING PATTERN "*.py")

file(GLOB ORRERY_TOOL_PAGES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/man/*.1)
install(FILES ${ORRERY_TOOL_PAGES} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT orrery)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/completion/orrery.bash
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME orrery COMPONENT orrery)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/completion/orrery.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT orrery)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/completion/_orrery
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT orrery)
