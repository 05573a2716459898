package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"
	"sync"

	"github.com/ProtonMail/gluon/imap"
)

// syncBatch is how many messages the first sync brings at a time.
const syncBatch = 64

var errClosed = errors.New("the login was closed")

// bridgeUser is an account as Bridge has it signed in: its password, its trees, its place in the account's log.
type bridgeUser struct {
	bridge   *bridge
	account  *account
	password string

	mu        sync.Mutex
	signedIn  bool
	addresses map[string]bool // as Bridge knows them; false is a disabled one
	labels    map[string]bool // the owner's labels Bridge knows; true is a folder
	trees     []*tree
	readTo    int
}

func newBridgeUser(b *bridge, a *account) *bridgeUser {
	secret := make([]byte, 16)
	if _, err := rand.Read(secret); err != nil {
		panic(err)
	}
	return &bridgeUser{
		bridge: b, account: a, password: base64.RawURLEncoding.EncodeToString(secret),
		addresses: map[string]bool{}, labels: map[string]bool{},
	}
}

// address is the account's address behind a user name, and whether it may log in.
func (u *bridgeUser) address(username string) (string, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for address, enabled := range u.addresses {
		if strings.EqualFold(address, username) {
			return address, enabled
		}
	}
	return "", false
}

func (u *bridgeUser) knows(labelID string) (known, folder bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	folder, known = u.labels[labelID]
	return known, folder
}

func (u *bridgeUser) learn(labelID string, folder bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.labels[labelID] = folder
}

func (u *bridgeUser) forget(labelID string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.labels, labelID)
}

func (u *bridgeUser) remember(t *tree, messageID string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	t.known[messageID] = struct{}{}
}

func (u *bridgeUser) remembers(t *tree, messageID string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return t.known.has(messageID)
}

// learnAddresses takes over the account's addresses and returns those that are new.
func (u *bridgeUser) learnAddresses() []string {
	u.account.mu.Lock()
	defer u.account.mu.Unlock()
	u.mu.Lock()
	defer u.mu.Unlock()
	var fresh []string
	for _, address := range u.account.addresses {
		if _, known := u.addresses[address]; !known {
			fresh = append(fresh, address)
		}
		u.addresses[address] = !u.account.disabled.has(address)
	}
	return fresh
}

// -- first sync

// beginSync reads the account's labels and forgets what was known; what changes from here on comes by events.
func (u *bridgeUser) beginSync() {
	u.account.mu.Lock()
	defer u.account.mu.Unlock()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.readTo = len(u.account.log)
	u.labels = map[string]bool{}
	for id, own := range u.account.labels {
		u.labels[id] = own.folder
	}
}

// sync makes all mailboxes, then brings in the messages, the one made last first.
func (t *tree) sync(ctx context.Context) error {
	made := []imap.Mailbox{
		mailbox(foldersNode, []string{foldersNode}, imap.AttrNoSelect),
		mailbox(labelsNode, []string{labelsNode}, imap.AttrNoSelect),
	}
	made = append(made, t.user.account.mailboxes()...)
	for _, one := range systemMailboxes {
		made = append(made, mailbox(one.id, []string{one.name}, one.attributes...))
	}
	for _, one := range made {
		if err := t.apply(ctx, imap.NewMailboxCreated(one)); err != nil {
			return err
		}
	}
	ids := t.user.account.newest(t.address)
	for start := 0; start < len(ids); start += syncBatch {
		if err := t.create(ctx, ids[start:min(start+syncBatch, len(ids))]); err != nil {
			return err
		}
	}
	return nil
}

// -- events

// poll is one round of Bridge's event loop. It says what became of the login: done, refresh (the server wants all mail
// loaded anew), or given up (the session was revoked, or an event can't be followed).
func (u *bridgeUser) poll(ctx context.Context) (string, error) {
	if u.account.isRevoked() {
		return "given up", nil
	}
	if u.bridge.api.refuses("GET", "/core/v5/events/latest") != 0 {
		return "done", nil
	}
	fresh := u.learnAddresses()
	if u.bridge.mode == "split" {
		for _, address := range fresh {
			if err := u.bridge.open(ctx, u, address); err != nil {
				return "", err
			}
		}
	}
	log, end := u.account.since(u.readTo)
	for _, one := range merged(log) {
		if one.what == "refresh" {
			return "refresh", nil
		}
		if one.what == "message" && one.how == "created" && u.account.get(one.id) != nil &&
			u.bridge.api.refuses("GET", messagesPath+"/"+one.id) == 400 {
			return "given up", nil
		}
		for _, t := range u.trees {
			if err := t.follow(ctx, one); err != nil {
				return "", err
			}
		}
		if one.what == "label" && one.how == "deleted" {
			u.forget(one.id)
		}
	}
	u.readTo = end
	return "done", nil
}

