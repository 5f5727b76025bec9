// SPDX-License-Identifier: Apache-2.0
// Channels, and tasks with a channel each as actors.

use crate::report_since;
use std::time::Instant;
use tokio::sync::mpsc;

/// Tokio has no channel without a place; one with a single place is the nearest.
pub async fn rendezvous(count: usize) {
    let (there_tx, mut there_rx) = mpsc::channel::<u64>(1);
    let (back_tx, mut back_rx) = mpsc::channel::<u64>(1);
    tokio::spawn(async move {
        while let Some(number) = there_rx.recv().await {
            back_tx.send(number).await.unwrap();
        }
    });
    let start = Instant::now();
    for i in 0..count as u64 {
        there_tx.send(i).await.unwrap();
        back_rx.recv().await.unwrap();
    }
    report_since("chan_pingpong", start, count);
}

pub async fn stream(bench: &'static str, producers: usize, count: usize) {
    let (tx, mut rx) = mpsc::channel::<u64>(1024);
    let each = count / producers;
    let start = Instant::now();
    for _ in 0..producers {
        let tx = tx.clone();
        tokio::spawn(async move {
            for i in 0..each as u64 {
                tx.send(i).await.unwrap();
            }
        });
    }
    drop(tx);
    let mut received = 0;
    while rx.recv().await.is_some() {
        received += 1;
    }
    assert_eq!(received, each * producers);
    report_since(bench, start, received);
}

pub async fn actor_pingpong(count: usize) {
    let (there_tx, mut there_rx) = mpsc::unbounded_channel::<u64>();
    let (back_tx, mut back_rx) = mpsc::unbounded_channel::<u64>();
    tokio::spawn(async move {
        while let Some(number) = there_rx.recv().await {
            back_tx.send(number).unwrap();
        }
    });
    let start = Instant::now();
    for i in 0..count as u64 {
        there_tx.send(i).unwrap();
        back_rx.recv().await.unwrap();
    }
    report_since("actor_pingpong", start, count);
}

/// A token goes around a thousand tasks.
pub async fn ring(count: usize) {
    const SIZE: usize = 1000;
    let (done_tx, mut done_rx) = mpsc::unbounded_channel::<()>();
    let (first_tx, mut from) = mpsc::unbounded_channel::<usize>();
    for i in 0..SIZE {
        let (next_tx, next_rx) = mpsc::unbounded_channel::<usize>();
        let to = if i == SIZE - 1 { first_tx.clone() } else { next_tx };
        let mut mine = std::mem::replace(&mut from, next_rx);
        let done = done_tx.clone();
        tokio::spawn(async move {
            while let Some(left) = mine.recv().await {
                if left == 0 {
                    let _ = done.send(());
                } else if to.send(left - 1).is_err() {
                    break;
                }
            }
        });
    }
    tokio::task::yield_now().await;
    let start = Instant::now();
    first_tx.send(count).unwrap();
    done_rx.recv().await.unwrap();
    report_since("actor_ring", start, count);
}

/// A hundred tasks send to one, whose mail has no bound: with one they would wait more and each
/// message would cost twice as much.
pub async fn fanin(count: usize) {
    const SOURCES: usize = 100;
    let (tx, mut rx) = mpsc::unbounded_channel::<u64>();
    let each = count / SOURCES;
    let start = Instant::now();
    for _ in 0..SOURCES {
        let tx = tx.clone();
        tokio::spawn(async move {
            for i in 0..each as u64 {
                tx.send(i).unwrap();
            }
        });
    }
    for _ in 0..each * SOURCES {
        rx.recv().await.unwrap();
    }
    report_since("actor_fanin", start, each * SOURCES);
}

/// Takes one of four values that are all there and puts it back.
pub async fn select_ready(count: usize) {
    let (a_tx, mut a) = mpsc::channel::<u64>(1);
    let (b_tx, mut b) = mpsc::channel::<u64>(1);
    let (c_tx, mut c) = mpsc::channel::<u64>(1);
    let (d_tx, mut d) = mpsc::channel::<u64>(1);
    for tx in [&a_tx, &b_tx, &c_tx, &d_tx] {
        tx.send(1).await.unwrap();
    }
    let start = Instant::now();
    for _ in 0..count {
        tokio::select! {
            n = a.recv() => a_tx.try_send(n.unwrap()).unwrap(),
            n = b.recv() => b_tx.try_send(n.unwrap()).unwrap(),
            n = c.recv() => c_tx.try_send(n.unwrap()).unwrap(),
            n = d.recv() => d_tx.try_send(n.unwrap()).unwrap(),
        }
    }
    report_since("select4_ready", start, count);
}

/// Waits for the next of four channels; another task sends to each in turn. Without a rendezvous
/// the sender runs ahead by a place of each, so that three of four receives do not wait.
pub async fn select_block(count: usize) {
    let (a_tx, mut a) = mpsc::channel::<u64>(1);
    let (b_tx, mut b) = mpsc::channel::<u64>(1);
    let (c_tx, mut c) = mpsc::channel::<u64>(1);
    let (d_tx, mut d) = mpsc::channel::<u64>(1);
    let start = Instant::now();
    tokio::spawn(async move {
        let lines = [a_tx, b_tx, c_tx, d_tx];
        for i in 0..count {
            lines[i % 4].send(i as u64).await.unwrap();
        }
        // The lines stay open until the receiver has what it counts.
        std::future::pending::<()>().await;
    });
    for _ in 0..count {
        tokio::select! {
            n = a.recv() => n.unwrap(),
            n = b.recv() => n.unwrap(),
            n = c.recv() => n.unwrap(),
            n = d.recv() => n.unwrap(),
        };
    }
    report_since("select4_block", start, count);
}
