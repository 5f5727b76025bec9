/* SPDX-License-Identifier: Apache-2.0 */
#include "cortex_m/harness/snapshot.h"
#include "support/actors.h"

const char *actors_capture(void (*body)(void))
{
    snapshot_kept()->said_length = 0;
    snapshot_kept()->said[0] = '\0';
    body();
    return snapshot_kept()->said;
}
