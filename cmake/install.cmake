# SPDX-License-Identifier: Apache-2.0
# What an installation holds: headers, both libraries, the pkg-config file, the CMake package.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(ORRERY_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/orrery)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/orrery
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT orrery FILES_MATCHING PATTERN "*.h")
install(TARGETS ${ORRERY_LIBRARIES} EXPORT orreryTargets COMPONENT orrery
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})

install(EXPORT orreryTargets NAMESPACE orrery:: DESTINATION ${ORRERY_PACKAGE_DIR} COMPONENT orrery)
configure_package_config_file(cmake/orreryConfig.cmake.in
  ${PROJECT_BINARY_DIR}/orreryConfig.cmake INSTALL_DESTINATION ${ORRERY_PACKAGE_DIR}
  NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may break its users, so only the same one fits.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/orreryConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/orreryConfig.cmake ${PROJECT_BINARY_DIR}/orreryConfigVersion.cmake
  DESTINATION ${ORRERY_PACKAGE_DIR} COMPONENT orrery)

# The prefix in orrery.pc is found from where the file lies, so the installed tree can be moved.
file(RELATIVE_PATH ORRERY_PC_PREFIX
  /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" ORRERY_PC_PREFIX "${ORRERY_PC_PREFIX}")
set(ORRERY_PC_CFLAGS "")
if(ORRERY_HAS_STACK_CLASH_PROTECTION)
  set(ORRERY_PC_CFLAGS " -fstack-clash-protection")
endif()
configure_file(cmake/orrery.pc.in ${PROJECT_BINARY_DIR}/orrery.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/orrery.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT orrery)

# gdb loads the extension by itself when it sees the library, from its own folder or from one that
# the user trusts; the name is that of the file that the links lead to.
if(ORRERY_SHARED)
  # The folder repeats the whole path of the library, which is known when it is installed.
  set(ORRERY_AUTO_LOAD ${CMAKE_INSTALL_DATADIR}/gdb/auto-load)
  set(ORRERY_PREFIX "\${CMAKE_INSTALL_PREFIX}")
  install(CODE "file(INSTALL \"${PROJECT_SOURCE_DIR}/tools/gdb/orrery-gdb.py\" DESTINATION
      \"${ORRERY_PREFIX}/${ORRERY_AUTO_LOAD}${ORRERY_PREFIX}/${CMAKE_INSTALL_LIBDIR}\"
      RENAME liborrery.so.${PROJECT_VERSION}-gdb.py)" COMPONENT orrery)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/tools/gdb/orrery_gdb
  DESTINATION ${CMAKE_INSTALL_DATADIR}/orrery/gdb COMPONENT orrery FILES_MATCHING PATTERN "*.py")
install(FILES ${PROJECT_SOURCE_DIR}/tools/gdb/orrery-gdb.py
  DESTINATION ${CMAKE_INSTALL_DATADIR}/orrery/gdb COMPONENT orrery)
