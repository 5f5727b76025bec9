/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "private_heap"
#include "actor/private_heap.h"

#include "actor/blob.h"

#define HEAP_ALIGNMENT 16

static size_t heap_round_up(size_t size)
{
    return (size + HEAP_ALIGNMENT - 1) & ~(size_t)(HEAP_ALIGNMENT - 1);
}

static struct rti_heap_chunk *heap_chunk_of(struct rti_link *link)
{
    return RTI_CONTAINER_OF(link, struct rti_heap_chunk, link);
}

static struct rti_heap_chunk *heap_last(const struct rti_heap *heap)
{
    return heap_chunk_of(heap->chunks.head.prev);
}

/* Takes a chunk with room for `size` bytes; NULL if there is none. */
static struct rti_heap_chunk *heap_take_chunk(struct rti_heaps *module, size_t size)
{
    size_t whole = size + sizeof(struct rti_heap_chunk);
    if (whole < RTI_HEAP_CHUNK_SIZE) {
        whole = RTI_HEAP_CHUNK_SIZE;
    }
    rti_lock_acquire(&module->lock, module->actors->sched);
    struct rti_heap_chunk *chunk = rti_arena_alloc(&module->arena, whole);
    rti_lock_release(&module->lock);
    if (chunk != NULL) {
        rti_link_init(&chunk->link);
        chunk->used = 0;
        chunk->base = 0;
        chunk->size = (uint32_t)(whole - sizeof(*chunk));
    }
    return chunk;
}

static void heap_free_chunk(struct rti_heaps *module, struct rti_heap_chunk *chunk)
{
    rti_lock_acquire(&module->lock, module->actors->sched);
    rti_arena_free(&module->arena, chunk);
    rti_lock_release(&module->lock);
}

/* The actor has ended: everything goes. The record lies in the first chunk, which goes last. */
static void heap_died(struct rti_attachment *attachment)
{
    struct rti_heap *heap = RTI_CONTAINER_OF(attachment, struct rti_heap, attachment);
    struct rti_heaps *module = heap->module;
    struct rti_heap_chunk *chunk;
    do {
        chunk = heap_last(heap);
        bool is_first = chunk->number == 0;
        if (!is_first) {
            rti_list_remove(&chunk->link);
        }
        heap_free_chunk(module, chunk);
        if (is_first) {
            return;
        }
    } while (true);
}

/* The heap of the actor whose records these are; NULL if it has none. */
static struct rti_heap *heap_find(const struct rti_list *list)
{
    for (struct rti_link *at = rti_list_peek(list); at != NULL; at = rti_list_next(list, at)) {
        struct rti_attachment *attachment = RTI_CONTAINER_OF(at, struct rti_attachment, link);
        if (attachment->died == heap_died) {
            return RTI_CONTAINER_OF(attachment, struct rti_heap, attachment);
        }
    }
    return NULL;
}

/* Makes an empty heap for the actor; NULL if there is no room. */
static struct rti_heap *heap_make(struct rti_heaps *module, struct rti_list *list)
{
    size_t record = heap_round_up(sizeof(struct rti_heap));
    struct rti_heap_chunk *chunk = heap_take_chunk(module, record);
    if (chunk == NULL) {
        return NULL;
    }
    struct rti_heap *heap = (struct rti_heap *)(void *)chunk->bytes;
    rti_attachment_init(&heap->attachment, heap_died);
    heap->module = module;
    rti_list_init(&heap->chunks);
    heap->used = 0;
    heap->used_max = 0;
    heap->reserved = sizeof(*chunk) + chunk->size;
    heap->limit = SIZE_MAX;
    chunk->number = 0;
    chunk->used = (uint32_t)record;
    chunk->base = (uint32_t)record;
    rti_list_push_tail(&heap->chunks, &chunk->link);
    rti_list_push_tail(list, &heap->attachment.link);
    return heap;
}

/* The calling actor's list and the module; NULL if the caller is no actor. */
static RTI_ENTERING struct rti_list *heap_enter(struct rti_heaps **module)
{
    struct rti_worker *worker = rti_worker_enter();
    if (worker == NULL) {
        return NULL;
    }
    *module = worker->sched->modules[RTI_MODULE_HEAP];
    return *module == NULL ? NULL : rti_attachments_of(worker);
}

static rt_status heap_refusal(void)
{
    return (rt_status){RT_ERR_THREAD, RTI_SENTENCE("only an actor has a heap")};
}

void *rt_heap_alloc(size_t size)
{
    struct rti_heaps *module;
    struct rti_list *list = heap_enter(&module);
    if (list == NULL || size == 0 || size > RT_HEAP_MEMORY_SIZE) {
        return NULL;
    }
    struct rti_heap *heap = heap_find(list);
    heap = heap != NULL ? heap : heap_make(module, list);
    size = heap_round_up(size);
    if (heap == NULL || size > heap->limit || heap->used > heap->limit - size) {
        return NULL;
    }
    struct rti_heap_chunk *chunk = heap_last(heap);
    if (chunk->size - chunk->used < size) {
        uint32_t number = chunk->number + 1;
        chunk = heap_take_chunk(module, size);
        if (chunk == NULL) {
            return NULL;
        }
        chunk->number = number;
        heap->reserved += sizeof(*chunk) + chunk->size;
        rti_list_push_tail(&heap->chunks, &chunk->link);
    }
    void *memory = chunk->bytes + chunk->used;
    chunk->used += (uint32_t)size;
    heap->used += size;
    heap->used_max = heap->used > heap->used_max ? heap->used : heap->used_max;
    RT_AUDIT(rti_heap_audit(heap));
    return memory;
}

