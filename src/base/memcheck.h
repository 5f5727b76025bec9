/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_MEMCHECK_H
#define RTI_MEMCHECK_H

/* What valgrind is told: where stacks are and which memory has a value. Its requests are a few
 * instructions that do nothing without it. Where its header is missing, or NVALGRIND is defined,
 * nothing is told. */

#if !defined(NVALGRIND) && defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define RTI_MEMCHECK 1
#endif
#endif

#if !defined(RTI_MEMCHECK)
#define RTI_MEMCHECK 0
#endif

/* Says that a variable has a value: it was read where memcheck expects none. */
#if RTI_MEMCHECK
#define RTI_MEMCHECK_DEFINED(variable)                                                             \
    ((void)VALGRIND_MAKE_MEM_DEFINED(&(variable), sizeof(variable)))
#else
#define RTI_MEMCHECK_DEFINED(variable) ((void)(variable))
#endif

#endif
