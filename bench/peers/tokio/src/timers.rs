// SPDX-License-Identifier: Apache-2.0
// Timers, in processor time.

use crate::report;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Sleep;

/// The processor time of this process so far, in nanoseconds, as the kernel counts it.
fn cpu_ns() -> f64 {
    let mut total = 0.0;
    for entry in std::fs::read_dir("/proc/self/task").expect("/proc") {
        let path = entry.expect("an entry").path().join("schedstat");
        if let Ok(text) = std::fs::read_to_string(path) {
            total += text.split(' ').next().unwrap_or("0").parse::<f64>().unwrap_or(0.0);
        }
    }
    total
}

/// The same numbers in every program: a 64-bit xorshift.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Registers a sleep: it is in the wheel once it has been polled.
struct Arm<'a>(&'a mut Pin<Box<Sleep>>);

impl Future for Arm<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let _ = self.0.as_mut().poll(cx);
        Poll::Ready(())
    }
}

/// Of 10^5 timers one, at random, is taken away and set anew.
pub async fn cancel(count: usize) {
    const OUTSTANDING: usize = 100_000;
    let mut numbers = Numbers(42);
    let mut far = move || Duration::from_millis(60_000 + numbers.next() % 60_000);
    let mut victims = Numbers(7);
    let mut timers = Vec::with_capacity(OUTSTANDING);
    for _ in 0..OUTSTANDING {
        let mut sleep = Box::pin(tokio::time::sleep(far()));
        Arm(&mut sleep).await;
        timers.push(sleep);
    }
    let start = cpu_ns();
    for _ in 0..count {
        let victim = &mut timers[(victims.next() % OUTSTANDING as u64) as usize];
        victim.set(tokio::time::sleep(far()));
        Arm(victim).await;
    }
    report("timer_cancel", "ns", (cpu_ns() - start) / count as f64);
}

/// Tasks that sleep for a random time within 100 ms.
pub async fn sleepers(bench: &'static str, count: usize) {
    let mut numbers = Numbers(42);
    let mut tasks = Vec::with_capacity(count);
    let start = cpu_ns();
    for _ in 0..count {
        let time = Duration::from_nanos(numbers.next() % 100_000_000);
        tasks.push(tokio::spawn(tokio::time::sleep(time)));
    }
    for task in tasks {
        task.await.unwrap();
    }
    report(bench, "ns", (cpu_ns() - start) / count as f64);
}
