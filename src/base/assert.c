/* SPDX-License-Identifier: Apache-2.0 */
#include "base/assert.h"

#include "port/port.h"

_Noreturn void(rti_panic)(const char *module, int id, const char *sentence)
{
    rti_port_panic_write(module, id, sentence);
    rti_port_abort();
}
