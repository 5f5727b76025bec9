// SPDX-License-Identifier: Apache-2.0
// Tasks: switches between them, their start and end, and a tree of them.

use crate::{report, report_since};
use std::future::Future;
use std::pin::Pin;
use std::time::Instant;
use tokio::task::JoinHandle;

const BATCH: usize = 1000;

pub async fn switch(count: usize) {
    let yields = move || async move {
        for _ in 0..count {
            tokio::task::yield_now().await;
        }
    };
    let start = Instant::now();
    let both = [tokio::spawn(yields()), tokio::spawn(yields())];
    for task in both {
        task.await.unwrap();
    }
    report_since("switch", start, 2 * count);
}

pub async fn spawn_join(count: usize) {
    let mut tasks: Vec<JoinHandle<()>> = Vec::with_capacity(BATCH);
    let start = Instant::now();
    let mut done = 0;
    while done < count {
        tasks.extend((0..BATCH).map(|_| tokio::spawn(async {})));
        for task in tasks.drain(..) {
            task.await.unwrap();
        }
        done += BATCH;
    }
    report_since("spawn_join", start, done);
}

/// A node of the tree: it adds up what its ten below say; a leaf says its number.
fn node(number: u64, leaves: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(async move {
        let each = leaves / 10;
        let mut below: Vec<JoinHandle<u64>> = Vec::with_capacity(10);
        for i in 0..10 {
            let first = number + i * each;
            below.push(if each == 1 {
                tokio::spawn(async move { first })
            } else {
                tokio::spawn(node(first, each))
            });
        }
        let mut sum = 0;
        for task in below {
            sum += task.await.unwrap();
        }
        sum
    })
}

pub async fn skynet(leaves: usize) {
    let leaves = leaves as u64;
    let start = Instant::now();
    let sum = tokio::spawn(node(0, leaves)).await.unwrap();
    let elapsed = start.elapsed();
    assert_eq!(sum, leaves * (leaves - 1) / 2);
    report("skynet", "ms", elapsed.as_nanos() as f64 / 1e6);
}
