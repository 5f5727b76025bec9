%% SPDX-License-Identifier: Apache-2.0
%% Erlang's side of the comparison: processes and messages. Prints one line per case: name, tab,
%% nanoseconds per operation.
%%
%% Usage: erl -noshell -s orrery_peer main COUNT
-module(orrery_peer).
-export([main/1]).

-define(BATCH, 1000).

main([Argument]) ->
    Count = list_to_integer(atom_to_list(Argument)),
    switch(Count),
    ping_pong("actor_pingpong", Count),
    ping_pong("behaviour_pingpong", Count),
    ring(Count),
    fan_in(Count),
    spawn_join(Count),
    halt(0).

report(Name, Start, Operations) ->
    Elapsed = erlang:convert_time_unit(erlang:monotonic_time() - Start, native, nanosecond),
    io:format("~s\t~.2f~n", [Name, Elapsed / Operations]).

switch(Count) ->
    Start = erlang:monotonic_time(),
    All = [spawn_monitor(fun() -> yield(Count) end) || _ <- [1, 2]],
    await(All),
    report("switch", Start, 2 * Count).

yield(0) -> ok;
yield(N) ->
    erlang:yield(),
    yield(N - 1).

ping_pong(Name, Count) ->
    Pong = spawn(fun pong/0),
    Start = erlang:monotonic_time(),
    ping(Pong, Count),
    report(Name, Start, Count),
    exit(Pong, kill).

ping(_, 0) -> ok;
ping(Pong, N) ->
    Pong ! {self(), N},
    receive {Pong, _} -> ok end,
    ping(Pong, N - 1).

pong() ->
    receive {From, N} -> From ! {self(), N} end,
    pong().

%% One hop of a token in a ring of 100.
ring(Count) ->
    Self = self(),
    First = spawn(fun() -> receive {next, Next} -> pass(Next, Self) end end),
    Last = lists:foldl(fun(_, Next) -> spawn(fun() -> pass(Next, Self) end) end,
                       First, lists:seq(2, 100)),
    First ! {next, Last},
    Start = erlang:monotonic_time(),
    First ! Count,
    receive done -> ok end,
    report("actor_ring", Start, Count).

pass(Next, Self) ->
    receive
        0 -> Self ! done;
        N -> Next ! N - 1, pass(Next, Self)
    end.

%% Eight flood one.
fan_in(Count) ->
    Self = self(),
    Each = Count div 8,
    Start = erlang:monotonic_time(),
    [spawn(fun() -> flood(Self, Each) end) || _ <- lists:seq(1, 8)],
    drain(8 * Each),
    report("actor_fanin", Start, 8 * Each).

flood(_, 0) -> ok;
flood(To, N) ->
    To ! {number, N},
    flood(To, N - 1).

drain(0) -> ok;
drain(N) ->
    receive {number, _} -> ok end,
    drain(N - 1).

spawn_join(Count) ->
    Start = erlang:monotonic_time(),
    batches(Count div ?BATCH),
    report("spawn_join", Start, Count div ?BATCH * ?BATCH).

batches(0) -> ok;
batches(N) ->
    await([spawn_monitor(fun() -> ok end) || _ <- lists:seq(1, ?BATCH)]),
    batches(N - 1).

await([]) -> ok;
await([{Pid, Ref} | Rest]) ->
    receive {'DOWN', Ref, process, Pid, _} -> ok end,
    await(Rest).
