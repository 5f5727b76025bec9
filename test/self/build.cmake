# SPDX-License-Identifier: Apache-2.0
# The broken cases are built as test binaries but kept away from them: only the tests of the runner
# start them.
orrery_add_program(${PROJECT_SOURCE_DIR}/test/self/broken_cases.c self orrery_test_support)
