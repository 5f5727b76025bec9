%% SPDX-License-Identifier: Apache-2.0
%% Erlang's side of the comparison: processes and messages. The number of schedulers is the
%% emulator's +S. Prints lines `bench TAB metric TAB value`.
%%
%% Usage: erl -noshell -s orrery_peer main BENCH COUNT
-module(orrery_peer).
-export([main/1]).

-define(BATCH, 1000).

main([Bench, Argument]) ->
    Count = list_to_integer(atom_to_list(Argument)),
    case Bench of
        switch -> switch(Count);
        spawn_join -> spawn_join(Count);
        skynet -> skynet(Count);
        actor_pingpong -> ping_pong(Count);
        actor_ring -> ring(Count);
        actor_fanin -> fan_in(Count);
        timer_cancel -> timer_cancel(Count);
        timer_fire -> timer_fire(Count);
        sleepers -> sleepers(Count);
        idle_memory_actor -> idle_memory(Count);
        tcp_echo -> tcp_echo();
        _ -> halt(3)
    end,
    halt(0).

report(Bench, Metric, Value) ->
    io:format("~s\t~s\t~.2f~n", [Bench, Metric, float(Value)]).

now_ns() ->
    erlang:convert_time_unit(erlang:monotonic_time(), native, nanosecond).

report_since(Bench, Start, Operations) ->
    report(Bench, "ns", (now_ns() - Start) / Operations).

%% The processor time of the emulator so far, all threads.
cpu_ns() ->
    {ok, Threads} = file:list_dir("/proc/self/task"),
    lists:sum([thread_ns(Thread) || Thread <- Threads]).

thread_ns(Thread) ->
    case read_proc("/proc/self/task/" ++ Thread ++ "/schedstat") of
        {ok, Text} ->
            [First | _] = binary:split(Text, <<" ">>),
            binary_to_integer(First);
        error -> 0
    end.

%% The files there have no size to read by.
read_proc(Path) ->
    case file:open(Path, [read, raw, binary]) of
        {ok, File} ->
            Result = file:read(File, 4096),
            file:close(File),
            case Result of
                {ok, Text} -> {ok, Text};
                _ -> error
            end;
        _ -> error
    end.

resident_bytes() ->
    {ok, Text} = read_proc("/proc/self/statm"),
    [_, Pages | _] = binary:split(Text, <<" ">>, [global]),
    binary_to_integer(Pages) * 4096.

%% ---- processes ----

switch(Count) ->
    Start = now_ns(),
    All = [spawn_monitor(fun() -> yield(Count) end) || _ <- [1, 2]],
    await(All),
    report_since("switch", Start, 2 * Count).

yield(0) -> ok;
yield(N) ->
    erlang:yield(),
    yield(N - 1).

spawn_join(Count) ->
    Batches = (Count + ?BATCH - 1) div ?BATCH,
    Start = now_ns(),
    batches(Batches),
    report_since("spawn_join", Start, Batches * ?BATCH).

batches(0) -> ok;
batches(N) ->
    await([spawn_monitor(fun() -> ok end) || _ <- lists:seq(1, ?BATCH)]),
    batches(N - 1).

await([]) -> ok;
await([{Pid, Ref} | Rest]) ->
    receive {'DOWN', Ref, process, Pid, _} -> ok end,
    await(Rest).

%% Each node starts ten below it and adds up what they say; a leaf says its number.
skynet(Leaves) ->
    Start = now_ns(),
    Self = self(),
    spawn(fun() -> node(0, Leaves, Self) end),
    Expected = Leaves * (Leaves - 1) div 2,
    receive Expected -> ok end,
    report("skynet", "ms", (now_ns() - Start) / 1.0e6).

node(First, 1, Above) ->
    Above ! First;
node(First, Leaves, Above) ->
    Self = self(),
    Each = Leaves div 10,
    [spawn(fun() -> node(First + I * Each, Each, Self) end) || I <- lists:seq(0, 9)],
    Above ! sum(10, 0).

sum(0, Sum) -> Sum;
sum(N, Sum) -> receive Number -> sum(N - 1, Sum + Number) end.

%% ---- messages ----

ping_pong(Count) ->
    Self = self(),
    spawn(fun() ->
        Pong = spawn(fun pong/0),
        Start = now_ns(),
        ping(Pong, Count),
        report_since("actor_pingpong", Start, Count),
        Self ! done
    end),
    receive done -> ok end.

ping(_, 0) -> ok;
ping(Pong, N) ->
    Pong ! {self(), N},
    receive {Pong, _} -> ok end,
    ping(Pong, N - 1).

pong() ->
    receive {From, N} -> From ! {self(), N} end,
    pong().

%% One hop of a token in a ring of a thousand.
ring(Count) ->
    Self = self(),
    First = spawn(fun() -> receive {next, Next} -> pass(Next, Self) end end),
    Last = lists:foldl(fun(_, Next) -> spawn(fun() -> pass(Next, Self) end) end,
                       First, lists:seq(2, 1000)),
    First ! {next, Last},
    Start = now_ns(),
    First ! Count,
    receive done -> ok end,
    report_since("actor_ring", Start, Count).

