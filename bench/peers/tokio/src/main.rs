// SPDX-License-Identifier: Apache-2.0
// Tokio's side of the comparison: tasks, the channels of tokio::sync and its timers.
//
// One core is the current_thread runtime; more are the multi_thread runtime with as many workers.
// TOKIO_FLAVOUR=multi_thread takes the latter on one core too: it runs a task that was just woken
// next, which wins where two tasks talk. What awaits runs in tasks, not in the future of block_on,
// which is woken in a dearer way.
//
// Prints lines `bench TAB metric TAB value`. Usage: tokio_peer BENCH CORES COUNT

mod echo;
mod memory;
mod talk;
mod tasks;
mod timers;

use std::future::Future;
use std::time::Instant;

pub fn report(bench: &str, metric: &str, value: f64) {
    println!("{bench}\t{metric}\t{value:.2}");
}

/// Prints the time since `start` for each of `operations`, in nanoseconds.
pub fn report_since(bench: &str, start: Instant, operations: usize) {
    report(bench, "ns", start.elapsed().as_nanos() as f64 / operations as f64);
}

fn runtime(cores: usize) -> tokio::runtime::Runtime {
    let is_multi = std::env::var("TOKIO_FLAVOUR").map_or(false, |name| name == "multi_thread");
    let mut builder = if cores == 1 && !is_multi {
        tokio::runtime::Builder::new_current_thread()
    } else {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(cores);
        builder
    };
    builder.enable_all().build().expect("a runtime")
}

fn run<F>(cores: usize, future: F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let runtime = runtime(cores);
    runtime.block_on(async { tokio::spawn(future).await.expect("the program") });
    // What still sleeps or waits is not part of the work.
    std::process::exit(0);
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<usize>().ok());
    let (cores, count) = match (number(2), number(3)) {
        (Some(cores), Some(count)) if cores > 0 && count > 0 => (cores, count),
        _ => {
            eprintln!("usage: tokio_peer BENCH CORES COUNT");
            std::process::exit(2);
        }
    };
    match arguments[1].as_str() {
        "switch" => run(cores, tasks::switch(count)),
        "spawn_join" => run(cores, tasks::spawn_join(count)),
        "skynet" => run(cores, tasks::skynet(count)),
        "chan_pingpong" => run(cores, talk::rendezvous(count)),
        "chan_stream_1p1c" => run(cores, talk::stream("chan_stream_1p1c", 1, count)),
        "chan_stream_4p1c" => run(cores, talk::stream("chan_stream_4p1c", 4, count)),
        "actor_pingpong" => run(cores, talk::actor_pingpong(count)),
        "actor_ring" => run(cores, talk::ring(count)),
        "actor_fanin" => run(cores, talk::fanin(count)),
        "select4_ready" => run(cores, talk::select_ready(count)),
        "select4_block" => run(cores, talk::select_block(count)),
        "timer_cancel" => run(cores, timers::cancel(count)),
        "timer_fire" => run(cores, timers::sleepers("timer_fire", count)),
        "sleepers" => run(cores, timers::sleepers("sleepers", count)),
        "idle_memory_poll" => run(cores, memory::poll(count)),
        "idle_memory_actor" => run(cores, memory::actor(count)),
        "tcp_echo" => run(cores, echo::serve(count)),
        other => {
            eprintln!("tokio_peer: no bench is called {other}");
            std::process::exit(3);
        }
    }
}