// merged is a stretch of the log as one event carries it: of several changes of one thing the last, in its place.
func merged(log []change) []change {
	seen, gone := map[change]bool{}, map[change]bool{}
	var reversed []change
	for i := len(log) - 1; i >= 0; i-- {
		one, thing := log[i], change{log[i].what, log[i].id, ""}
		if gone[thing] || seen[one] {
			continue
		}
		seen[one] = true
		gone[thing] = one.how == "deleted"
		reversed = append(reversed, one)
	}
	for i, j := 0, len(reversed)-1; i < j; i, j = i+1, j-1 {
		reversed[i], reversed[j] = reversed[j], reversed[i]
	}
	return reversed
}

// follow carries one change over to the engine.
func (t *tree) follow(ctx context.Context, one change) error {
	switch {
	case one.what == "label" && one.how == "deleted":
		return t.apply(ctx, imap.NewMailboxDeleted(imap.MailboxID(one.id)))
	case one.what == "label":
		return t.followLabel(ctx, one.id)
	case one.how == "deleted":
		return t.apply(ctx, imap.NewMessagesDeleted(imap.MessageID(one.id)))
	default:
		return t.followMessage(ctx, one)
	}
}

func (t *tree) followLabel(ctx context.Context, id string) error {
	family := t.user.account.family(id)
	for _, one := range family {
		if known, _ := t.user.knows(string(one.ID)); known || string(one.ID) == id {
			t.user.learn(string(one.ID), one.Name[0] == foldersNode)
			if err := t.apply(ctx, imap.NewMailboxUpdatedOrCreated(one)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tree) followMessage(ctx context.Context, one change) error {
	found := t.user.account.get(one.id)
	if found == nil || (t.address != "" && found.address != t.address) {
		return nil
	}
	if one.how == "created" || !t.user.remembers(t, one.id) {
		return t.create(ctx, []string{one.id})
	}
	if one.how == "edited" {
		text := literal(found)
		parsed, err := imap.NewParsedMessage(text)
		if err != nil {
			return nil
		}
		return t.apply(ctx, imap.NewMessageUpdated(found.imap(), text, t.mailboxesOf(found), parsed, true, true))
	}
	return t.apply(ctx, imap.NewMessageMailboxesUpdated(imap.MessageID(one.id), t.mailboxesOf(found), found.imap().Flags))
}

// -- both

// create tells the engine of messages; what it can't read stays invisible.
func (t *tree) create(ctx context.Context, ids []string) error {
	var batch []*imap.MessageCreated
	for _, id := range ids {
		found := t.user.account.get(id)
		if found == nil {
			continue
		}
		text := literal(found)
		parsed, err := imap.NewParsedMessage(text)
		if err != nil {
			continue
		}
		t.user.remember(t, id)
		batch = append(batch, &imap.MessageCreated{
			Message: found.imap(), Literal: text, MailboxIDs: t.mailboxesOf(found), ParsedMessage: parsed,
		})
	}
	if len(batch) == 0 {
		return nil
	}
	return t.apply(ctx, imap.NewMessagesCreated(true, batch...))
}

// mailboxesOf leaves out labels that Bridge doesn't know at this moment.
func (t *tree) mailboxesOf(m *message) []imap.MailboxID {
	var shown []imap.MailboxID
	for _, id := range m.labelIDs() {
		known, _ := t.user.knows(id)
		if known || (systemNames[id] != "" && id != allDrafts && id != allSent) {
			shown = append(shown, imap.MailboxID(id))
		}
	}
	return shown
}

// imap is what the engine is told of a message.
func (m *message) imap() imap.Message {
	flags := imap.NewFlagSet()
	for flag, on := range map[string]bool{
		imap.FlagSeen: !m.unread, imap.FlagFlagged: m.starred, imap.FlagAnswered: m.flags.has("replied"),
		imap.FlagDraft: !m.flags.has("received") && !m.flags.has("sent"),
	} {
		if on {
			flags.AddToSelf(flag)
		}
	}
	if m.flags.has("forwarded") {
		flags.AddToSelf(imap.ForwardFlagList...)
	}
	return imap.Message{ID: imap.MessageID(m.id), Flags: flags, Date: m.time}
}

// apply hands the engine one update and waits until it is done.
func (t *tree) apply(ctx context.Context, update imap.Update) error {
	select {
	case t.updates <- update:
	case <-t.closed:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	err, _ := update.WaitContext(ctx)
	return err
}
