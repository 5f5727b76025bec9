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
    ping_pong(Count),
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

ping_pong(Count) ->
    Pong = spawn(fun pong/0),
    Start = erlang:monotonic_time(),
    ping(Pong, Count),
    report("actor_pingpong", Start, Count),
    exit(Pong, kill).

ping(_, 0) -> ok;
ping(Pong, N) ->
    Pong ! {self(), N},
    receive {Pong, _} -> ok end,
    ping(Pong, N - 1).

pong() ->
    receive {From, N} -> From ! {self(), N} end,
    pong().

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