pass(Next, Self) ->
    receive
        0 -> Self ! done;
        N -> Next ! N - 1, pass(Next, Self)
    end.

%% A hundred send to one, which keeps its mail outside of its heap.
fan_in(Count) ->
    Self = self(),
    Each = Count div 100,
    Start = now_ns(),
    spawn_opt(fun() -> drain_of(100, Each), Self ! done end, [{message_queue_data, off_heap}]),
    receive done -> ok end,
    report_since("actor_fanin", Start, 100 * Each).

drain_of(Sources, Each) ->
    Self = self(),
    [spawn(fun() -> flood(Self, Each) end) || _ <- lists:seq(1, Sources)],
    drain(Sources * Each).

flood(_, 0) -> ok;
flood(To, N) ->
    To ! N,
    flood(To, N - 1).

drain(0) -> ok;
drain(N) ->
    receive _ -> ok end,
    drain(N - 1).

%% ---- timers, in processor time ----

random(State0) ->
    Mask = 16#FFFFFFFFFFFFFFFF,
    State1 = (State0 bxor (State0 bsl 13)) band Mask,
    State2 = State1 bxor (State1 bsr 7),
    (State2 bxor (State2 bsl 17)) band Mask.

%% Numbers that are drawn before the clock runs.
draw(Count, Seed) -> draw(Count, Seed, []).

draw(0, _, Drawn) -> Drawn;
draw(N, State0, Drawn) ->
    State = random(State0),
    draw(N - 1, State, [State | Drawn]).

%% Of 10^5 timers one, at random, is cancelled and set anew, a minute or two from now.
timer_cancel(Count) ->
    Outstanding = 100000,
    Timers = ets:new(timers, [set, private]),
    [ets:insert(Timers, {I, erlang:start_timer(60000 + F rem 60000, self(), far)})
        || {I, F} <- lists:zip(lists:seq(0, Outstanding - 1), draw(Outstanding, 42))],
    Victims = [N rem Outstanding || N <- draw(Count, 7)],
    Far = [60000 + N rem 60000 || N <- draw(Count, 43)],
    Start = cpu_ns(),
    replace(Victims, Far, Timers),
    report("timer_cancel", "ns", (cpu_ns() - Start) / Count).

replace([], [], _) -> ok;
replace([Victim | Victims], [Far | More], Timers) ->
    erlang:cancel_timer(ets:lookup_element(Timers, Victim, 2), [{info, false}]),
    ets:insert(Timers, {Victim, erlang:start_timer(Far, self(), far)}),
    replace(Victims, More, Timers).

%% Sets timers for random instants within 100 ms and waits until all have fired.
timer_fire(Count) ->
    Near = [N rem 100 || N <- draw(Count, 42)],
    Start = cpu_ns(),
    [erlang:send_after(Time, self(), 0) || Time <- Near],
    drain(Count),
    report("timer_fire", "ns", (cpu_ns() - Start) / Count).

%% Processes that sleep for a random time within 100 ms.
sleepers(Count) ->
    Self = self(),
    Near = [N rem 100 || N <- draw(Count, 42)],
    Start = cpu_ns(),
    [spawn(fun() -> receive after Time -> Self ! 0 end end) || Time <- Near],
    drain(Count),
    report("sleepers", "ns", (cpu_ns() - Start) / Count).

%% ---- memory ----

idle_memory(Count) ->
    Before = resident_bytes(),
    spawn_idle(Count),
    receive after 100 -> ok end,
    report("idle_memory_actor", "bytes", (resident_bytes() - Before) / Count).

spawn_idle(0) -> ok;
spawn_idle(N) ->
    spawn(fun idle/0),
    spawn_idle(N - 1).

idle() ->
    receive _ -> idle() end.

%% ---- an echo server: a process per connection ----

tcp_echo() ->
    {ok, Listener} = gen_tcp:listen(0, [binary, {ip, {127, 0, 0, 1}}, {active, false},
                                        {backlog, 1024}, {nodelay, true}, {packet, raw}]),
    {ok, Port} = inet:port(Listener),
    io:format("port\t~b~n", [Port]),
    accept(Listener).

accept(Listener) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    Pid = spawn(fun() -> receive go -> serve(Socket) end end),
    ok = gen_tcp:controlling_process(Socket, Pid),
    Pid ! go,
    accept(Listener).

serve(Socket) ->
    ok = inet:setopts(Socket, [{active, 100}]),
    echo(Socket).

echo(Socket) ->
    receive
        {tcp, Socket, Data} ->
            gen_tcp:send(Socket, Data),
            echo(Socket);
        {tcp_passive, Socket} ->
            inet:setopts(Socket, [{active, 100}]),
            echo(Socket);
        {tcp_closed, Socket} -> ok
    end.
