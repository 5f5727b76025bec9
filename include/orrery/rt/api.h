/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_API_H
#define ORRERY_RT_API_H

/* The words every public header is written in: linkage, export, and the attributes that let a
 * compiler, an analyzer or a tool know what the manual text says. */

#ifdef __cplusplus
#define RT_EXTERN_C_BEGIN extern "C" {
#define RT_EXTERN_C_END   }
#define RT_NORETURN       [[noreturn]]
#else
#define RT_EXTERN_C_BEGIN
#define RT_EXTERN_C_END
#define RT_NORETURN _Noreturn
#endif

#if defined(__GNUC__) || defined(__clang__)
/* A symbol of the library's ABI; everything else is hidden. */
#define RT_API __attribute__((visibility("default")))
/* The result carries an error: dropping it is a warning. */
#define RT_MUST_CHECK __attribute__((warn_unused_result))
#else
#define RT_API
#define RT_MUST_CHECK
#endif

/* The function may suspend the caller. Tools read this mark: it is the only list there is. */
#if defined(__clang__)
#define RT_SUSPENDS __attribute__((annotate("rt_suspends")))
#else
#define RT_SUSPENDS
#endif

#endif
