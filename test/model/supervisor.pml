/* SPDX-License-Identifier: Apache-2.0 */
/* The restart protocol of a supervisor, for spin. What is modelled is src/actor/supervisor.c: the
 * supervisor receives exits in any order, and while it stops a child it takes that child's exit
 * alone out of its mailbox; a child may end by itself at any moment, also while it is being asked,
 * may not hear the request, and is then killed.
 *
 * Claimed, for every strategy and every interleaving with CHILDREN children and up to INTENSITY
 * restarts:
 *   - at most one instance of a child lives                                    (start)
 *   - a child is started only when all of its group before it run              (start)
 *   - a child is stopped only when all of its group behind it are down         (stop)
 *   - an exit is heard of a child that runs, exactly once                      (hear)
 *   - the supervisor ends, and nobody outlives it, and no exit is left behind  (end)
 *
 * With -DFORGET, a child that is found dead when it is to be stopped is left in the mailbox: a
 * mistake that the claims must notice. With -DOVERTAKE all are asked at once. */

#define CHILDREN  3
#define INTENSITY 2

mtype = { one_for_one, one_for_all, rest_for_one };

mtype strategy;
chan mail = [8] of { byte };
byte alive[CHILDREN];  /* instances */
bool asked[CHILDREN];
bool killed[CHILDREN];
bool up[CHILDREN];     /* as the supervisor has it */
byte restarts;
bool is_over;

proctype child(byte self)
{
    if
    :: asked[self]  /* it obeys */
    :: killed[self] /* it has not heard, or not in time */
    :: true         /* it ends by itself */
    fi;
    atomic {
        alive[self]--;
        mail!self;
    }
}

inline start(i)
{
    atomic {
        assert(alive[i] == 0 && !up[i]);
        assert(i == 0 || strategy == one_for_one || up[i - 1]);
        asked[i] = false;
        killed[i] = false;
        alive[i]++;
        up[i] = true;
        run child(i);
    }
}

inline await(i)
{
    mail??eval(i);
    up[i] = false;
}

inline stop(i)
{
    if
    :: up[i] ->
        assert(i == CHILDREN - 1 || !up[i + 1]);
        asked[i] = true;
#ifdef FORGET
        if
        :: alive[i] == 0 -> up[i] = false;
        :: else -> await(i);
        fi
#else
        if
        :: await(i);
        :: killed[i] = true; await(i); /* its time is over */
        fi
#endif
    :: else
    fi
}

inline stop_all_from(first)
{
    at = CHILDREN;
#ifdef OVERTAKE
    do
    :: at > first -> at--; asked[at] = true;
    :: else -> break;
    od;
    at = first;
    do
    :: at < CHILDREN -> if :: up[at] -> assert(at == CHILDREN - 1 || !up[at + 1]); await(at); :: else fi; at++;
    :: else -> break;
    od
#else
    do
    :: at > first -> at--; stop(at);
    :: else -> break;
    od
#endif
}

inline start_all_from(first)
{
    at = first;
    do
    :: at < CHILDREN -> if :: !up[at] -> start(at); :: else fi; at++;
    :: else -> break;
    od
}

active proctype supervisor()
{
    byte at;
    byte who;
    if
    :: strategy = one_for_one;
    :: strategy = one_for_all;
    :: strategy = rest_for_one;
    fi;
    start_all_from(0);
    do
    :: mail?who ->
        assert(up[who]);
        up[who] = false;
        if
        :: restarts == INTENSITY -> break;
        :: else -> restarts++;
        fi;
        if
        :: strategy == one_for_one -> start(who);
        :: strategy == one_for_all -> stop_all_from(0); start_all_from(0);
        :: strategy == rest_for_one -> stop_all_from(who); start_all_from(who);
        fi
    :: break; /* it is asked to end itself */
    od;
    if
    :: strategy == one_for_one ->
        at = CHILDREN;
        do
        :: at > 0 -> at--;
            if
            :: up[at] -> asked[at] = true; killed[at] = true; await(at);
            :: else
            fi
        :: else -> break;
        od
    :: else -> stop_all_from(0);
    fi;
    assert(len(mail) == 0);
    at = 0;
    do
    :: at < CHILDREN -> assert(alive[at] == 0 && !up[at]); at++;
    :: else -> break;
    od;
    is_over = true;
}

ltl ends { <> is_over }
