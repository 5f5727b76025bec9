/* SPDX-License-Identifier: Apache-2.0 */
/* The main of a program that takes arguments, on a board: they come by semihosting. The program's
 * own main is compiled as program_main. */
#include <string.h>

#include "port/cortex_m/semihost.h"

#define ARGUMENTS_MAX 8

int program_main(int argc, char **argv);

int main(void)
{
    static char text[256];
    static char name[] = "program";
    char *argv[ARGUMENTS_MAX] = {name};
    int argc = 1;
    (void)rti_semihost_arguments(text, sizeof(text));
    for (char *word = strtok(text, " "); word != NULL && argc < ARGUMENTS_MAX;
         word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    return program_main(argc, argv);
}
