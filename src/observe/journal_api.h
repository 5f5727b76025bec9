/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_JOURNAL_API_H
#define RTI_JOURNAL_API_H

/* The journal behind an rt_journal: base/journal.h and a word that tells it from other memory. */

#include "base/journal.h"

#define RTI_JOURNAL_API_MAGIC UINT64_C(0x6a6f75726e616c4f)

struct rti_journal_storage {
    uint64_t magic; /* RTI_JOURNAL_API_MAGIC from rt_journal_init on */
    struct rti_journal journal;
};

_Static_assert(sizeof(struct rti_journal_storage) <= sizeof(rt_journal), "rt_journal is too small");

/* The journal in the storage; NULL if it is none. */
static inline struct rti_journal *rti_journal_of(const rt_journal *given)
{
    struct rti_journal_storage *storage = (struct rti_journal_storage *)(uintptr_t)given;
    bool is_one = storage != NULL && storage->magic == RTI_JOURNAL_API_MAGIC;
    return is_one ? &storage->journal : NULL;
}

#endif
