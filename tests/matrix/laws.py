"""What holds whatever went wrong: nothing lost, doubled, unapproved or unexplained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mcp_proton.domain.outcome import SETTLED, Ending, Fate, Proof, Status
from tests.matrix.acts import TARGETS, Act, BoxAct, to
from tests.matrix.cells import Cell, Played
from tests.matrix.world import Truth


def broken(cell: Cell, played: Played) -> list[str]:
    """The laws that do not hold, in words."""
    act = cell.doing
    if "refused" in played.ready:
        return [f"refused: {played.ready['refused']}"]
    assert played.record is not None
    told = [*_of_the_journal(played), *_of_others(act, played)]
    told += _of_boxes(cell, act, played) if isinstance(act, BoxAct) else _of_messages(cell, act, played)
    if played.end != played.after:
        told.append(f"asked again, it was done again: {played.again}")
    return told


def _of_the_journal(played: Played) -> Iterator[str]:
    assert played.record is not None
    assert played.never is not None
    status = played.record.status
    if status not in SETTLED | {Status.PARTIALLY_SUCCEEDED, Status.APPROVED, Status.DELIVERY_UNKNOWN}:
        yield f"the record stays {status}"
    if played.never.status is not Status.PENDING:
        yield f"what was never approved is {played.never.status}"
    answer = played.answer
    if not played.killed:
        if answer is None:
            yield "no answer"
        elif answer["status"] != "ok" and not (answer.get("code") or answer.get("why") or answer.get("not_done")):
            yield f"an answer without a reason: {answer}"
        elif (
            answer["status"] == "ok"
            and answer.get("code") not in (None, "not_recorded")
            and status is not Status.SUCCEEDED
        ):
            yield f"told {answer}, but it is {status}"
    for fate in played.fates.values():
        if fate.ending is not Ending.DONE and not fate.code:
            yield f"an item without a reason: {fate}"


def _of_others(act: Act | BoxAct, played: Played) -> Iterator[str]:
    """Neither lost nor touched: what was not asked for, and what was never approved."""
    for key, was in played.before.items():
        now = played.after.get(key)
        if isinstance(act, BoxAct):  # a label that is renamed or deleted is so for all that have it
            was, now = _without_labels(was), _without_labels(now)
        if key not in TARGETS and now != was:
            yield f"{key} was touched: {was} is {now}"
    for key in played.after.keys() - played.before.keys():
        yield f"{key} was made"


def _of_boxes(cell: Cell, act: BoxAct, played: Played) -> Iterator[str]:
    assert played.record is not None
    status = played.record.status
    meddled = act.elsewhere if cell.fault and cell.fault.startswith("elsewhere") and played.sprung else None
    for key in TARGETS:
        was, now = played.before[key], played.after.get(key)
        if key == TARGETS[0] and meddled:
            if now is None or (not now.places and meddled not in act.takes):
                yield f"{key} was {was} and is {now}"
        elif _without_labels(now) != _without_labels(was):
            yield f"{key} was {was} and is {now}"
    if played.boxes_after not in (played.boxes_before, act.goal):
        yield f"half done: {sorted(played.boxes_after ^ played.boxes_before)}"
    if act.operation == "mailboxes_subscribe":
        return  # whether it happened is told by nobody
    expected = Status.SUCCEEDED if played.boxes_after == act.goal else Status.FAILED
    if status is not expected and not (status is Status.APPROVED and expected is Status.FAILED):
        yield f"the journal says {status}, the account {expected}"


def _without_labels(one: Truth | None) -> Truth | None:
    return None if one is None else replace(one, labels=frozenset())


def _of_messages(cell: Cell, act: Act, played: Played) -> Iterator[str]:
    by_key = _fates(act, played)
    for key in TARGETS:
        was = played.before[key]
        starts = [was]
        if key == TARGETS[0] and cell.fault and cell.fault.startswith("elsewhere") and played.sprung:
            starts.append(to(act.elsewhere)(was))  # type: ignore[arg-type]  # a place
        any_fate = next((one for one in played.fates.values() if one.code == "survived"), None)
        yield from _of_one(key, starts, act, any_fate if by_key is None else by_key.get(key), played.after.get(key))
    yield from _of_counts(act, played)


def _fates(act: Act, played: Played) -> dict[str, Fate] | None:
    """By key; None where the request names no handles. Then it is known how many fared how, but not which."""
    if not act.names:
        return None
    handles = dict(zip(played.ready["handles"], TARGETS, strict=True))
    return {handles[handle]: fate for handle, fate in played.fates.items()}


def _of_one(key: str, starts: list[Truth], act: Act, fate: Fate | None, now: Truth | None) -> Iterator[str]:
    goals = [act.goal(one) for one in starts]
    middle = (
        [to("Trash")(one) for one in starts] if act.operation == "messages_destroy" else []
    )  # spam goes through Trash
    meddled = [to(act.elsewhere)(one) for one in (*goals, *middle) if one is not None and len(starts) > 1]
    if now not in [*starts, *goals, *middle, *meddled] and not _is_told_to_survive(fate, now):
        yield f"{key}: {starts[0]} became {now} ({fate})"
        return
    if now is not None and not now.places and starts[0].places and not _is_told_to_survive(fate, now):
        yield f"{key} is in no mailbox ({fate})"
    if not act.names:
        return
    if fate is None:
        if now not in starts:
            yield f"{key} changed and nobody says so"
        return
    if fate.proof is Proof.LOST:
        yield f"{key} is called lost"
    if fate.ending is Ending.UNCERTAIN and act.operation != "messages_copy":  # the original stays anyway
        yield f"{key} is still uncertain: {fate.code}, {fate.why}"
    if fate.ending is Ending.DONE and now not in goals and not meddled:
        yield f"{key} is called done and is {now}"
    if fate.ending is Ending.FAILED and now not in starts and fate.now is None and fate.code not in _SAYS_WHERE:
        yield f"{key} is called failed ({fate.code}) and is {now}"


def _is_told_to_survive(fate: Fate | None, now: Truth | None) -> bool:
    """Proton took it out of Trash and refused to delete it: left in All Mail, and told so with its handle there."""
    return now is not None and not now.places and fate is not None and fate.code == "survived" and fate.now is not None


_SAYS_WHERE = ("moved_meanwhile", "stale_handle", "already_there")


def _of_counts(act: Act, played: Played) -> Iterator[str]:
    """What is counted as done is what is done, as far as nobody else moved it."""
    assert played.record is not None
    done = played.record.counts.get(Ending.DONE, 0)
    changed = sum(played.after.get(key) != played.before[key] for key in TARGETS)
    if not act.names and done > changed:
        yield f"{done} are called done and {changed} are changed"
    if played.record.status is Status.SUCCEEDED and act.names and not played.fates:
        yield "it succeeded without a fate"
