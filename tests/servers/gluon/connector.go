package main

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"

	"github.com/ProtonMail/gluon/connector"
	"github.com/ProtonMail/gluon/imap"
)

const (
	messagesPath = "/mail/v4/messages"
	labelsPath   = "/core/v4/labels"
)

var errNoLabel = errors.New("no such label")

// tree is what one IMAP login opens, and what the engine asks when a session changes something: an account's mailboxes,
// or in split mode those of one address. It answers as Bridge's connector does.
type tree struct {
	user    *bridgeUser
	address string // "" for all addresses
	gluonID string

	updates chan imap.Update
	closed  chan struct{}
	known   set // ids of the messages the engine was told of
}

var _ connector.Connector = (*tree)(nil)

// Init announces the forwarded keywords in mailboxes that exist already: those of an earlier run, All Mail among them.
func (t *tree) Init(ctx context.Context, cache connector.IMAPState) error {
	return cache.Write(ctx, func(ctx context.Context, write connector.IMAPStateWrite) error {
		if err := write.AddFlagsToAllMailboxes(ctx, imap.ForwardFlagList...); err != nil {
			return err
		}
		return write.AddPermFlagsToAllMailboxes(ctx, imap.ForwardFlagList...)
	})
}

// Authorize takes any enabled address, whatever its case; in split mode it opens its own tree only.
func (t *tree) Authorize(_ context.Context, username string, password []byte) bool {
	if subtle.ConstantTimeCompare(password, []byte(t.user.password)) != 1 {
		return false
	}
	address, enabled := t.user.address(username)
	return enabled && (t.address == "" || t.address == address)
}

func (t *tree) GetUpdates() <-chan imap.Update { return t.updates }

func (t *tree) Close(context.Context) error {
	close(t.closed)
	return nil
}

// GetMailboxVisibility hides All Mail when the owner wants that, and Scheduled while it is empty.
func (t *tree) GetMailboxVisibility(_ context.Context, id imap.MailboxID) imap.MailboxVisibility {
	switch {
	case id == allMail && !t.user.bridge.showsAllMail():
		return imap.Hidden
	case id == scheduled:
		return imap.HiddenIfEmpty
	default:
		return imap.Visible
	}
}

// GetMessageLiteral is asked when the engine has lost its own copy.
func (t *tree) GetMessageLiteral(ctx context.Context, id imap.MessageID) ([]byte, error) {
	var built []byte
	err := t.call(ctx, "GET", messagesPath+"/"+string(id), func() error {
		found := t.user.account.get(string(id))
		if found == nil {
			return refused{422, "422 Unprocessable Entity", 0}
		}
		built = literal(found)
		return nil
	})
	return built, err
}

// -- mailboxes

func (t *tree) CreateMailbox(ctx context.Context, _ connector.IMAPStateWrite, path []string) (imap.Mailbox, error) {
	folder, err := labelPath(path)
	if err != nil {
		return imap.Mailbox{}, err
	}
	var made *label
	err = t.call(ctx, "POST", labelsPath, func() (err error) {
		made, err = t.user.account.addLabel(path[len(path)-1], parentPath(path), folder)
		return err
	})
	if err != nil {
		return imap.Mailbox{}, err
	}
	t.user.learn(made.id, folder)
	return mailbox(made.id, path), nil
}

func (t *tree) UpdateMailboxName(ctx context.Context, _ connector.IMAPStateWrite, id imap.MailboxID, path []string) error {
	folder, err := labelPath(path)
	if err != nil {
		return err
	}
	known, isFolder := t.user.knows(string(id))
	if !known || isFolder != folder {
		return errNoLabel
	}
	return t.call(ctx, "PUT", labelsPath+"/"+string(id), func() error {
		parent, err := t.user.account.parentID(parentPath(path))
		if err != nil {
			return err
		}
		return t.user.account.changeLabel(string(id), path[len(path)-1], parent)
	})
}

func (t *tree) DeleteMailbox(ctx context.Context, _ connector.IMAPStateWrite, id imap.MailboxID) error {
	err := t.call(ctx, "DELETE", labelsPath+"/"+string(id), func() error { return t.user.account.deleteLabel(string(id)) })
	if err == nil {
		t.user.forget(string(id))
	}
	return err
}

// labelPath checks a path for CREATE and RENAME; it says whether it is a folder's.
func labelPath(path []string) (folder bool, err error) {
	if len(path) < 2 || (path[0] != foldersNode && path[0] != labelsNode) {
		return false, fmt.Errorf("invalid mailbox name %q: %w", path, connector.ErrOperationNotAllowed)
	}
	if path[0] == labelsNode && len(path) > 2 {
		return false, fmt.Errorf("a label cannot have children: %w", connector.ErrOperationNotAllowed)
	}
	return path[0] == foldersNode, nil
}

func parentPath(path []string) string {
	if len(path) < 3 {
		return ""
	}
	return strings.Join(path[:len(path)-1], "/")
}

// -- messages in mailboxes

// AddMessagesToMailbox is COPY: one label call, whatever that does on the server.
func (t *tree) AddMessagesToMailbox(
	ctx context.Context, _ connector.IMAPStateWrite, ids []imap.MessageID, to imap.MailboxID,
) error {
	if to == allMail || to == scheduled {
		return connector.ErrOperationNotAllowed
	}
	return t.label(ctx, plain(ids), string(to))
}

