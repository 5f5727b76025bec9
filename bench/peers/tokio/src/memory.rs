// SPDX-License-Identifier: Apache-2.0
// What a parked task takes.

use crate::report;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use tokio::sync::mpsc;

fn resident_bytes() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("/proc/self/statm");
    text.split(' ').nth(1).unwrap().parse::<f64>().unwrap() * 4096.0
}

/// Waits until somebody wakes it: the least that can be waited for, a waker in a table.
struct Pause {
    wakers: Arc<Mutex<Vec<Waker>>>,
}

impl Future for Pause {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.wakers.lock().unwrap().push(cx.waker().clone());
        Poll::Pending
    }
}

/// Tasks that pause.
pub async fn poll(count: usize) {
    let before = resident_bytes();
    let wakers = Arc::new(Mutex::new(Vec::with_capacity(count)));
    for _ in 0..count {
        tokio::spawn(Pause { wakers: wakers.clone() });
    }
    tokio::task::yield_now().await;
    report("idle_memory_poll", "bytes", (resident_bytes() - before) / count as f64);
}

/// Tasks that wait for mail; who would send holds the other end.
pub async fn actor(count: usize) {
    let mut boxes = Vec::with_capacity(count);
    let before = resident_bytes();
    for _ in 0..count {
        let (tx, mut rx) = mpsc::unbounded_channel::<u64>();
        boxes.push(tx);
        tokio::spawn(async move { while rx.recv().await.is_some() {} });
    }
    tokio::task::yield_now().await;
    report("idle_memory_actor", "bytes", (resident_bytes() - before) / count as f64);
}
