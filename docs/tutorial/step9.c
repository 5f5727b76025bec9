/* SPDX-License-Identifier: Apache-2.0 */
/* Step 9: a crawler that is polite. It follows the links of a server that runs beside it: at most
 * three fetches at a time, and one new fetch per two milliseconds.
 *
 * A page of the server is its number and the numbers of the pages it links to.
 *
 * Tested: step9 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/rt.h>

#define PAGES       12
#define FETCHES_MAX 3
#define PERIOD      (2 * RT_NS_PER_MS)
#define FETCH_TIME  RT_NS_PER_S
#define LINK_NONE   255

static const uint8_t links[PAGES][3] = {
    {1, 2, LINK_NONE}, {3, 4, LINK_NONE}, {4, 5, 0},  {6, LINK_NONE, LINK_NONE},
    {6, 7, LINK_NONE}, {8, 2, LINK_NONE}, {9, 10, 1}, {LINK_NONE, LINK_NONE, LINK_NONE},
    {0, 1, 2},         {7, 8, LINK_NONE}, {11, 3, 0}, {10, 9, 8},
};

struct crawl {
    uint16_t port;
    rt_mutex mutex; /* over what follows */
    bool is_known[PAGES];
    int fetched;
    rt_semaphore slots; /* fetches that may run at a time */
    rt_interval beat;   /* when the next may begin */
};

/* One request: a page's number comes, its links go. */
static void *answer(void *arg)
{
    int fd = (int)(intptr_t)arg;
    uint8_t page = 0;
    size_t count = 0;
    if (!RT_FAILED(rt_net_recv(fd, &page, 1, &count, 1000)) && page < PAGES) {
        (void)rt_net_send(fd, links[page], sizeof(links[page]), &count, 1000);
    }
    (void)rt_net_close(fd);
    return NULL;
}

/* Serves until it is cancelled: then accept gives RT_ERR_CANCELLED. */
static void *server(void *arg)
{
    int listener = (int)(intptr_t)arg;
    int fd;
    while (!RT_FAILED(rt_net_accept(listener, &fd, -1))) {
        rt_task *task = rt_go(answer, (void *)(intptr_t)fd);
        if (task == NULL) {
            (void)rt_net_close(fd);
        } else {
            (void)rt_detach(task);
        }
    }
    return NULL;
}

struct fetch {
    const struct crawl *crawl;
    uint8_t page;
    uint8_t found[3];
};

static void *fetch(void *arg)
{
    struct fetch *fetch = arg;
    size_t count = 0;
    int fd;
    if (RT_FAILED(rt_net_connect("127.0.0.1", fetch->crawl->port, &fd, 1000))) {
        return NULL;
    }
    bool is_read = !RT_FAILED(rt_net_send(fd, &fetch->page, 1, &count, 1000)) &&
                   !RT_FAILED(rt_net_recv(fd, fetch->found, sizeof(fetch->found), &count, 1000));
    (void)rt_net_close(fd);
    return is_read ? fetch : NULL;
}

static struct crawl crawl;

/* True for the first who asks for a page. */
static bool claim(uint8_t page)
{
    bool is_first = false;
    if (page != LINK_NONE && !RT_FAILED(rt_mutex_lock(&crawl.mutex, NULL))) {
        is_first = !crawl.is_known[page];
        crawl.is_known[page] = true;
        (void)rt_mutex_unlock(&crawl.mutex, NULL);
    }
    return is_first;
}

static rt_status give_slot_back(void *arg)
{
    return rt_semaphore_release(arg, 1);
}

/* Fetches a page when its turn comes, and starts a task for each page that it leads to. */
static void *visit(void *arg)
{
    struct fetch one = {.crawl = &crawl, .page = (uint8_t)(uintptr_t)arg};
    if (RT_FAILED(rt_interval_recv(&crawl.beat, NULL, NULL)) ||
        RT_FAILED(rt_semaphore_acquire(&crawl.slots, 1, NULL))) {
        return NULL;
    }
    RT_ENSURE(give_slot_back, &crawl.slots); /* whichever way this function is left */
    void *found = NULL;
    if (RT_FAILED(rt_timeout(FETCH_TIME, fetch, &one, &found)) || found == NULL) {
        return NULL;
    }
    if (!RT_FAILED(rt_mutex_lock(&crawl.mutex, NULL))) {
        crawl.fetched++;
        (void)rt_mutex_unlock(&crawl.mutex, NULL);
    }
    for (size_t i = 0; i < sizeof(one.found); i++) {
        if (claim(one.found[i])) {
            (void)rt_detach(rt_go(visit, (void *)(uintptr_t)one.found[i]));
        }
    }
    return NULL;
}

static bool crawl_prepare(int *listener)
{
    return !RT_FAILED(
               rt_net_listen_ex(&(rt_net_listen_config){.address = "127.0.0.1"}, listener)) &&
           !RT_FAILED(rt_net_local_port(*listener, &crawl.port)) &&
           !RT_FAILED(rt_mutex_init(&crawl.mutex)) &&
           !RT_FAILED(rt_semaphore_init(&crawl.slots, FETCHES_MAX)) &&
           !RT_FAILED(rt_interval_open(&crawl.beat, PERIOD, RT_MISSED_DELAY));
}

static void *crawls(void *arg)
{
    int listener;
    (void)arg;
    if (!crawl_prepare(&listener)) {
        return NULL;
    }
    rt_task *serving = rt_go(server, (void *)(intptr_t)listener);
    rt_time start = rt_clock();
    (void)claim(0);
    (void)rt_using(NULL, visit, NULL, NULL); /* returns after the last visit */
    bool is_slow = rt_clock() - start >= (PAGES - 1) * PERIOD;
    (void)rt_cancel(serving, NULL);
    (void)rt_net_close(listener);
    (void)rt_interval_close(&crawl.beat);
    printf("%d of %d pages fetched, %s\n", crawl.fetched, PAGES,
           is_slow ? "one per beat" : "too fast");
    return NULL;
}

int main(void)
{
    return RT_FAILED(rt_run_main(NULL, crawls, NULL));
}
