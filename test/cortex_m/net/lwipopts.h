/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_LWIPOPTS_H
#define TEST_LWIPOPTS_H

/* lwIP for the echo of the tests: TCP over Ethernet with fixed addresses, static pools, no threads
 * of its own, no heap but its own array. */

#define NO_SYS                    1
#define SYS_LIGHTWEIGHT_PROT      0
#define LWIP_SOCKET               0
#define LWIP_NETCONN              0
#define LWIP_IPV4                 1
#define LWIP_IPV6                 0
#define LWIP_UDP                  0
#define LWIP_RAW                  0
#define LWIP_TCP                  1
#define LWIP_STATS                0
#define TCP_LISTEN_BACKLOG        1
#define MEM_ALIGNMENT             4
#define MEM_SIZE                  (48 * 1024)
#define MEMP_NUM_TCP_PCB          12
#define MEMP_NUM_TCP_SEG          64
#define PBUF_POOL_SIZE            32
#define TCP_MSS                   1460
#define TCP_WND                   (4 * TCP_MSS)
#define TCP_SND_BUF               (4 * TCP_MSS)
#define TCP_SND_QUEUELEN          16
#define LWIP_NETIF_TX_SINGLE_PBUF 1

#endif
