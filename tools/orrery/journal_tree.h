/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_TOOL_JOURNAL_TREE_H
#define ORRERY_TOOL_JOURNAL_TREE_H

/* What a journal says about causes, as trees: which task started which, and which op was submitted
 * on behalf of which, from loop to loop. */

#include "journal_file.h"
#include "json.h"

void journal_tree_print(const struct journal_file *files, size_t file_count);
void journal_tree_json(const struct journal_file *files, size_t file_count, struct json *json);

#endif
