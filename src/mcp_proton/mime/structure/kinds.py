"""What a part is by its media type: names for parts that carry none, and what cannot be opened."""

from __future__ import annotations

from mcp_proton.domain.mail import AttachmentKind, Part
from mcp_proton.mime.notices import Notice

_TNEF = frozenset({"application/ms-tnef", "application/vnd.ms-tnef"})
_BY_TYPE = {
    "application/pgp-encrypted": AttachmentKind.ENCRYPTED,
    "application/pgp-signature": AttachmentKind.SIGNATURE,
    "application/pgp-keys": AttachmentKind.KEY,
    "application/pkcs7-signature": AttachmentKind.SIGNATURE,
    "application/x-pkcs7-signature": AttachmentKind.SIGNATURE,
    "application/ics": AttachmentKind.CALENDAR,
    "text/calendar": AttachmentKind.CALENDAR,
    "text/vcard": AttachmentKind.CONTACT,
    "text/x-vcard": AttachmentKind.CONTACT,
    "text/directory": AttachmentKind.CONTACT,
    "message/rfc822": AttachmentKind.MESSAGE,
    "message/global": AttachmentKind.MESSAGE,
    "message/partial": AttachmentKind.MESSAGE,
    "message/external-body": AttachmentKind.ELSEWHERE,
    "message/delivery-status": AttachmentKind.REPORT,
    "message/disposition-notification": AttachmentKind.REPORT,
    "message/feedback-report": AttachmentKind.REPORT,
    "text/rfc822-headers": AttachmentKind.REPORT,
}
_BY_ENDING = {
    "eml": AttachmentKind.MESSAGE,
    "ics": AttachmentKind.CALENDAR,
    "vcf": AttachmentKind.CONTACT,
    "p7s": AttachmentKind.SIGNATURE,
    "pgp": AttachmentKind.ENCRYPTED,
    "gpg": AttachmentKind.ENCRYPTED,
}
_NAMES = {
    "application/ms-tnef": "winmail.dat",
    "application/pdf": "document.pdf",
    "application/pgp-keys": "key.asc",
    "application/pgp-signature": "signature.asc",
    "application/pkcs7-mime": "smime.p7m",
    "application/pkcs7-signature": "smime.p7s",
    "application/zip": "archive.zip",
    "image/gif": "image.gif",
    "image/jpeg": "image.jpg",
    "image/png": "image.png",
    "message/delivery-status": "delivery-status.txt",
    "message/rfc822": "message.eml",
    "message/global": "message.eml",
    "text/calendar": "invitation.ics",
    "text/csv": "table.csv",
    "text/html": "text.html",
    "text/plain": "text.txt",
    "text/rfc822-headers": "headers.txt",
    "text/vcard": "contact.vcf",
    "text/x-vcard": "contact.vcf",
}
_NOTICES = {
    AttachmentKind.ENCRYPTED: Notice.ENCRYPTED,
    AttachmentKind.SIGNATURE: Notice.SIGNED,
    AttachmentKind.CALENDAR: Notice.INVITATION,
    AttachmentKind.OUTLOOK: Notice.WINMAIL_DAT,
    AttachmentKind.ELSEWHERE: Notice.EXTERNAL_CONTENT,
}
_PKCS7 = frozenset({"application/pkcs7-mime", "application/x-pkcs7-mime"})


def kind(part: Part) -> AttachmentKind:
    """Return what a part is to a person. S/MIME is told apart by its `smime-type` (RFC 8551 §3.2.2)."""
    name = (part.filename or "").lower()
    if part.media_type in _TNEF or name == "winmail.dat":
        return AttachmentKind.OUTLOOK
    if part.media_type in _PKCS7:
        signed = part.parameters.get("smime-type", "").lower().startswith(("signed", "certs"))
        return AttachmentKind.SIGNATURE if signed else AttachmentKind.ENCRYPTED
    return _BY_TYPE.get(part.media_type) or _BY_ENDING.get(name.rpartition(".")[2], AttachmentKind.FILE)


def made_up_name(part: Part) -> str:
    """Return a name for a part that has none."""
    main = part.media_type.partition("/")[0]
    return _NAMES.get(part.media_type) or {"audio": "sound.bin", "video": "video.bin"}.get(main, "attachment.bin")


def notices(kinds: frozenset[AttachmentKind]) -> frozenset[str]:
    """Return what the reader should know of parts that were not opened."""
    return frozenset(_NOTICES[one] for one in kinds if one in _NOTICES)
