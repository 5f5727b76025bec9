/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_LWIP_ARCH_CC_H
#define RTI_LWIP_ARCH_CC_H

/* What lwIP asks of its platform, beyond what it guesses right by itself: no stdio, its assertions
 * are ours, and nothing to protect, because one thread of execution calls it. */

#include "base/assert.h"

#define LWIP_NO_STDINT_H          0
#define LWIP_PLATFORM_DIAG(words) ((void)0)
#define LWIP_PLATFORM_ASSERT(text)                                                                 \
    do {                                                                                           \
        (rti_panic)("lwip", __LINE__, text);                                                       \
    } while (0)

#endif
