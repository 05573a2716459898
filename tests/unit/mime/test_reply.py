"""To whom an answer goes, what it is called, what it names and what it quotes (P-60, A-21, A-22, A-23, J-28, J-29, J-137)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.domain.mail import Address
from mcp_proton.mime.composing.ancestry import MOST, MOST_OCTETS, ancestors
from mcp_proton.mime.composing.answering import Reason, Recipients, addressed_as, recipients, takes_no_answers
from mcp_proton.mime.composing.compose import compose
from mcp_proton.mime.composing.quoting import LEFT_OUT, quoted
from mcp_proton.mime.composing.reply import Original, forward, reply
from mcp_proton.mime.composing.subjects import LONGEST, forward_subject, reply_subject
from mcp_proton.mime.header.headers import Headers
from mcp_proton.mime.structure import parse

from .letters import patient
from .outgoing import enclosure, letter, read, wire

OWN = ["me@proton.me", "me@pm.me"]


def header(*lines: str) -> Headers:
    return Headers("\r\n".join([*lines, "", ""]).encode())


def addressed(*lines: str, everyone: bool = False, no_reply: bool = False) -> tuple[list[str], list[str]]:
    found = recipients(header(*lines), OWN, everyone=everyone, no_reply=no_reply)
    return [one.email for one in found.to], [one.email for one in found.cc]


@pytest.mark.parametrize("everyone", [False, True])
def test_an_answer_goes_where_reply_to_says_else_to_the_sender(everyone: bool) -> None:
    """A-21."""
    assert addressed("From: a@x.test", "To: me@proton.me", everyone=everyone) == (["a@x.test"], [])
    assert addressed("From: a@x.test", "Reply-To: b@x.test, c@x.test", everyone=everyone) == (
        ["b@x.test", "c@x.test"],
        [],
    )


def test_an_answer_to_everyone_leaves_out_oneself_and_names_nobody_twice() -> None:
    """A-22: in any case, with any tag, under any own address."""
    to, cc = addressed(
        "From: A@x.test",
        "To: ME@Proton.me, me+shop@pm.me, b@x.test, a@X.test",
        "Cc: c@x.test, B@x.test, me@pm.me, Team: d@x.test, c@x.test;",
        everyone=True,
    )
    assert (to, cc) == (["A@x.test"], ["b@x.test", "c@x.test", "d@x.test"])


def test_an_answer_to_the_sender_alone_reaches_nobody_else() -> None:
    assert addressed("From: a@x.test", "To: me@proton.me, b@x.test", "Cc: c@x.test") == (["a@x.test"], [])


def test_an_answer_to_ones_own_mail_goes_where_that_mail_went() -> None:
    own = ("From: me@pm.me", "To: a@x.test, b@x.test", "Cc: c@x.test", "Bcc: secret@x.test", "Reply-To: me@proton.me")
    assert addressed(*own) == (["a@x.test", "b@x.test"], [])
    assert addressed(*own, everyone=True) == (["a@x.test", "b@x.test"], ["c@x.test"])


def test_ones_own_mail_that_went_to_cc_alone_is_answered_there() -> None:
    assert addressed("From: me@pm.me", "Cc: c@x.test") == (["c@x.test"], [])


def test_a_note_to_oneself_can_be_answered() -> None:
    assert addressed("From: me@pm.me", "To: me@proton.me", everyone=True) == (["me@pm.me"], [])


def test_a_web_form_that_writes_in_ones_own_name_is_answered_where_it_says() -> None:
    assert addressed("From: me@pm.me", "To: me@pm.me", "Reply-To: guest@x.test") == (["guest@x.test"], [])


def test_a_reply_to_that_names_only_oneself_does_not_hide_the_sender() -> None:
    assert addressed("From: a@x.test", "Reply-To: me@pm.me") == (["a@x.test"], [])


@pytest.mark.parametrize(
    "email",
    [
        "no-reply@x.test", "noreply@x.test", "NoReply@X.test", "do-not-reply@x.test", "donotreply@x.test", "dont_reply@x.test",
        "noreply+abc@x.test", "shop-noreply@x.test", "no.reply.orders@x.test", "MAILER-DAEMON@x.test", "bounce-17@x.test",
        "nicht-antworten@x.test", "ne-pas-repondre@x.test", "noresponse@x.test", "no_reply1@x.test",
    ],
)  # fmt: skip
def test_an_address_that_takes_no_answers_is_written_to_only_when_asked(email: str) -> None:
    assert takes_no_answers(email)
    found = recipients(header(f"From: Shop <{email}>", "To: me@pm.me, b@x.test"), OWN, everyone=True)
    assert [one.email for one in found.to] == ["b@x.test"]
    assert [(one.address, one.reason) for one in found.left_out] == [(Address("Shop", email), Reason.NO_REPLY)]
    assert addressed(f"From: {email}")[0] == []
    assert addressed(f"From: {email}", no_reply=True)[0] == [email]


@pytest.mark.parametrize(
    "email", ["jeno.reply@x.test", "reply@x.test", "nora@x.test", "bouncer@x.test", "casino-replay@x.test"]
)
def test_an_address_that_only_sounds_like_it_is_answered(email: str) -> None:
    assert not takes_no_answers(email)


def test_a_no_reply_sender_with_a_reply_to_is_answered_there() -> None:
    assert addressed("From: noreply@x.test", "Reply-To: ticket+9@x.test") == (["ticket+9@x.test"], [])


def test_what_is_no_address_is_left_out_and_told() -> None:
    found = recipients(header("From: a@x.test", "To: bob, c@x.test", "Cc: d..e@x.test"), OWN, everyone=True)
    assert [one.email for one in found.cc] == ["c@x.test"]
    assert [(one.address.name or one.address.email, one.reason) for one in found.left_out] == [
        ("bob", Reason.UNUSABLE),
        ("d..e@x.test", Reason.UNUSABLE),
    ]


LIST = ("List-Id: <l.x.test>", "List-Post: <mailto:l@x.test>")


def test_a_list_is_written_to_by_an_answer_to_everyone_and_that_is_told() -> None:
    mail = (*LIST, "From: a@x.test", "To: l@x.test")
    assert recipients(header(*mail), OWN, everyone=True) == Recipients(
        (Address("", "a@x.test"),), (Address("", "l@x.test"),), (), to_list=True
    )
    assert recipients(header(*mail), OWN) == Recipients((Address("", "a@x.test"),))


def test_a_list_that_claims_the_answers_is_told_too() -> None:
    assert recipients(header(*LIST, "From: a@x.test", "Reply-To: L@x.test", "To: l@x.test"), OWN).to_list


def test_where_a_list_mail_asks_to_be_followed_up_is_respected_by_an_answer_to_everyone_only() -> None:
    mail = (*LIST, "From: a@x.test", "To: l@x.test", "Cc: c@x.test", "Mail-Followup-To: l@x.test, me@pm.me")
    assert addressed(*mail, everyone=True) == (["l@x.test"], [])
    assert addressed(*mail) == (["a@x.test"], [])
    assert addressed(*mail[2:], everyone=True) == (["a@x.test"], ["l@x.test", "c@x.test"])


def test_names_are_carried_as_they_were_given() -> None:
    """J-137."""
    found = recipients(
        header("From: =?utf-8?q?J=C3=B6rg?= <j@x.test>", 'To: "B, Bob" <b@x.test>, me@pm.me', "Cc: c@x.test"),
        OWN,
        everyone=True,
    )
    assert [*found.to, *found.cc] == [
        Address("Jörg", "j@x.test"),
        Address("B, Bob", "b@x.test"),
        Address("", "c@x.test"),
    ]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["To: me@pm.me"], "me@pm.me"),
        (["To: ME+x@PM.me"], "me@pm.me"),
        (["To: me@pm.me", "Cc: me@proton.me"], None),
        (["To: list@x.test"], None),
        (["To: list@x.test", "Delivered-To: me@proton.me"], "me@proton.me"),
        (["From: me@pm.me", "To: me@proton.me"], "me@pm.me"),
    ],
)
def test_the_address_to_answer_as_is_the_one_that_was_written_to_never_the_first_of_a_list(
    lines: list[str], expected: str | None
) -> None:
    """J-137."""
    assert addressed_as(header("X: y", *lines), OWN) == expected


@pytest.mark.parametrize(
    ("subject", "replied", "forwarded"),
    [
        ("x", "Re: x", "Fwd: x"),
        ("", "Re:", "Fwd:"),
        ("Re: x", "Re: x", "Fwd: Re: x"),
        ("RE: AW: SV: Re[2]: x", "Re: x", "Fwd: RE: AW: SV: Re[2]: x"),
        ("AW: x", "Re: x", "Fwd: AW: x"),
        ("Antw: x", "Re: x", "Fwd: Antw: x"),
        ("re:x", "Re: x", "Fwd: re:x"),
        ("Re(3): x", "Re: x", "Fwd: Re(3): x"),
        ("Re^2: x", "Re: x", "Fwd: Re^2: x"),
        ("Re : x", "Re: x", "Fwd: Re : x"),
        ("回复：x", "Re: x", "Fwd: 回复：x"),
        ("RES: x", "Re: x", "Fwd: RES: x"),
        ("R: x", "Re: x", "Fwd: R: x"),
        ("[list] Re: x", "Re: [list] x", "Fwd: [list] Re: x"),
        ("Re: [list] RE: x", "Re: [list] x", "Fwd: Re: [list] RE: x"),
        ("Fwd: x", "Re: Fwd: x", "Fwd: x"),
        ("WG: Fw: FWD: TR: x", "Re: WG: Fw: FWD: TR: x", "Fwd: x"),
        ("Re: Fwd: Re: x", "Re: Fwd: Re: x", "Fwd: Re: Fwd: Re: x"),
        ("Ref: 12345", "Re: Ref: 12345", "Fwd: Ref: 12345"),
        ("Reminder: x", "Re: Reminder: x", "Fwd: Reminder: x"),
        ("Re x", "Re: Re x", "Fwd: Re x"),
        ("result: x", "Re: result: x", "Fwd: result: x"),
    ],
)
def test_prefixes_of_any_language_are_not_stacked(subject: str, replied: str, forwarded: str) -> None:
    assert reply_subject(subject) == replied
    assert forward_subject(subject) == forwarded
    assert reply_subject(replied) == replied
    assert forward_subject(forwarded) == forwarded


def test_a_strangers_endless_subject_is_cut() -> None:
    assert len(reply_subject("ü" * 100_000).encode()) <= LONGEST
    assert reply_subject("Re: " * 50_000) == "Re:"


INTERNAL = "<abc==@protonmail.internalid>"


def named(*lines: str, anchor: str | None = None) -> tuple[str | None, tuple[str, ...]]:
    answer = reply(Original(header("From: a@x.test", *lines), anchor=anchor), OWN)
    return answer.in_reply_to, answer.references


def test_an_answer_names_its_parent_and_all_before_it_and_the_servers_own_name_last() -> None:
    """Bridge threads by the last reference and marks *forwarded* what only References names (reply-by-internal-id)."""
    lines = ("Message-ID: <3@x>", "References: <1@x> <2@x>", "In-Reply-To: <2@x>")
    assert named(*lines) == ("<3@x>", ("<1@x>", "<2@x>", "<3@x>"))
    assert named(*lines, anchor=INTERNAL) == ("<3@x>", ("<1@x>", "<2@x>", "<3@x>", INTERNAL))


def test_what_bridge_adds_to_references_is_not_passed_on() -> None:
    assert named("Message-ID: <3@x>", f"References: <1@x> {INTERNAL}") == ("<3@x>", ("<1@x>", "<3@x>"))
    other = "<other@protonmail.internalid>"
    assert named("Message-ID: <3@x>", f"References: {INTERNAL}", anchor=other) == ("<3@x>", ("<3@x>", other))


def test_a_parent_without_a_name_is_named_as_its_server_does_or_not_at_all() -> None:
    assert named("References: <1@x>", anchor=INTERNAL) == (INTERNAL, ("<1@x>", INTERNAL))
    assert named(f"Message-ID: {INTERNAL}", anchor=INTERNAL) == (INTERNAL, (INTERNAL,))
    assert named("References: <1@x>") == (None, ())


@pytest.mark.parametrize(
    "one", ["<draft==@protonmail.internalid>", "<draft==@ProtonMail.internalid,x>", "<x,d@protonmail.internalid>"]
)
def test_a_stranger_cannot_name_a_message_of_bridges_account(one: str) -> None:
    """A reply that names a draft so would delete it."""
    assert named(f"Message-ID: {one}", f"References: {one}", f"In-Reply-To: {one}", anchor=INTERNAL) == (
        INTERNAL,
        (INTERNAL,),
    )


def test_where_there_are_no_references_a_single_parent_stands_for_them() -> None:
    """RFC 5322 §3.6.4."""
    assert named("Message-ID: <3@x>", "In-Reply-To: <2@x>") == ("<3@x>", ("<2@x>", "<3@x>"))
    assert named("Message-ID: <3@x>", "In-Reply-To: <2@x> <1@x>") == ("<3@x>", ("<3@x>",))


def test_a_long_thread_keeps_its_first_and_its_last_names() -> None:
    ids = [f"<{number}@x.test>" for number in range(90)]
    _, references = named("Message-ID: <new@x>", f"References: {' '.join(ids)}")
    assert references[0] == ids[0]
    assert references[-2:] == (ids[-1], "<new@x>")
    assert len(references) == MOST + 1


def test_names_that_are_endless_or_cannot_be_written_are_passed_over() -> None:
    long = [f"<{number}{'y' * 880}@x.test>" for number in range(20)]
    _, references = named("Message-ID: <new@x>", f"References: <1@x> <ü@x> <{'z' * 1_000}@x> {' '.join(long)}")
    assert references[0] == "<1@x>"
    assert references[-2:] == (long[-1], "<new@x>")
    assert sum(map(len, references)) < MOST_OCTETS + 100
    assert "<ü@x>" not in references


def test_a_forward_belongs_to_the_thread_but_answers_nobody() -> None:
    made = forward(Original(header("Message-ID: <3@x>", "References: <1@x>", "Subject: a/b"), anchor=INTERNAL))
    assert made.references == ("<1@x>", "<3@x>", INTERNAL)
    assert made.filename == "a_b.eml"
    assert forward(Original(header("From: a@x.test"))).filename == "message.eml"


ORIGINAL = Original(
    header(
        "From: =?utf-8?q?J=C3=B6rg?= <j@x.test>",
        "To: me@pm.me",
        "Cc: c@x.test",
        "Bcc: hidden@x.test",
        "Date: Tue, 01 Dec 2026 10:00:00 +0100",
        "Subject: Plan <b>",
        "Message-ID: <1@x>",
    ),
    "Hello\n\n> earlier\n>> before\nFrom me\n\n",
)


def test_a_reply_quotes_every_line_and_nests_what_was_quoted() -> None:
    assert reply(ORIGINAL, OWN).quote.below("Thanks!\n") == (
        "Thanks!\n\n"
        "On Tue, 01 Dec 2026 10:00:00 +0100, Jörg <j@x.test> wrote:\n"
        "> Hello\n>\n>> earlier\n>>> before\n> From me\n"
    )


def test_an_original_without_date_or_sender_is_still_attributed() -> None:
    assert reply(Original(header("X: y"), "a"), OWN).quote.text == "somebody wrote:\n> a"


def test_a_forward_shows_the_header_and_the_text_and_never_who_was_bcc() -> None:
    """J-29, A-23: quoted, below the header."""
    made = forward(ORIGINAL).quote.below("See below.")
    assert made == (
        "See below.\n\n---------- Forwarded message ----------\nFrom: Jörg <j@x.test>\nDate: Tue, 01 Dec 2026 10:00:00 +0100\n"
        "Subject: Plan <b>\nTo: me@pm.me\nCc: c@x.test\n\nHello\n\n> earlier\n>> before\nFrom me\n"
    )


def test_a_header_of_thousands_of_addresses_is_cut_in_a_forward() -> None:
    crowd = ", ".join(f"a{number}@x.test" for number in range(5_000))
    made = forward(Original(header("From: a@x.test", f"To: {crowd}"))).quote.text
    assert len(made) < 3_000
    assert LEFT_OUT in made


def test_html_is_quoted_without_what_nobody_would_have_seen_or_what_loads() -> None:
    """P-95."""
    source = (
        '<p onclick="x()">Hi <b>you</b><script>evil()</script><span style="display:none">hidden</span>'
        '<img src="https://x.test/p.png"><img alt="logo" src="cid:1@x"></p>'
    )
    for made in (
        reply(Original(ORIGINAL.headers, "Hi", source), OWN),
        forward(Original(ORIGINAL.headers, "Hi", source)),
    ):
        page = made.quote.below_html("<html><body><p>Mine</p></body></html>")
        assert "<b>you</b>" in page
        assert "[image: logo]" in page
        assert not any(
            word in page for word in ("evil", "hidden", "onclick", "https://x.test/p.png", "cid:", "<script")
        )
        assert page.endswith("</body></html>")
        assert "j@x.test" in page
        assert "Jörg <j@x.test>" not in page


def test_a_plain_original_is_quoted_in_html_with_its_marks_escaped() -> None:
    made = reply(Original(ORIGINAL.headers, "a < b\n<script>"), OWN)
    assert "a &lt; b<br>\n&lt;script&gt;" in made.quote.html
    assert '<blockquote type="cite">' in made.quote.html
    assert made.quote.below_html("<p>x</p>").startswith("<p>x</p>")


def test_a_very_long_original_is_cut_and_says_so() -> None:
    made = reply(Original(ORIGINAL.headers, "line\n" * 100_000, "<p>line</p>" * 100_000), OWN)
    assert made.quote.text.endswith(f"> {LEFT_OUT}")
    assert LEFT_OUT in made.quote.html
    assert len(made.quote.text) < 200_000


def test_the_whole_original_can_go_along_as_a_message() -> None:
    """A-23: forwarded as it is, byte for byte."""
    raw = b"From: a@x.test\r\nSubject: inner\r\n\r\nhello\r\n"
    made = forward(Original(Headers(raw), "hello"))
    asked = letter(
        subject=made.subject, references=made.references, enclosures=(enclosure(raw, made.filename, "message/rfc822"),)
    )
    attached = next(iter(read(wire(asked, raw)).iter_attachments()))
    assert attached.get_content_type() == "message/rfc822"
    assert attached.get_filename() == "inner.eml"
    assert attached.get_content()["Subject"] == "inner"


HOSTILE = st.text(st.characters(), max_size=80) | st.text('<>@,;:"\\()[] \t=?mailto:ab.\r\n', max_size=120)
NAMES = st.sampled_from(
    [
        "From",
        "To",
        "Cc",
        "Reply-To",
        "Subject",
        "Message-ID",
        "References",
        "In-Reply-To",
        "Date",
        "List-Post",
        "List-Id",
        "Mail-Followup-To",
    ]
)


@patient
@given(st.lists(st.tuples(NAMES, HOSTILE), max_size=14), HOSTILE, st.none() | HOSTILE, st.booleans())
def test_whatever_a_stranger_writes_the_answer_to_it_can_be_composed(
    lines: list[tuple[str, str]], text: str, source: str | None, everyone: bool
) -> None:
    """No header, name, id, subject or quote of an original can make a letter that is refused, or add a field to it."""
    raw = (
        b"".join(f"{name}: {value}\r\n".encode("utf-8", "replace") for name, value in lines)
        + b"\r\n"
        + text.encode("utf-8", "replace")
    )
    message = parse.parse(raw)
    made = reply(Original(Headers(raw), message.text, source), OWN, everyone=everyone, no_reply=True)
    found = made.recipients
    people = [*found.to, *found.cc]
    head = compose(
        letter(
            to=found.to, cc=found.cc, subject=made.subject, in_reply_to=made.in_reply_to, references=made.references,
            text=made.quote.below("Hi"), html=made.quote.below_html("<p>Hi</p>"),
        )
    )[0]  # fmt: skip
    assert isinstance(head, bytes)
    assert len(people) == len({one.email.casefold() for one in people})
    assert not [name for name, _ in Headers(head).fields if name in {"Bcc", "X", "Resent-To"}]
    passed_on = forward(Original(Headers(raw), message.text, source))
    compose(
        letter(
            subject=passed_on.subject,
            references=passed_on.references,
            text=passed_on.quote.text,
            html=passed_on.quote.html,
        )
    )


def test_quoting_twice_marks_twice() -> None:
    assert quoted(quoted("a\n\nb")) == ">> a\n>>\n>> b"


def test_ancestors_are_told_oldest_first() -> None:
    assert ancestors(header("References: <1@x>\r\n <2@x>")) == ("<1@x>", "<2@x>")