rt_heap_mark rt_heap_mark_get(void)
{
    struct rti_heaps *module;
    struct rti_list *list = heap_enter(&module);
    const struct rti_heap *heap = list == NULL ? NULL : heap_find(list);
    if (heap == NULL) {
        return (rt_heap_mark){.chunk = 0};
    }
    const struct rti_heap_chunk *chunk = heap_last(heap);
    return (rt_heap_mark){.chunk = chunk->number, .used = chunk->used - chunk->base};
}

/* The chunk that a mark lies in; NULL if nothing of this heap is there any more. */
static struct rti_heap_chunk *heap_marked(const struct rti_heap *heap, rt_heap_mark mark)
{
    struct rti_heap_chunk *chunk = heap_last(heap);
    while (chunk->number > mark.chunk) {
        chunk = heap_chunk_of(chunk->link.prev);
    }
    bool is_there = chunk->number == mark.chunk && mark.used <= chunk->used - chunk->base;
    return is_there ? chunk : NULL;
}

rt_status rt_heap_release(rt_heap_mark mark)
{
    struct rti_heaps *module;
    struct rti_list *list = heap_enter(&module);
    if (list == NULL) {
        return heap_refusal();
    }
    struct rti_heap *heap = heap_find(list);
    if (heap == NULL) {
        return mark.chunk == 0 && mark.used == 0
                   ? RT_SUCCESS
                   : (rt_status){RT_ERR_INVALID, RTI_SENTENCE("this is no mark of this heap")};
    }
    struct rti_heap_chunk *marked = heap_marked(heap, mark);
    if (marked == NULL) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("the heap was released behind the mark")};
    }
    struct rti_heap_chunk *chunk;
    while ((chunk = heap_last(heap)) != marked) {
        heap->used -= chunk->used;
        heap->reserved -= sizeof(*chunk) + chunk->size;
        rti_list_remove(&chunk->link);
        heap_free_chunk(module, chunk);
    }
    uint32_t used = mark.used + marked->base;
    heap->used -= marked->used - used;
    marked->used = used;
    RT_AUDIT(rti_heap_audit(heap));
    return RT_SUCCESS;
}

rt_status rt_heap_limit(size_t bytes)
{
    struct rti_heaps *module;
    struct rti_list *list = heap_enter(&module);
    if (list == NULL) {
        return heap_refusal();
    }
    struct rti_heap *heap = heap_find(list);
    heap = heap != NULL ? heap : heap_make(module, list);
    if (heap == NULL) {
        return (rt_status){RT_ERR_NOMEM, RTI_SENTENCE("no room for a heap")};
    }
    if (heap->used > bytes) {
        return (rt_status){RT_ERR_STATE, RTI_SENTENCE("more is given out already")};
    }
    heap->limit = bytes;
    return RT_SUCCESS;
}

rt_status rt_heap_stats_get(rt_heap_stats *out)
{
    struct rti_heaps *module;
    struct rti_list *list = heap_enter(&module);
    if (list == NULL) {
        return heap_refusal();
    }
    if (out == NULL) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("there is no room for the answer")};
    }
    const struct rti_heap *heap = heap_find(list);
    *out = (rt_heap_stats){.limit = SIZE_MAX};
    if (heap != NULL) {
        *out = (rt_heap_stats){.used = heap->used,
                               .reserved = heap->reserved,
                               .used_max = heap->used_max,
                               .limit = heap->limit};
    }
    return RT_SUCCESS;
}

void rti_heaps_init(struct rti_heaps *module, struct rti_actors *actors)
{
    RT_ASSERT(actors->sched->modules[RTI_MODULE_HEAP] == NULL);
    module->actors = actors;
    rti_lock_init(&module->lock, actors->sched, RTI_LOCK_CHANNEL);
    rti_arena_init(&module->arena, module->memory, sizeof(module->memory));
    actors->sched->modules[RTI_MODULE_HEAP] = module;
}

void rti_heaps_deinit(struct rti_heaps *module)
{
    rti_arena_deinit(&module->arena);
    module->actors->sched->modules[RTI_MODULE_HEAP] = NULL;
}

void rti_heap_audit(const struct rti_heap *heap)
{
    size_t used = 0;
    uint32_t number = 0;
    for (struct rti_link *at = rti_list_peek(&heap->chunks); at != NULL;
         at = rti_list_next(&heap->chunks, at)) {
        const struct rti_heap_chunk *chunk = heap_chunk_of(at);
        RT_ASSERT(chunk->number == number && chunk->used <= chunk->size);
        used += chunk->used - chunk->base;
        number++;
    }
    RT_ASSERT(used == heap->used && used <= heap->used_max);
}
