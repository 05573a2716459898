package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ProtonMail/gluon/connector"
	"github.com/ProtonMail/gluon/imap"
	"github.com/ProtonMail/gluon/rfc5322"
	"github.com/ProtonMail/gluon/rfc822"
)

// maxImport is 30 MiB encrypted; ASCII armour adds about a third.
const maxImport = 30 << 20 / 100 * 76

// CreateMessage is APPEND: a draft in Drafts, an import anywhere else. The date asked for is ignored.
func (t *tree) CreateMessage(
	ctx context.Context, _ connector.IMAPStateWrite, to imap.MailboxID, raw []byte, flags imap.FlagSet, _ time.Time,
) (imap.Message, []byte, error) {
	if to == allMail {
		return imap.Message{}, nil, connector.ErrOperationNotAllowed
	}
	if err := checkRecipients(raw); err != nil {
		return imap.Message{}, nil, err
	}
	create := t.importMessage
	if to == drafts {
		create = t.createDraft
	}
	made, err := create(ctx, string(to), raw, flags)
	if err != nil {
		return imap.Message{}, nil, err
	}
	t.user.remember(t, made.id)
	return made.imap(), literal(made), nil
}

func (t *tree) importMessage(ctx context.Context, to string, raw []byte, flags imap.FlagSet) (*message, error) {
	if len(raw) > maxImport {
		return nil, fmt.Errorf("failed to prepare message for import: message exceeds maximum import size of 30MB: %w",
			connector.ErrMessageSizeExceedsLimits)
	}
	var made *message
	err := t.call(ctx, "POST", messagesPath+"/import", func() error {
		if to == foldersNode || to == labelsNode {
			return fmt.Errorf("failed to import message: failed to import message: failed to import: "+
				"invalid label ID: %s (Code=2001, Status=0)", to)
		}
		made = t.user.account.accept(t.incoming(to, raw, flags), to, flags.Contains(imap.FlagFlagged))
		return nil
	})
	if to == foldersNode || to == labelsNode {
		return made, err
	}
	if err != nil {
		return nil, fmt.Errorf("failed to import message: failed to import messages: %w", err)
	}
	return made, nil
}

// incoming is received if it goes to INBOX or somebody delivered it, else sent.
func (t *tree) incoming(to string, raw []byte, flags imap.FlagSet) *message {
	section := rfc822.Parse(raw)
	flavour := "sent"
	if to == inbox || (to != sent && valueOf(section, "Received") != "") {
		flavour = "received"
	}
	made := &message{
		raw: raw, flags: setOf(flavour), unread: !flags.Contains(imap.FlagSeen), origin: "appended",
		address: t.ownSender(section, true), time: dateOf(section),
	}
	if flags.Contains(imap.FlagAnswered) {
		made.flags["replied"] = struct{}{}
	}
	return made
}

// createDraft makes the draft, then uploads its files; the draft stays without them if that fails.
func (t *tree) createDraft(ctx context.Context, _ string, raw []byte, _ imap.FlagSet) (*message, error) {
	section := rfc822.Parse(raw)
	draft := &message{
		raw: raw, flags: setOf("draft"), origin: "appended", address: t.ownSender(section, false), time: time.Now(),
	}
	files := contentOfDelivery(section).files
	if len(files) > 0 {
		draft.raw = withoutFiles(section)
	}
	var made *message
	err := t.call(ctx, "POST", messagesPath, func() (err error) {
		twin := *draft
		made, err = t.user.account.add(&twin, []string{"drafts"})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("failed to create draft: failed to create draft: %w", err)
	}
	for range files {
		if err := t.call(ctx, "POST", "/mail/v4/attachments", func() error { return nil }); err != nil {
			return nil, fmt.Errorf("failed to create draft: failed to add attachment to draft: %w", err)
		}
	}
	t.user.account.edit(made.id, raw, true)
	return t.user.account.get(made.id), nil
}

// ownSender is the account's address a text says it is from, tag aside; else the primary one.
func (t *tree) ownSender(section *rfc822.Section, disabledToo bool) string {
	if t.address != "" {
		return t.address
	}
	named := ""
	if senders := people(valueOf(section, "From")); len(senders) > 0 {
		local, domain, _ := strings.Cut(senders[0].Address, "@")
		local, _, _ = strings.Cut(local, "+")
		named = local + "@" + domain
	}
	return t.user.account.sender(named, disabledToo)
}

func checkRecipients(raw []byte) error {
	section := rfc822.Parse(raw)
	for _, name := range []string{"To", "Cc", "Bcc"} {
		value := valueOf(section, name)
		if value == "" {
			continue
		}
		if _, err := rfc5322.ParseAddressList(value); err != nil {
			return fmt.Errorf("failed to retrieve addresses from literal:failed to parse addresses for '%s': %w", name, err)
		}
	}
	return nil
}

// withoutFiles is a draft as it is on the server before its files are uploaded.
func withoutFiles(section *rfc822.Section) []byte {
	kept := contentOfDelivery(section)
	var fields []field
	if parsed, err := section.ParseHeader(); err == nil {
		parsed.Entries(func(name, value string) {
			if low := strings.ToLower(name); name != "" && low != "mime-version" && !strings.HasPrefix(low, "content-") {
				fields = append(fields, field{name, value, true})
			}
		})
	}
	fields = append(fields, field{"Content-Type", kept.media + "; charset=utf-8", true})
	return append(newHeader(fields).bytes(), kept.body...)
}

func dateOf(section *rfc822.Section) time.Time {
	if found, err := rfc5322.ParseDateTime(valueOf(section, "Date")); err == nil {
		return found
	}
	return time.Now()
}