// MoveMessages is MOVE: label, then perhaps unlabel. It says whether the messages leave the source in the local view.
func (t *tree) MoveMessages(
	ctx context.Context, _ connector.IMAPStateWrite, ids []imap.MessageID, from, to imap.MailboxID,
) (bool, error) {
	if (from == inbox && to == sent) || (from == sent && to == inbox) || isAll(from) || isAll(to) {
		return false, connector.ErrOperationNotAllowed
	}
	if err := t.label(ctx, plain(ids), string(to)); err != nil {
		return false, fmt.Errorf("labeling messages: %w", err)
	}
	if !t.isLabel(from) && !t.isFolder(to) && !isSystem(to) {
		return false, nil
	}
	if err := t.unlabel(ctx, plain(ids), string(from)); err != nil {
		return false, fmt.Errorf("unlabeling messages: %w", err)
	}
	return true, nil
}

// RemoveMessagesFromMailbox is EXPUNGE, and the step before a COPY or MOVE onto a mailbox that has the message already.
// In Trash and Drafts, what nothing holds afterwards is deleted for good.
func (t *tree) RemoveMessagesFromMailbox(
	ctx context.Context, _ connector.IMAPStateWrite, ids []imap.MessageID, from imap.MailboxID,
) error {
	if isAll(from) {
		return connector.ErrOperationNotAllowed
	}
	if err := t.unlabel(ctx, plain(ids), string(from)); err != nil {
		return err
	}
	if from != trash && from != drafts {
		return nil
	}
	doomed, err := t.unheld(ctx, plain(ids))
	if err != nil {
		return err
	}
	return t.paged(ctx, "PUT", messagesPath+"/delete", doomed, func(page []string) error {
		if !t.user.account.delete(page) {
			return refused{422, "422 Unprocessable Entity", 0}
		}
		return nil
	})
}

// unheld are the messages that no place, label or star holds, as far as Bridge can tell.
func (t *tree) unheld(ctx context.Context, ids []string) ([]string, error) {
	var doomed []string
	err := t.paged(ctx, "POST(GET)", messagesPath, ids, func(page []string) error {
		for _, id := range page {
			if found := t.user.account.get(id); found != nil && !t.holds(found.labelIDs()) {
				doomed = append(doomed, id)
			}
		}
		return nil
	})
	return doomed, err
}

func (t *tree) holds(labelIDs []string) bool {
	for _, id := range labelIDs {
		switch id {
		case allMail, allDrafts, allSent, scheduled:
			continue
		}
		// A label Bridge doesn't know is looked up among folders and system labels only.
		known, _ := t.user.knows(id)
		if known || systemNames[id] != "" || t.user.account.hasFolder(id) {
			return true
		}
	}
	return false
}

func (t *tree) label(ctx context.Context, ids []string, to string) error {
	return t.paged(ctx, "PUT", messagesPath+"/label", ids, func(page []string) error {
		t.user.account.label(page, to)
		return nil
	})
}

func (t *tree) unlabel(ctx context.Context, ids []string, from string) error {
	return t.paged(ctx, "PUT", messagesPath+"/unlabel", ids, func(page []string) error {
		t.user.account.unlabel(page, from)
		return nil
	})
}

// -- flags: the engine names messages in the order of its random ids; here in the account's, so that runs are alike

func (t *tree) MarkMessagesSeen(ctx context.Context, _ connector.IMAPStateWrite, ids []imap.MessageID, seen bool) error {
	word := map[bool]string{true: "read", false: "unread"}[seen]
	return t.paged(ctx, "PUT", messagesPath+"/"+word, t.user.account.oldestFirst(ids), func(page []string) error {
		t.user.account.setRead(page, seen)
		return nil
	})
}

func (t *tree) MarkMessagesFlagged(ctx context.Context, _ connector.IMAPStateWrite, ids []imap.MessageID, flagged bool) error {
	if flagged {
		return t.label(ctx, t.user.account.oldestFirst(ids), starred)
	}
	return t.unlabel(ctx, t.user.account.oldestFirst(ids), starred)
}

func (t *tree) MarkMessagesForwarded(ctx context.Context, _ connector.IMAPStateWrite, ids []imap.MessageID, on bool) error {
	word := map[bool]string{true: "forward", false: "unforward"}[on]
	return t.paged(ctx, "PUT", messagesPath+"/"+word, t.user.account.oldestFirst(ids), func(page []string) error {
		t.user.account.setFlag(page, "forwarded", on)
		return nil
	})
}

// -- kinds of mailboxes, as Bridge knows them

func isAll(id imap.MailboxID) bool { return id == allMail || id == scheduled }

func isSystem(id imap.MailboxID) bool { return systemNames[string(id)] != "" }

func (t *tree) isLabel(id imap.MailboxID) bool {
	known, folder := t.user.knows(string(id))
	return known && !folder
}

func (t *tree) isFolder(id imap.MailboxID) bool {
	known, folder := t.user.knows(string(id))
	return known && folder
}

func (t *tree) call(ctx context.Context, method, path string, do func() error) error {
	return t.user.bridge.api.call(ctx, method, path, do)
}

func (t *tree) paged(ctx context.Context, method, path string, ids []string, do func([]string) error) error {
	return t.user.bridge.api.paged(ctx, method, path, ids, do)
}

func plain(ids []imap.MessageID) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = string(id)
	}
	return list
}
